# bench: sweeps against a cell program without libtorch
headroom_helper(stub_cell SOURCES bench/launch/stub_cell.cpp LIBRARIES headroom_sweep)
headroom_helper(sweep_driver SOURCES bench/sweep/sweep_driver.cpp LIBRARIES headroom_sweep)
headroom_test(sweep_test LABEL unit
              SOURCES bench/launch/cell_test.cpp bench/launch/rank_watch_test.cpp bench/launch/worker_test.cpp bench/process/fork_server_test.cpp bench/process/host_memory_test.cpp
                      bench/sweep/forecast_test.cpp bench/sweep/lanes_test.cpp bench/sweep/record_log_test.cpp bench/sweep/rows_in_order_test.cpp bench/sweep/shards_test.cpp
                      bench/sweep/sweep_test.cpp bench/sweep/sweep_faults_test.cpp
              LIBRARIES headroom_sweep)
target_compile_definitions(sweep_test PRIVATE STUB_CELL="$<TARGET_FILE:stub_cell>"
                           SWEEP_DRIVER="$<TARGET_FILE:sweep_driver>")
add_dependencies(sweep_test stub_cell sweep_driver)
headroom_nightly_test(sweep_faults_long $<TARGET_FILE:sweep_test> --gtest_filter=SweepFaults.KilledAtAnyMoment* --gtest_repeat=20)
set_tests_properties(sweep_faults_long PROPERTIES ENVIRONMENT HEADROOM_LONG=1)
headroom_test(cards_test LABEL unit SOURCES cards/cards_test.cpp cards/cards_file_test.cpp
              LIBRARIES headroom_cards)
headroom_test(virtual_card_test LABEL unit SOURCES bench/process/virtual_card_test.cpp
              LIBRARIES headroom_sweep)
headroom_test(bench_request_test LABEL unit
              SOURCES bench/google/bench_request_test.cpp
              LIBRARIES headroom_bench_request)
headroom_long_command_test(headroom_bench_test torch tests/bench/google/headroom_bench_test.sh
                           $<TARGET_FILE:headroom_bench>)
add_test(NAME host_update_bench COMMAND host_update_bench --benchmark_min_time=0.001)
headroom_tier(host_update_bench torch)
set_tests_properties(host_update_bench PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=1;HOST_UPDATE_NUMBERS=100000" PASS_REGULAR_EXPRESSION
  "host_adamw bf16 in place +[0-9.]+ ns a number, +[0-9.]+ GB/s, +[0-9.]+ of the copy; torch takes +[0-9.]+x")
# Stands in for the driver's library.
add_library(stub_nvml SHARED bench/cell/stub_nvml.cpp)
target_link_libraries(stub_nvml PRIVATE headroom_options)
headroom_test(card_watch_test LABEL unit SOURCES bench/cell/card_watch_test.cpp
              LIBRARIES headroom_card_watch)
target_compile_definitions(card_watch_test PRIVATE STUB_NVML="$<TARGET_FILE:stub_nvml>")
add_dependencies(card_watch_test stub_nvml)
# Whole runs, and the tracker under them, in one program: linking libtorch is slow.
headroom_torch_test(run_test
              SOURCES bench/cell/run_contract_test.cpp bench/cell/run_gradient_rules_test.cpp bench/cell/run_test.cpp
                      bench/cell/run_theory_test.cpp bench/cell/watch_test.cpp profiling/tracker/failing_new.cpp
                      profiling/tracker/host_tracker_test.cpp profiling/tracker/stacks_test.cpp
              LIBRARIES contract_rows headroom_run headroom_sweep)
# It replaces operator new, which the others then inline: a file of its own.
set_source_files_properties(profiling/tracker/failing_new.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Activations in 8 bits are rows of the contract, too.
headroom_part_at_night(run_test Run.OnRealTextTheLossFalls Run.ActivationsIn8BitTakeTheBytesThatTheoryPredicts)
headroom_nightly_test(bytes_contract_long $<TARGET_FILE:run_test> --gtest_filter=*Bytes*:*Matrix*:*TrainingPeak*:*/compiled_kernels*)
set_tests_properties(bytes_contract_long PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=1;HEADROOM_LONG=1")
# A library whose path says headroom and which is not the program.
add_library(headroom_caller SHARED profiling/tracker/caller.cpp)
target_compile_definitions(run_test PRIVATE HEADROOM_CELL_PROGRAM="$<TARGET_FILE:headroom-cell>"
                           HEADROOM_CALLER="$<TARGET_FILE:headroom_caller>")
add_dependencies(run_test headroom-cell headroom_caller)
headroom_command_test(build_revision scripts bats tests/bench/cell/build_revision.bats)
set_tests_properties(build_revision PROPERTIES ENVIRONMENT HEADROOM_BUILD_DIR=${CMAKE_BINARY_DIR})
headroom_command_test(estimators_test unit ${PYTHON} tests/studies/estimators/estimators_test.py)
headroom_command_test(sharded_estimators_test unit ${PYTHON} tests/studies/estimators/sharded_test.py)
if(EXISTS "${torch_python}")
  headroom_command_test(peers_test torch "${torch_python}" tests/studies/peers/peers_test.py)
  headroom_command_test(bf16_update_test torch "${torch_python}" tests/train/techniques/weights/bf16_update_test.py
                        $<TARGET_FILE:headroom>)
  headroom_command_test(memtracker_test torch "${torch_python}" tests/studies/estimators/memtracker_test.py)
endif()
