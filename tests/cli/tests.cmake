# cli: the program itself, over a cell program that answers at once
headroom_test(flags_test LABEL unit SOURCES cli/commands/cards_test.cpp cli/flags/flags_test.cpp cli/commands/theory_test.cpp
              LIBRARIES headroom_cli)
headroom_test(snapshot_command_test LABEL unit SOURCES cli/commands/snapshot_test.cpp LIBRARIES headroom_cli)
headroom_helper(headroom_stub_cell SOURCES cli/stub_cell.cpp LIBRARIES headroom_sweep)
headroom_command_test(bad_input_test cli tests/cli/input/bad_input_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_command_test(endings_test cli tests/cli/endings/endings_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_command_test(ppo_input_test unit tests/cli/input/ppo_input_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_command_test(file_arguments_test unit tests/cli/input/file_arguments_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_command_test(interrupt_test unit tests/cli/endings/interrupt_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_command_test(rlhf_command_test cli ${PYTHON} tests/cli/commands/rlhf_test.py $<TARGET_FILE:headroom>)
headroom_nightly_test(rlhf_command_long ${PYTHON} tests/cli/commands/rlhf_test.py $<TARGET_FILE:headroom>
                      Rlhf.test_answers_for_a_thousand_gpus_within_minutes)
set_tests_properties(rlhf_command_long PROPERTIES ENVIRONMENT HEADROOM_LONG=1)
headroom_nightly_test(refusals_test ${PYTHON} tests/cli/input/refusals_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell> Refusals.test_examples_can_be_typed)
headroom_command_test(empty_values_test cli ${PYTHON} tests/cli/input/refusals_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>
                      Refusals.test_examples_of_empty_and_missing_values_can_be_typed)
headroom_command_test(examples_test cli ${PYTHON} tests/cli/examples_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell> Examples.test_of_documents Examples.test_a_bad_one_is_found)
headroom_long_command_test(examples_of_help cli ${PYTHON} tests/cli/examples_test.py $<TARGET_FILE:headroom>
                           $<TARGET_FILE:headroom_stub_cell> Examples.test_of_help_texts)
headroom_long_command_test(disk_states_command_test torch ${PYTHON} tests/cli/disk/disk_states_test.py $<TARGET_FILE:headroom>
                           $<TARGET_FILE:faulty_disk>)
headroom_long_command_test(disk_weights_command_test torch ${PYTHON} tests/cli/disk/disk_weights_test.py $<TARGET_FILE:headroom>
                           $<TARGET_FILE:faulty_disk>)
headroom_command_test(compare_command_test vgpu ${PYTHON} tests/cli/commands/compare_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(host_limits_test vgpu ${PYTHON} tests/cli/input/host_limits_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(width_test cli ${PYTHON} tests/cli/output/width_test.py $<TARGET_FILE:headroom>
                           $<TARGET_FILE:headroom_stub_cell> $<TARGET_FILE:make_snapshot>)
headroom_command_test(report_command_test unit tests/report/command_test.sh $<TARGET_FILE:headroom>
                      $<TARGET_FILE:make_snapshot> results/cpu/small_2026-11-22.jsonl results/fit/fit_2.7B.json)
headroom_command_test(plot_command_test unit tests/report/plot_test.sh $<TARGET_FILE:headroom> results/cpu/small_2026-11-22.jsonl)
headroom_command_test(report_scripts unit tests/report/eslint_test.sh)
set_tests_properties(report_scripts PROPERTIES SKIP_RETURN_CODE 77)
headroom_long_command_test(report_page vgpu ${PYTHON} tests/report/page_test.py $<TARGET_FILE:headroom>)
headroom_command_test(csv_test cli ${PYTHON} tests/cli/output/csv_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_command_test(progress_test unit ${PYTHON} tests/cli/output/progress_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
headroom_long_command_test(finetune_command_test unit tests/recipes/finetune_test.sh $<TARGET_FILE:headroom> ${PYTHON})
headroom_command_test(own_shape_test unit ${PYTHON} tests/recipes/own_shape_test.py $<TARGET_FILE:headroom>)
headroom_command_test(serve_command_test unit tests/recipes/serve_test.sh $<TARGET_FILE:headroom>)
headroom_nightly_test(finetune_stacks ${PYTHON} tests/recipes/stacks_test.py $<TARGET_FILE:headroom>)
set_tests_properties(finetune_stacks PROPERTIES SKIP_RETURN_CODE 77)
headroom_test(doctor_test LABEL unit SOURCES cli/doctor/doctor_test.cpp LIBRARIES headroom_cli)
target_compile_definitions(doctor_test PRIVATE STUB_NVML="$<TARGET_FILE:stub_nvml>")
add_dependencies(doctor_test stub_nvml)
headroom_command_test(completion_test unit tests/cli/commands/completion_test.sh $<TARGET_FILE:headroom>)
headroom_command_test(doctor_command_test vgpu tests/cli/commands/doctor_test.sh $<TARGET_FILE:headroom>)
headroom_command_test(dryrun_command_test unit tests/cli/commands/dryrun_test.sh $<TARGET_FILE:headroom>)

# An installed program, in another project and as a package.
headroom_long_command_test(install_test vgpu tests/install/install_test.sh "${CMAKE_BINARY_DIR}" "${LIBTORCH_DIR}" ${PYTHON}
                           "${CUDAToolkit_BIN_DIR}/..")
