# Functions that declare tests. Every test has a tier, a label for its needs and a TIMEOUT. tests/repository/tiers/check_tiers.py
# checks them.
#
# Labels of tiers: CI runs `pr` (`ctest --preset release`); `unit` is the part of it that takes seconds and needs no torch;
# `ctest -C nightly` runs `nightly` besides. Labels of needs: unit (no torch), cli (no torch, but longer), torch (CPU,
# values), vgpu (programs on the virtual GPU), gpu (a real card; skipped where there is none), scripts (the shell, no program
# of ours).

# A test that runs longer than these seconds has hung. They are several times the time of the slowest test on two quiet
# cores, because a busy machine takes three to five times as long. Sanitizers and unoptimized code take ten times as long
# again.
set(HEADROOM_SLOWER 1)
if(HEADROOM_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(HEADROOM_SLOWER 10)
endif()
math(EXPR HEADROOM_TEST_SECONDS "480 * ${HEADROOM_SLOWER}")
math(EXPR HEADROOM_NIGHTLY_SECONDS "5400 * ${HEADROOM_SLOWER}")

# headroom_tier(NAME label): a test that CI runs.
function(headroom_tier name label)
  set_tests_properties(${name} PROPERTIES LABELS "${label};pr" TIMEOUT ${HEADROOM_TEST_SECONDS})
endfunction()

# headroom_takes(SECONDS NAME...): tests that take longer than others, where they are defined. They begin first, so that two
# cores are busy at the end.
function(headroom_takes seconds)
  math(EXPR seconds "${seconds} * ${HEADROOM_SLOWER}")
  foreach(name ${ARGN})
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} COST 100)
    endif()
  endforeach()
endfunction()

# headroom_program(NAME SOURCES ... LIBRARIES ...): a GoogleTest program of unit tests and nothing else; its files are one
# unit, with a precompiled header of JSON and GoogleTest.
function(headroom_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

# headroom_test(NAME LABEL label SOURCES ... LIBRARIES ...): one GoogleTest program, one CTest.
function(headroom_test name)
  cmake_parse_arguments(arg "" "LABEL" "" ${ARGN})
  headroom_program(${name} ${arg_UNPARSED_ARGUMENTS})
  # Not -O0: the linker takes inline functions of libraries (strings, specs) from here as well, and fit_test takes twice as long.
  compile_together(${name} COLD NO_HEADER)
  target_link_libraries(${name} PRIVATE headroom_json)
  target_precompile_headers(${name} REUSE_FROM headroom_googletest)
  add_test(NAME ${name} COMMAND ${name})
  headroom_tier(${name} "${arg_LABEL}")
endfunction()

# headroom_torch_test(NAME SOURCES ... LIBRARIES ... UNITS "folder folder" ...): the same for what runs libtorch; its
# precompiled header is shared, UNITS are compile_together's. One thread: tiny tensors gain nothing from more, and on a busy
# machine OpenMP's waiting threads cost seconds.
function(headroom_torch_test name)
  cmake_parse_arguments(arg "" "" "UNITS" ${ARGN})
  headroom_program(${name} ${arg_UNPARSED_ARGUMENTS})
  compile_together(${name} TORCH COLD ${arg_UNITS})
  target_compile_definitions(${name} PRIVATE HEADROOM_BASELINES="${CMAKE_CURRENT_SOURCE_DIR}/baselines"
                             HEADROOM_SOURCES="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  headroom_tier(${name} torch)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()

# headroom_helper(NAME SOURCES... LIBRARIES...): a program that tests start.
function(headroom_helper name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
endfunction()

# headroom_command_test(NAME LABEL COMMAND...): a script, run from the top of the tree.
function(headroom_command_test name label)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  headroom_tier(${name} ${label})
endfunction()

# headroom_nightly_test(NAME COMMAND...): what is too long for every change.
function(headroom_nightly_test name)
  add_test(NAME ${name} CONFIGURATIONS nightly COMMAND ${ARGN} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES LABELS nightly TIMEOUT ${HEADROOM_NIGHTLY_SECONDS})
endfunction()

# headroom_long_command_test(NAME LABEL COMMAND...): a script that runs part of itself in CI and all of it at night, as NAME_long
# (tests/support/at_night.py).
function(headroom_long_command_test name label)
  headroom_command_test(${name} ${label} ${ARGN})
  headroom_nightly_test(${name}_long ${ARGN})
  set_tests_properties(${name} ${name}_long PROPERTIES SKIP_RETURN_CODE 77)
  set_tests_properties(${name}_long PROPERTIES ENVIRONMENT HEADROOM_LONG=1)
endfunction()

# headroom_part_at_night(NAME FILTER...): of a GoogleTest program, the tests that these filters name run at night alone.
function(headroom_part_at_night name)
  list(JOIN ARGN ":" filter)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-${filter}")
  headroom_nightly_test(${name}_long $<TARGET_FILE:${name}> --gtest_filter=${filter})
  set_tests_properties(${name}_long PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=1;HEADROOM_LONG=1")
endfunction()

# headroom_built_at_night(TARGET...): what only nightly tests start; a fixture builds it before them.
function(headroom_built_at_night)
  set_target_properties(${ARGN} PROPERTIES EXCLUDE_FROM_ALL ON)
  set_property(GLOBAL APPEND PROPERTY HEADROOM_BUILT_AT_NIGHT ${ARGN})
endfunction()

# headroom_build_at_night(): that fixture, after the last headroom_built_at_night.
function(headroom_build_at_night)
  get_property(targets GLOBAL PROPERTY HEADROOM_BUILT_AT_NIGHT)
  headroom_nightly_test(nightly_programs ${CMAKE_COMMAND} --build "${CMAKE_BINARY_DIR}" --target ${targets})
  set_tests_properties(nightly_programs PROPERTIES FIXTURES_SETUP nightly_programs RUN_SERIAL ON)
endfunction()
