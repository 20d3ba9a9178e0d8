# copy_to_lib(TARGET FOLDER SOURCE FILES...): copies files of SOURCE, by their names there, to lib/FOLDER of the build,
# where programs look for them. TARGET is made of the copies, and part of every build.
function(copy_to_lib target folder source)
  foreach(name ${ARGN})
    set(copy "${CMAKE_BINARY_DIR}/lib/${folder}/${name}")
    add_custom_command(OUTPUT "${copy}" DEPENDS "${source}/${name}"
      COMMAND ${CMAKE_COMMAND} -E copy "${source}/${name}" "${copy}")
    list(APPEND copies "${copy}")
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${copies})
endfunction()
