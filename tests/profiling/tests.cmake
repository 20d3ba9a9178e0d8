# profiling
headroom_test(record_test LABEL unit
              SOURCES profiling/attribution_test.cpp profiling/labels_test.cpp
                      profiling/instant_test.cpp profiling/phase_breakdown_test.cpp profiling/tracker/event_log_test.cpp profiling/phases_test.cpp
                      profiling/record_file_test.cpp profiling/record_test.cpp
              LIBRARIES headroom_record_file)
target_compile_definitions(record_test PRIVATE HEADROOM_SOURCES="${CMAKE_SOURCE_DIR}")
headroom_command_test(record_schema_test unit ${PYTHON} tests/profiling/record_schema_test.py $<TARGET_FILE:headroom>)
set_tests_properties(record_schema_test PROPERTIES SKIP_RETURN_CODE 77)
headroom_test(frames_test LABEL unit
              SOURCES profiling/tracker/machinery_test.cpp profiling/tracker/own_frames_test.cpp
                      profiling/tracker/symbol_table_test.cpp
              LIBRARIES headroom_frames)
add_library(headroom_lined_caller SHARED profiling/tracker/caller.cpp)  # with debug information
target_link_libraries(headroom_lined_caller PRIVATE headroom_options)
target_compile_definitions(frames_test PRIVATE HEADROOM_LINED_CALLER="$<TARGET_FILE:headroom_lined_caller>")
add_dependencies(frames_test headroom_lined_caller)
headroom_test(theory_test LABEL unit
              SOURCES profiling/theory/activations_test.cpp profiling/theory/attention_kernel_test.cpp profiling/theory/blocks_test.cpp
                      profiling/theory/compressed_test.cpp profiling/theory/kv_cache_test.cpp
                      profiling/theory/invariants_test.cpp profiling/theory/iteration_test.cpp profiling/theory/least_times_test.cpp profiling/theory/limits_test.cpp
                      profiling/theory/peak_test.cpp profiling/theory/published_test.cpp
                      profiling/theory/report_test.cpp
                      profiling/theory/states_test.cpp
              LIBRARIES headroom_theory_report)
headroom_test(table_test LABEL unit SOURCES text/table_test.cpp LIBRARIES headroom_text)
headroom_test(files_test LABEL unit
              SOURCES files/atomic_file_test.cpp files/byte_reader_test.cpp files/checksum_test.cpp files/first_byte_test.cpp files/line_reader_test.cpp files/links_test.cpp
                      files/lock_test.cpp
                      files/mapped_file_test.cpp files/same_file_test.cpp files/whole_file_test.cpp
              LIBRARIES headroom_files)
headroom_test(report_test LABEL unit
              SOURCES profiling/flops_test.cpp profiling/report/figures_test.cpp profiling/report/report_test.cpp profiling/report/time_test.cpp profiling/report/traffic_test.cpp
              LIBRARIES headroom_report)
headroom_test(snapshot_test LABEL unit
              SOURCES profiling/snapshot/diff_test.cpp profiling/snapshot/divergence_test.cpp profiling/snapshot/growth_test.cpp
                      profiling/snapshot/read_test.cpp
                      profiling/snapshot/sample.cpp
                      profiling/snapshot/top_test.cpp profiling/snapshot/validate_test.cpp
                      profiling/snapshot/write_test.cpp
              LIBRARIES headroom_snapshot)
headroom_test(compare_test LABEL unit
              SOURCES profiling/compare/compare_test.cpp profiling/compare/noise_test.cpp profiling/compare/statistics_test.cpp
              LIBRARIES headroom_compare)
headroom_test(page_test LABEL unit
              SOURCES profiling/report/memory_over_time_test.cpp profiling/report/page/history_test.cpp profiling/report/page/page_test.cpp
                      profiling/report/page/unpacked.cpp profiling/snapshot/sample.cpp
              LIBRARIES headroom_page ZLIB::ZLIB)
headroom_helper(make_snapshot SOURCES profiling/snapshot/make_snapshot.cpp profiling/snapshot/sample.cpp
                LIBRARIES headroom_snapshot)
headroom_command_test(snapshot_viewer_test unit ${PYTHON} tests/profiling/snapshot/viewer_test.py
                      $<TARGET_FILE:make_snapshot> "${torch_dir}/cuda/_memory_viz.py")
set_tests_properties(snapshot_viewer_test PROPERTIES SKIP_RETURN_CODE 77)
