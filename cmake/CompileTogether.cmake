# Precompiled headers and unity builds: how the files of a target are compiled.
#
# Note [Units]
# Rationale: most of the time of the compiler goes into headers: a file that sees torch costs 8 to 10 s, a file that sees
#   JSON 5 s. Files compiled together pay for them once.
# Approach: compile_together(TARGET) makes one unit of all the target's files, with JSON's precompiled header;
#   compile_together(TARGET TORCH) takes libtorch's, and NO_HEADER takes none. Further words name units:
#   compile_together(TARGET "a b" "c") makes one of the files in folders a and b, one of those in c, and one of all
#   others. COLD is for code that waits for files, processes, people or libtorch: -O1 takes a quarter less time than -O3.
#   HEADROOM_UNITS, which the presets set, switches the units on (`release`) or off (`dev`). CMake compiles a file alone
#   that has compile options of its own, or SKIP_UNITY_BUILD_INCLUSION.
# Limits: names in anonymous namespaces must differ within a unit, and no file may declare a C function in another form
#   than a header of the unit does.
option(HEADROOM_UNITS "Compile several files as one unit" OFF)

function(compile_together target)
  cmake_parse_arguments(arg "TORCH;NO_HEADER;COLD" "" "" ${ARGN})
  if(arg_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(arg_TORCH)
    target_precompile_headers(${target} REUSE_FROM headroom_torch)
  elseif(NOT arg_NO_HEADER)
    target_link_libraries(${target} PUBLIC headroom_json)
    target_precompile_headers(${target} REUSE_FROM headroom_json)
  endif()
  if(NOT HEADROOM_UNITS)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH folder)
    set(unit "rest")
    foreach(folders ${arg_UNPARSED_ARGUMENTS})
      separate_arguments(names UNIX_COMMAND "${folders}")
      if(folder IN_LIST names)
        list(GET names 0 unit)
      endif()
    endforeach()
    string(MAKE_C_IDENTIFIER "${target}_${unit}" group)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
