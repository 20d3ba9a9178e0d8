# model, train
headroom_test(config_test LABEL unit SOURCES model/config_test.cpp LIBRARIES headroom_model_config)
headroom_test(spec_test LABEL unit
              SOURCES text/enum_words_test.cpp text/quantity_test.cpp text/words_test.cpp train/settings/limits_test.cpp
                      train/offload/block_prefetcher_test.cpp train/parallel/flat_parameter_test.cpp train/parallel/schedule_test.cpp train/parallel/shard_groups_test.cpp train/ppo/packing_test.cpp train/ppo/prompt_lengths_test.cpp train/ppo/spec_test.cpp train/settings/spec_test.cpp train/settings/activations_test.cpp train/settings/mesh_test.cpp train/settings/vocabulary_test.cpp
                      train/parallel/buckets_test.cpp
              LIBRARIES headroom_spec)
headroom_test(data_file_test LABEL unit
              SOURCES train/data/safetensors_test.cpp train/data/token_file_test.cpp
              LIBRARIES headroom_spec)
headroom_test(checkpoint_rectangle_test LABEL unit SOURCES train/resume/rectangle_test.cpp LIBRARIES headroom_checkpoints)
headroom_test(disk_states_test LABEL unit
              SOURCES train/offload/disk/disk_faults_test.cpp train/offload/disk/disk_layout_test.cpp
                      train/offload/disk/disk_states_test.cpp
              LIBRARIES headroom_disk_states)
# A run of its own to be killed, and what makes its disk fail.
headroom_helper(disk_states_program SOURCES train/offload/disk/disk_states_program.cpp LIBRARIES headroom_disk_states)
add_library(faulty_disk SHARED train/offload/disk/faulty_disk.cpp)
target_link_libraries(faulty_disk PRIVATE headroom_options)
target_compile_definitions(disk_states_test PRIVATE DISK_STATES_PROGRAM="$<TARGET_FILE:disk_states_program>"
                           FAULTY_DISK="$<TARGET_FILE:faulty_disk>")
add_dependencies(disk_states_test disk_states_program faulty_disk)
get_property(optimizer_tests GLOBAL PROPERTY HEADROOM_OPTIMIZERS)
headroom_command_test(optimizer_baselines unit ${PYTHON} tests/baselines/optim/make.py --check ${optimizer_tests})
headroom_command_test(bitsandbytes_baseline unit ${PYTHON} tests/baselines/optim/against_bitsandbytes.py --check)
headroom_command_test(fp8_baseline unit ${PYTHON} tests/baselines/fp8/make.py --check)
headroom_command_test(ppo_baseline unit ${PYTHON} tests/baselines/ppo/make_ppo.py --check)
headroom_command_test(trl_baseline unit ${PYTHON} tests/baselines/ppo/against_trl.py --check)
set_tests_properties(fp8_baseline optimizer_baselines bitsandbytes_baseline ppo_baseline trl_baseline PROPERTIES SKIP_RETURN_CODE 77)
list(TRANSFORM optimizer_tests PREPEND train/optim/)
list(TRANSFORM optimizer_tests APPEND _test.cpp)
# The rows of the contract, for the programs that check them.
add_library(contract_rows STATIC train/techniques/contract.cpp)
target_link_libraries(contract_rows PUBLIC headroom_train headroom_sweep)
target_compile_definitions(contract_rows PRIVATE HEADROOM_SOURCES="${CMAKE_SOURCE_DIR}")
compile_together(contract_rows TORCH COLD)
headroom_torch_test(train_test
              SOURCES model/baseline_test.cpp model/forced_kernel_test.cpp model/layers_test.cpp model/parameter_table_test.cpp train/build_test.cpp train/update/loss_scaler_test.cpp
                      train/optim/optimizer_contract_test.cpp train/optim/training_test.cpp train/techniques/precision_test.cpp
                      train/offload/host_adamw_test.cpp train/offload/host_arena_test.cpp train/offload/offloaded_optimizer_test.cpp
                      train/offload/disk_block_storage_test.cpp train/offload/offloaded_parameters_test.cpp train/offload/states_on_disk_test.cpp
                      train/step_test.cpp train/data/weights_test.cpp train/techniques/checkpoint_test.cpp
                      train/techniques/clipping_test.cpp train/techniques/activations/compressed_activations_test.cpp
                      train/techniques/contract_test.cpp train/techniques/fp8_linear_test.cpp
                      train/update/gradient_release_test.cpp train/techniques/weights/low_precision_weights_test.cpp
                      train/techniques/weights/master_weights_test.cpp train/techniques/micro_batches_test.cpp
                      train/optim/code_table_test.cpp train/techniques/activations/quantize_test.cpp train/techniques/activations/saved_tensors_test.cpp
                      train/techniques/weights/stochastic_rounding_test.cpp ${optimizer_tests}
              LIBRARIES contract_rows headroom_train headroom_sweep UNITS train/optim train/offload
                    "train/techniques train/techniques/activations train/techniques/weights train/update")
headroom_torch_test(ranks_test
              SOURCES train/offload/host_ranks_test.cpp train/parallel/fsdp_unit_test.cpp
              LIBRARIES headroom_train)
headroom_torch_test(ppo_test
              SOURCES train/ppo/advantages_test.cpp train/ppo/iteration_test.cpp train/ppo/learning_test.cpp train/ppo/losses_test.cpp
                      train/ppo/placement_test.cpp train/ppo/step_parts_test.cpp train/ppo/token_log_probs_test.cpp
              LIBRARIES headroom_train)
headroom_part_at_night(ppo_test PpoLearns.* GrpoLearns.* */SwappedIteration.*/foreach */SwappedIteration.*/fused)
target_compile_definitions(train_test PRIVATE HEADROOM_TORCH_PYTHON="${torch_python}")
# At night, in the tests below: what is long, and what starts a Python with torch.
set(besides_python "Muon.WeightAndMomentumAreThoseOfTorchsMuonBitForBit:Clipping.NumbersAreThoseOfPyTorchsPythonBitForBit")
set_property(TEST train_test APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-*RealText*:${besides_python}")
headroom_nightly_test(low_precision_weights_long $<TARGET_FILE:train_test> --gtest_filter=LowPrecisionWeights.*RealText*)
headroom_nightly_test(compressed_activations_long
                      $<TARGET_FILE:train_test> --gtest_filter=CompressedActivationsTest.*RealText*)
headroom_nightly_test(technique_contract_long $<TARGET_FILE:train_test> --gtest_filter=*Technique*:*/compiled_kernels*:*CheckpointedModel*:Offloaded*:StatesOnDisk.*:GradientRelease.*:MicroBatches.*:Clipping.*:${besides_python})
headroom_nightly_test(fp8_linear_long $<TARGET_FILE:train_test> --gtest_filter=Fp8Linear.*RealText*)
set_tests_properties(low_precision_weights_long compressed_activations_long technique_contract_long fp8_linear_long
                     PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=1;HEADROOM_LONG=1")

headroom_torch_test(generate_test
              SOURCES model/batch_layout_test.cpp train/generate/generator_test.cpp train/generate/packed_test.cpp
                      train/generate/sampler_test.cpp
              LIBRARIES headroom_train)
headroom_helper(generate_program SOURCES train/generate/generate_program.cpp LIBRARIES headroom_train)
compile_together(generate_program TORCH)
# Compiled kernels: the description that torch's compiler reads, and the cache by a compiler that fails on purpose; at night
# real regions.
if(EXISTS "${torch_python}")
  headroom_helper(block_values SOURCES model/compiled/block_values.cpp LIBRARIES headroom_train)
  compile_together(block_values TORCH)
  headroom_command_test(compiled_block torch "${torch_python}" tests/model/compiled/block_test.py $<TARGET_FILE:block_values>)
  headroom_long_command_test(compiled_theory vgpu ${PYTHON} tests/virtual_gpu/steps/compiled_theory_test.py $<TARGET_FILE:headroom>)
  headroom_nightly_test(compiled_kernels_long
                      ${PYTHON} tests/train/kernels/compiled_kernels_test.py $<TARGET_FILE:headroom>)
  headroom_torch_test(compiled_operations_test SOURCES train/kernels/compiled_operations_test.cpp
                      LIBRARIES headroom_train headroom_sweep)
  # By day the one that compiles soonest.
  headroom_part_at_night(compiled_operations_test CompiledOperations.AdamMini* CompiledOperations.EightBitAdam*
                         CompiledOperations.Rounding* CompiledOperations.Packing*)
  # These tests keep their compiled kernels (100 s of CPU time) in the build folder. A change of sources or of libtorch
  # makes a new key, as in a user's cache.
  set_property(TEST compiled_theory compiled_operations_test APPEND PROPERTY
               ENVIRONMENT "XDG_CACHE_HOME=${CMAKE_BINARY_DIR}/Testing/cache")
endif()
headroom_command_test(compiled_cache cli ${PYTHON} tests/train/kernels/compiled_cache_test.py $<TARGET_FILE:headroom>
                      $<TARGET_FILE:headroom_stub_cell>)
# Meshes of Gloo ranks: values, and what goes wrong.
if(EXISTS "${torch_python}")
  headroom_command_test(mesh_contract torch "${torch_python}" tests/train/parallel/mesh_contract_test.py $<TARGET_FILE:headroom>)
  headroom_long_command_test(launch_script torch ${PYTHON} tests/scripts/launch_test.py $<TARGET_FILE:headroom>)
  headroom_long_command_test(mesh_torch_peers torch "${torch_python}" tests/train/parallel/torch_peers_test.py $<TARGET_FILE:headroom>)
  headroom_nightly_test(mesh_contract_wide
                      "${torch_python}" tests/train/parallel/mesh_contract_test.py $<TARGET_FILE:headroom> --wide)
endif()
# Checkpoints: values, and what goes wrong.
if(EXISTS "${torch_python}")
  headroom_command_test(checkpoint_contract torch "${torch_python}" tests/train/resume/checkpoint_contract_test.py $<TARGET_FILE:headroom>)
  headroom_nightly_test(checkpoint_contract_wide
                      "${torch_python}" tests/train/resume/checkpoint_contract_test.py $<TARGET_FILE:headroom> --wide)
endif()
add_library(faulty_checkpoint SHARED train/resume/faulty_checkpoint.cpp)
target_link_libraries(faulty_checkpoint PRIVATE headroom_options)
headroom_long_command_test(checkpoint_faults torch ${PYTHON} tests/train/resume/checkpoint_faults_test.py $<TARGET_FILE:headroom>
                           $<TARGET_FILE:faulty_checkpoint>)
headroom_long_command_test(mesh_faults torch ${PYTHON} tests/train/parallel/mesh_faults_test.py $<TARGET_FILE:headroom>)
headroom_long_command_test(mesh_meeting torch ${PYTHON} tests/train/parallel/mesh_meeting_test.py $<TARGET_FILE:headroom>)
headroom_torch_test(overlap_test SOURCES train/parallel/overlap_test.cpp LIBRARIES headroom_train)
headroom_command_test(virtual_overlap vgpu $<TARGET_FILE:headroom> dryrun --card h100-80gb --world-size 2 --rank 0 --events late --
                      $<TARGET_FILE:overlap_test> --gtest_filter=OnACard.*)
if(EXISTS "${torch_python}")
  headroom_command_test(generate_beside_transformers torch "${torch_python}"
                        tests/train/generate/transformers_test.py $<TARGET_FILE:generate_program>)
  set_tests_properties(generate_beside_transformers PROPERTIES SKIP_RETURN_CODE 77)
endif()
