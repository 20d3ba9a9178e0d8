# virtual_gpu
headroom_test(breakdown_test LABEL unit SOURCES bench/dryrun/breakdown/ledger_test.cpp bench/dryrun/breakdown/context_test.cpp
              bench/dryrun/breakdown/cpp/cpp_function_test.cpp
              bench/dryrun/breakdown_report_test.cpp LIBRARIES headroom_ledger headroom_dryrun)
headroom_test(dryrun_ranks_test LABEL unit SOURCES bench/launch/distinct_test.cpp bench/dryrun/text_test.cpp
              LIBRARIES headroom_dryrun)
set(virtual_gpu_tests virtual_gpu/device/address_space_test.cpp virtual_gpu/device/contents_test.cpp virtual_gpu/device/device_test.cpp
    virtual_gpu/device/host_memory_test.cpp virtual_gpu/device/pending_test.cpp virtual_gpu/device/placement_test.cpp
    virtual_gpu/device/stream_test.cpp virtual_gpu/device/visible_test.cpp)
headroom_test(virtual_gpu_test LABEL unit SOURCES ${virtual_gpu_tests}
              LIBRARIES headroom_virtual_device)
headroom_test(nccl_own_bytes_test LABEL unit
              SOURCES virtual_gpu/nccl/own_bytes_test.cpp ${CMAKE_SOURCE_DIR}/virtual_gpu/nccl/memory/own_bytes.cpp
              LIBRARIES headroom_options)
# The same under the thread sanitizer: all of the device's sources once more.
get_target_property(device_sources headroom_virtual_device SOURCES)
list(TRANSFORM device_sources PREPEND "${CMAKE_SOURCE_DIR}/virtual_gpu/")
headroom_program(virtual_gpu_threads_test SOURCES ${virtual_gpu_tests} ${device_sources}
                 LIBRARIES headroom_options Threads::Threads)
target_compile_options(virtual_gpu_threads_test PRIVATE -fsanitize=thread)
target_link_options(virtual_gpu_threads_test PRIVATE -fsanitize=thread)
headroom_built_at_night(virtual_gpu_threads_test)
headroom_nightly_test(virtual_gpu_threads_test $<TARGET_FILE:virtual_gpu_threads_test>)
headroom_helper(device_fuzz SOURCES virtual_gpu/device/device_fuzz.cpp LIBRARIES headroom_virtual_device)
headroom_command_test(virtual_gpu_fuzz unit $<TARGET_FILE:device_fuzz> 5 20251125)
headroom_nightly_test(virtual_gpu_fuzz_long $<TARGET_FILE:device_fuzz> 60)
headroom_command_test(virtual_gpu_imports unit ${PYTHON} tests/virtual_gpu/imports_test.py
                      "${torch_dir}/lib" $<TARGET_FILE:virtual_gpu>)
headroom_command_test(virtual_gpu_lists unit ${PYTHON} virtual_gpu/make_lists.py "${torch_dir}"
                      "${CMAKE_BINARY_DIR}/virtual_gpu" --check)
set_tests_properties(virtual_gpu_lists PROPERTIES SKIP_RETURN_CODE 77)

add_executable(cudart_test virtual_gpu/cudart/contents_test.cpp virtual_gpu/cudart/cudart_test.cpp)
target_link_libraries(cudart_test PRIVATE headroom_options virtual_gpu GTest::gtest)
target_include_directories(cudart_test SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
set_target_properties(cudart_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
headroom_command_test(cudart_test unit $<TARGET_FILE:cudart_test>)
add_library(fake_runtime SHARED virtual_gpu/cudart/fake_runtime.cpp)
target_link_libraries(fake_runtime PRIVATE headroom_options)
set_target_properties(fake_runtime PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
add_library(fake_conda_runtime SHARED virtual_gpu/cudart/fake_runtime.cpp)
target_link_libraries(fake_conda_runtime PRIVATE headroom_options)
set_target_properties(fake_conda_runtime PROPERTIES OUTPUT_NAME cudart SOVERSION 12
                      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/conda/lib")
add_library(fake_conda_program MODULE virtual_gpu/cudart/fake_program.cpp)
target_link_libraries(fake_conda_program PRIVATE headroom_options fake_conda_runtime)
set_target_properties(fake_conda_program PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../lib"
                      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/conda/bin")
headroom_command_test(virtual_gpu_runtimes unit ${PYTHON} tests/virtual_gpu/cudart/runtimes_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:fake_runtime> $<TARGET_FILE:fake_conda_program>)
add_executable(late_events_test virtual_gpu/cudart/late_events_test.cpp)
target_link_libraries(late_events_test PRIVATE headroom_options virtual_gpu GTest::gtest)
target_include_directories(late_events_test SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
set_target_properties(late_events_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
headroom_command_test(late_events_test unit $<TARGET_FILE:late_events_test>)
add_executable(nccl_test virtual_gpu/nccl/nccl_test.cpp virtual_gpu/nccl/nccl_values_test.cpp)
target_link_libraries(nccl_test PRIVATE headroom_options virtual_gpu GTest::gtest)
target_include_directories(nccl_test SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
set_target_properties(nccl_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
headroom_command_test(nccl_test unit $<TARGET_FILE:nccl_test>)
headroom_helper(nccl_fuzz SOURCES virtual_gpu/nccl/nccl_fuzz.cpp LIBRARIES headroom_options virtual_gpu)
# NCCL's side of the stand-in under the thread sanitizer: its sources and those they need once more.
get_target_property(nccl_sources virtual_gpu SOURCES)
list(FILTER nccl_sources INCLUDE REGEX "^(nccl|cudart|real_library)/|^report/(refusal|host_read|json_text)")
list(TRANSFORM nccl_sources PREPEND "${CMAKE_SOURCE_DIR}/virtual_gpu/")
add_library(nccl_under_sanitizer OBJECT ${nccl_sources} ${device_sources} virtual_gpu/nccl/no_ending.cpp)
target_link_libraries(nccl_under_sanitizer PUBLIC headroom_options Threads::Threads)
target_compile_options(nccl_under_sanitizer PUBLIC -fsanitize=thread)
target_link_options(nccl_under_sanitizer PUBLIC -fsanitize=thread)
headroom_helper(nccl_threads_fuzz SOURCES virtual_gpu/nccl/nccl_fuzz.cpp LIBRARIES nccl_under_sanitizer)
add_executable(nccl_threads_test virtual_gpu/nccl/nccl_test.cpp virtual_gpu/nccl/nccl_values_test.cpp)
target_link_libraries(nccl_threads_test PRIVATE nccl_under_sanitizer GTest::gtest)
set_target_properties(nccl_threads_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
foreach(name nccl_fuzz nccl_under_sanitizer nccl_threads_fuzz nccl_threads_test)
  target_include_directories(${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
endforeach()
headroom_command_test(nccl_fuzz unit $<TARGET_FILE:nccl_fuzz> 2 20251125)
headroom_built_at_night(nccl_under_sanitizer nccl_threads_fuzz nccl_threads_test)
headroom_nightly_test(nccl_threads_test $<TARGET_FILE:nccl_threads_test>)
headroom_nightly_test(nccl_fuzz_long $<TARGET_FILE:nccl_threads_fuzz> 60)
headroom_build_at_night()
set_tests_properties(virtual_gpu_threads_test nccl_threads_test nccl_fuzz_long PROPERTIES FIXTURES_REQUIRED nightly_programs)
headroom_helper(endings SOURCES virtual_gpu/programs/native/endings.cpp LIBRARIES headroom_options virtual_gpu)
target_include_directories(endings SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
headroom_command_test(virtual_gpu_report unit ${PYTHON} tests/virtual_gpu/report_test.py
                      $<TARGET_FILE:endings>)
headroom_command_test(python_hook_reads unit ${PYTHON} tests/virtual_gpu/python_hook/reads_test.py)
headroom_command_test(python_hook_wheels unit ${PYTHON} tests/virtual_gpu/python_hook/wheels_test.py $<TARGET_FILE:headroom>)

# The cost of the stand-in's own calls; run by hand (headroom dryrun --card h200 -- .../virtual_gpu_benchmark).
headroom_helper(virtual_gpu_benchmark SOURCES virtual_gpu/cudart/calls_benchmark.cpp
                LIBRARIES headroom_options virtual_gpu benchmark::benchmark)
target_include_directories(virtual_gpu_benchmark SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})

# Theory beside measurement; ctest -C nightly sweeps wider.
headroom_command_test(virtual_theory vgpu ${PYTHON} tests/virtual_gpu/steps/theory_test.py
                      $<TARGET_FILE:headroom>)
headroom_nightly_test(virtual_theory_wide ${PYTHON} tests/virtual_gpu/steps/theory_test.py $<TARGET_FILE:headroom> --wide)
# Generation: the cache beside its formula, in every form and type.
headroom_command_test(virtual_step_graph vgpu ${PYTHON} tests/virtual_gpu/steps/step_graph_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_generate vgpu ${PYTHON} tests/virtual_gpu/steps/generate_test.py
                           $<TARGET_FILE:headroom>)
# Iterations of PPO and GRPO: each phase's peak, computed and measured.
headroom_long_command_test(virtual_ppo_computed vgpu ${PYTHON} tests/virtual_gpu/ppo/ppo_test.py
                           $<TARGET_FILE:headroom>)
# Theory's peak beside the measured one, for pairs of settings; at night for combinations by chance too.
headroom_command_test(virtual_peak vgpu ${PYTHON} tests/virtual_gpu/steps/peak_test.py $<TARGET_FILE:headroom>)
headroom_nightly_test(virtual_peak_wide
                      ${PYTHON} tests/virtual_gpu/steps/peak_test.py $<TARGET_FILE:headroom> --draws 100 --offloaded 40)
# The same for the ranks of meshes.
headroom_command_test(virtual_mesh_peak vgpu ${PYTHON} tests/virtual_gpu/steps/mesh_peak_test.py $<TARGET_FILE:headroom>)
headroom_nightly_test(virtual_mesh_peak_wide
                      ${PYTHON} tests/virtual_gpu/steps/mesh_peak_test.py $<TARGET_FILE:headroom> --draws 60)
# headroom on virtual cards.
headroom_command_test(odd_files vgpu tests/virtual_gpu/profile/odd_files_test.sh $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_profile vgpu ${PYTHON} tests/virtual_gpu/profile/profile_test.py
                           $<TARGET_FILE:headroom>)

headroom_command_test(virtual_snapshot vgpu ${PYTHON} tests/virtual_gpu/profile/snapshot_test.py
                      $<TARGET_FILE:headroom>)
headroom_command_test(plan_table_70b cli tests/studies/plan_tables_test.sh $<TARGET_FILE:headroom> rlhf_70b.md)
headroom_command_test(serving_tables unit tests/studies/serving_tables_test.sh $<TARGET_FILE:headroom>)
headroom_nightly_test(plan_tables tests/studies/plan_tables_test.sh $<TARGET_FILE:headroom>)
headroom_command_test(parallel_tables vgpu ${PYTHON} tests/studies/parallel_tables_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(mesh_figures vgpu ${PYTHON} tests/studies/mesh_figures_test.py $<TARGET_FILE:headroom>)
headroom_command_test(host_link_tables vgpu tests/studies/host_link_tables_test.sh $<TARGET_FILE:headroom>)
headroom_nightly_test(fit_cards tests/scripts/fit_cards_test.sh $<TARGET_FILE:headroom>)
headroom_long_command_test(readme_outputs vgpu tests/scripts/upkeep/readme_outputs_test.sh $<TARGET_FILE:headroom>)
headroom_command_test(virtual_plan vgpu ${PYTHON} tests/virtual_gpu/plans/plan_test.py $<TARGET_FILE:headroom>)
headroom_nightly_test(virtual_plan_wide
                      ${PYTHON} tests/virtual_gpu/plans/plan_test.py $<TARGET_FILE:headroom> --draws 60 --wide)
headroom_long_command_test(virtual_plan_iteration vgpu ${PYTHON} tests/virtual_gpu/plans/plan_iteration_test.py
                           $<TARGET_FILE:headroom>)

# The same cells on a real card and on its virtual one.
headroom_command_test(exactness scripts python3 tests/scripts/exactness_test.py)
headroom_command_test(torch_versions scripts python3 tests/scripts/torch_versions_test.py)
headroom_command_test(gpu_suite gpu tests/scripts/gpu_suite_test.sh $<TARGET_FILE:headroom>)
set_tests_properties(gpu_suite PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL ON)

# Python programs under the stand-in, on cards that libtorch treats differently.
function(virtual_gpu_python_test name capability)
  set(shared_memory 232448)
  if(capability STREQUAL 8.0)
    set(shared_memory 166912)
  endif()
  headroom_command_test(${name} vgpu ${PYTHON} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
    "LD_PRELOAD=$<TARGET_FILE:virtual_gpu>:$<TARGET_FILE:virtual_libcuda>;HEADROOM_VIRTUAL_CARD=name=Test\;compute_capability=${capability}\;multiprocessors=132\;shared_memory_per_block_optin=${shared_memory}\;shared_memory_per_multiprocessor=233472\;l2_bytes=41943040\;total_bytes=85899345920")
endfunction()
foreach(capability 8.0 9.0 10.0)
  virtual_gpu_python_test(virtual_cudnn_${capability} ${capability} tests/virtual_gpu/libraries/cudnn_test.py)
endforeach()
virtual_gpu_python_test(virtual_convolution 8.6 tests/virtual_gpu/libraries/published_convolution_test.py)
virtual_gpu_python_test(virtual_cusolver 9.0 tests/virtual_gpu/libraries/cusolver_test.py)
virtual_gpu_python_test(virtual_cusparse 9.0 tests/virtual_gpu/libraries/cusparse_test.py)

# Whole programs under the stand-in, C++ and, where there is a Python with torch, Python.
add_executable(allocate virtual_gpu/programs/native/allocate.cpp)
target_link_libraries(allocate PRIVATE headroom_options Libtorch::Libtorch CUDA::toolkit)
set_target_properties(allocate PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests"
                      ENABLE_EXPORTS ON)  # its stack has names
headroom_helper(train_cpp SOURCES virtual_gpu/programs/native/train_cpp.cpp LIBRARIES headroom_torch)
compile_together(train_cpp TORCH COLD)
headroom_command_test(dryrun_cpp_breakdown vgpu ${PYTHON} tests/virtual_gpu/dryrun/cpp_breakdown_test.py
                      $<TARGET_FILE:headroom> $<TARGET_FILE:train_cpp> "${torch_dir}/cuda/_memory_viz.py")
add_library(late_thread SHARED virtual_gpu/programs/native/late_thread.cpp)
target_link_libraries(late_thread PRIVATE headroom_options Threads::Threads)
headroom_long_command_test(dryrun_test vgpu ${PYTHON} tests/virtual_gpu/dryrun/dryrun_test.py
                           $<TARGET_FILE:headroom> $<TARGET_FILE:allocate> $<TARGET_FILE:late_thread>)
# A memory budget in other people's tests.
add_executable(peak_memory_test virtual_gpu/testing/peak_memory_test.cpp)
target_link_libraries(peak_memory_test PRIVATE headroom_options Libtorch::Libtorch CUDA::toolkit GTest::gtest_main)
set_target_properties(peak_memory_test PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
headroom_command_test(peak_memory_test vgpu $<TARGET_FILE:headroom> dryrun --card h200 -- $<TARGET_FILE:peak_memory_test>)
headroom_command_test(peak_limit_test vgpu ${PYTHON} tests/virtual_gpu/testing/peak_limit_test.py $<TARGET_FILE:headroom>)
set_tests_properties(peak_limit_test PROPERTIES SKIP_RETURN_CODE 77)
headroom_command_test(dryrun_masks vgpu ${PYTHON} tests/virtual_gpu/dryrun/masks_test.py $<TARGET_FILE:headroom>)
headroom_command_test(dryrun_route vgpu ${PYTHON} tests/virtual_gpu/dryrun/route_test.py $<TARGET_FILE:headroom>)
set_tests_properties(dryrun_route PROPERTIES SKIP_RETURN_CODE 77)
if(EXISTS "${torch_python}")
  headroom_command_test(nvml vgpu ${PYTHON} tests/virtual_gpu/dryrun/nvml_test.py $<TARGET_FILE:headroom> "${torch_python}")
  headroom_command_test(vllm_tokens vgpu ${PYTHON} tests/virtual_gpu/dryrun/vllm_test.py $<TARGET_FILE:headroom> "${torch_python}")
  headroom_command_test(cute_kernels vgpu ${PYTHON} tests/virtual_gpu/dryrun/kernels/cute_test.py $<TARGET_FILE:headroom> "${torch_python}")
  headroom_command_test(triton_kernels vgpu ${PYTHON} tests/virtual_gpu/dryrun/kernels/triton_test.py $<TARGET_FILE:headroom> "${torch_python}")
endif()
headroom_long_command_test(dryrun_breakdown vgpu ${PYTHON} tests/virtual_gpu/dryrun/breakdown_test.py $<TARGET_FILE:headroom>)
headroom_command_test(dryrun_recipes vgpu ${PYTHON} tests/repository/docs/recipes_test.py $<TARGET_FILE:headroom>)
set_tests_properties(dryrun_recipes PROPERTIES SKIP_RETURN_CODE 77)
headroom_long_command_test(virtual_ranks vgpu ${PYTHON} tests/virtual_gpu/dryrun/ranks_test.py $<TARGET_FILE:headroom>)
headroom_nightly_test(virtual_rank_events ${PYTHON} tests/virtual_gpu/dryrun/rank_events_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_late_events vgpu ${PYTHON} tests/virtual_gpu/dryrun/late_events_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_ranks_in_turn vgpu ${PYTHON} tests/virtual_gpu/dryrun/ranks_in_turn_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_rank_faults vgpu ${PYTHON} tests/virtual_gpu/dryrun/rank_faults_test.py
                           $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_fit vgpu ${PYTHON} tests/virtual_gpu/plans/fit_test.py
                           $<TARGET_FILE:headroom> $<TARGET_FILE:allocate>)
headroom_long_command_test(virtual_mesh_fit vgpu ${PYTHON} tests/virtual_gpu/plans/mesh_fit_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_ppo_fit vgpu ${PYTHON} tests/virtual_gpu/plans/ppo_fit_test.py $<TARGET_FILE:headroom>)
headroom_command_test(virtual_ppo_packing vgpu ${PYTHON} tests/virtual_gpu/ppo/ppo_packing_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_vary vgpu ${PYTHON} tests/virtual_gpu/dryrun/vary_test.py $<TARGET_FILE:headroom>)
set_tests_properties(virtual_vary PROPERTIES SKIP_RETURN_CODE 77)
# Programs for a virtual card that are parts of one.
headroom_helper(on_card SOURCES virtual_gpu/programs/on_card/main.cpp virtual_gpu/programs/on_card/checkpoint_graph.cpp
                virtual_gpu/programs/on_card/contract.cpp virtual_gpu/programs/on_card/log_probs.cpp
                virtual_gpu/programs/on_card/ppo.cpp virtual_gpu/programs/on_card/queries.cpp
                LIBRARIES contract_rows headroom_run headroom_sweep CUDA::cudart)
compile_together(on_card TORCH COLD)
set(on_card $<TARGET_FILE:headroom> dryrun --card h200 -- $<TARGET_FILE:on_card>)
headroom_command_test(checkpoint_graph_test vgpu ${on_card} checkpoint-graph)
# Log-probabilities of a policy, written out and in chunks.
headroom_command_test(virtual_log_probs vgpu tests/virtual_gpu/ppo/log_probs_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:on_card>)
# The answers of every card to the queries of libtorch and CUB, and operations that use CUB: one test a card.
file(READ "${CMAKE_SOURCE_DIR}/cards/cards.json" known_cards)
string(JSON card_count LENGTH "${known_cards}" cards)
math(EXPR last_card "${card_count} - 1")
foreach(index RANGE ${last_card})
  string(JSON card GET "${known_cards}" cards ${index} name)
  string(JSON capability GET "${known_cards}" cards ${index} compute_capability)
  headroom_command_test(card_queries_${card} vgpu $<TARGET_FILE:headroom> dryrun --card ${card} --
                        $<TARGET_FILE:on_card> queries ${capability})
  if(capability VERSION_LESS 7.5)  # libtorch has no code for it, and dryrun says so
    set_tests_properties(card_queries_${card} PROPERTIES PASS_REGULAR_EXPRESSION "has no sm_70 code")
  endif()
endforeach()
headroom_command_test(virtual_ppo_iteration vgpu ${on_card} ppo)
headroom_long_command_test(virtual_ppo_placement vgpu ${PYTHON} tests/virtual_gpu/ppo/ppo_placement_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_ppo_roles vgpu ${PYTHON} tests/virtual_gpu/ppo/ppo_roles_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(virtual_ppo_refusal vgpu ${PYTHON} tests/virtual_gpu/ppo/ppo_refusal_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(ppo_interrupt vgpu ${PYTHON} tests/cli/endings/ppo_interrupt_test.py $<TARGET_FILE:headroom>)
# Records of a warm worker, beside those of new processes.
headroom_command_test(warm_worker vgpu ${PYTHON} tests/virtual_gpu/steps/warm_worker_test.py $<TARGET_FILE:headroom> --every 12 --pairs 10 --seed 7)
headroom_command_test(warm_worker_alloc_conf vgpu ${PYTHON} tests/virtual_gpu/steps/warm_worker_test.py $<TARGET_FILE:headroom> --every 25 --pairs 5 --seed 7 --alloc-conf expandable_segments:True)
headroom_nightly_test(warm_worker_alloc_conf_wide ${PYTHON} tests/virtual_gpu/steps/warm_worker_test.py $<TARGET_FILE:headroom> --pairs 100 --alloc-conf expandable_segments:True)
headroom_nightly_test(warm_worker_wide ${PYTHON} tests/virtual_gpu/steps/warm_worker_test.py $<TARGET_FILE:headroom> --pairs 200)
# The contract of the techniques: a process each, and all of them in one.
headroom_command_test(virtual_contract vgpu ${PYTHON} tests/virtual_gpu/steps/contract_test.py $<TARGET_FILE:headroom>)
headroom_nightly_test(virtual_contract_wide ${PYTHON} tests/virtual_gpu/steps/contract_test.py $<TARGET_FILE:headroom> --wide)
headroom_command_test(contract_on_card_test vgpu ${on_card} contract)
headroom_nightly_test(contract_on_card_long ${on_card} contract)
set_tests_properties(contract_on_card_long PROPERTIES ENVIRONMENT HEADROOM_LONG=1)
# Kernels that tune themselves.
headroom_command_test(virtual_autotune vgpu ${PYTHON} tests/virtual_gpu/dryrun/kernels/autotune_test.py $<TARGET_FILE:headroom>)
set_tests_properties(virtual_autotune PROPERTIES SKIP_RETURN_CODE 77)
# The path of a real card, on a virtual one that the program does not know of.
headroom_command_test(real_path vgpu ${PYTHON} tests/virtual_gpu/profile/real_path_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_bench>)
headroom_nightly_test(real_path_drivers ${PYTHON} tests/virtual_gpu/profile/real_path_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_bench> --drivers)
# Host memory that offload does not get.
add_library(refuse_pinned SHARED virtual_gpu/programs/native/refuse_pinned.cpp)
target_link_libraries(refuse_pinned PRIVATE headroom_options)
headroom_command_test(host_refusals vgpu ${PYTHON} tests/virtual_gpu/profile/host_refusals_test.py
                      $<TARGET_FILE:headroom> $<TARGET_FILE:refuse_pinned>)
headroom_command_test(python_peer_memory_test vgpu ${PYTHON} tests/virtual_gpu/profile/python_peer_test.py
                      $<TARGET_FILE:headroom> ${PYTHON})
headroom_nightly_test(python_peer_memory_wide ${PYTHON} tests/virtual_gpu/profile/python_peer_test.py
                      $<TARGET_FILE:headroom> ${PYTHON} --wide)
set_tests_properties(virtual_rank_events python_peer_memory_test python_peer_memory_wide
                     PROPERTIES SKIP_RETURN_CODE 77)
