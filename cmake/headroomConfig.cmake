# find_package(headroom): tests of other projects that run on a virtual card.
#
#   headroom::headroom   the program
#   headroom_add_virtual_test(NAME name CARD card [COUNT n] [BYTES size] [MAX_PEAK size] COMMAND program [argument...])
#     A CTest that runs a CUDA program, a target or a path, by `headroom dryrun` on n virtual cards. It fails if the program
#     fails, and with MAX_PEAK if a Python program's memory was above that size on any card. BYTES replaces the card's memory.
#     Kernels compute nothing there: such a test is about memory and control flow, not values.
get_filename_component(headroom_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(headroom_EXECUTABLE "${headroom_prefix}/lib/headroom/bin/headroom")
if(NOT EXISTS "${headroom_EXECUTABLE}")
  set(headroom_FOUND FALSE)
  set(headroom_NOT_FOUND_MESSAGE "${headroom_EXECUTABLE} is missing")
  return()
endif()
if(NOT TARGET headroom::headroom)
  add_executable(headroom::headroom IMPORTED)
  set_target_properties(headroom::headroom PROPERTIES IMPORTED_LOCATION "${headroom_EXECUTABLE}")
endif()

function(headroom_add_virtual_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;CARD;COUNT;BYTES;MAX_PEAK" "COMMAND")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "headroom_add_virtual_test: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(needed NAME CARD COMMAND)
    if(NOT arg_${needed})
      message(FATAL_ERROR "headroom_add_virtual_test needs ${needed}: "
                          "headroom_add_virtual_test(NAME fits CARD rtx4090 COMMAND my_program)")
    endif()
  endforeach()
  list(POP_FRONT arg_COMMAND program)
  if(TARGET "${program}")
    set(program "$<TARGET_FILE:${program}>")
  endif()
  set(flags --card "${arg_CARD}")
  foreach(name COUNT BYTES MAX_PEAK)
    if(arg_${name})
      string(TOLOWER "${name}" flag)
      string(REPLACE "_" "-" flag "${flag}")
      list(APPEND flags "--${flag}" "${arg_${name}}")
    endif()
  endforeach()
  add_test(NAME "${arg_NAME}" COMMAND headroom::headroom dryrun ${flags} -- "${program}" ${arg_COMMAND})
endfunction()
