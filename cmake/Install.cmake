# cmake --install: a program that runs from anywhere.
#
# Note [An installed headroom]
# Rationale: programs find their libraries, hooks and recipes in lib/ beside their bin/, and names such as lib/driver have
#   no place in /usr/lib.
# Approach: both folders are installed as they are in the build tree, below lib/headroom of the prefix, and bin/ of the
#   prefix has links: a program finds its own folder through links. libtorch is not installed: the run path names that of
#   the build, and HEADROOM_TORCH_DIR another one (bench/process/torch_folder.h). Completion and manual pages are printed
#   by the installed program.
# Limits: scripts/ and studies/ work in the source tree only.
set(home lib/headroom)

install(TARGETS headroom headroom-cell RUNTIME DESTINATION ${home}/bin)
install(TARGETS headroom_bench RUNTIME DESTINATION ${home}/bin OPTIONAL)  # ./scripts/run_all.sh builds it last
install(TARGETS virtual_gpu headroom_observer headroom_blocks LIBRARY DESTINATION ${home}/lib)
install(TARGETS headroom_operations headroom_breakdown LIBRARY DESTINATION ${home}/${HEADROOM_TORCH_LIBRARIES})
install(TARGETS virtual_libcuda virtual_libnccl virtual_libnvidia-ml virtual_libcublasLt LIBRARY DESTINATION ${home}/lib/driver)
install(TARGETS virtual_nvidia_smi RUNTIME DESTINATION ${home}/lib/programs)
set_target_properties(headroom-cell headroom_bench headroom_operations headroom_breakdown PROPERTIES
                      INSTALL_RPATH "${LIBTORCH_DIR}/lib")
foreach(folder compiled python_hook recipes)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/lib/${folder}" DESTINATION ${home}/lib PATTERN __pycache__ EXCLUDE)
endforeach()
install(FILES virtual_gpu/testing/peak_memory.h DESTINATION include/headroom)
install(PROGRAMS recipes/install.sh DESTINATION ${home}/lib/recipes)
install(FILES recipes/requirements-finetune.txt recipes/requirements-torchtune.txt recipes/requirements-serve.txt
        recipes/requirements-sglang.txt DESTINATION ${home}/lib/recipes)

# Files that find_package(headroom) reads.
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/headroomConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES cmake/headroomConfig.cmake "${CMAKE_BINARY_DIR}/headroomConfigVersion.cmake" DESTINATION lib/cmake/headroom)

install(CODE [[
  set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  file(MAKE_DIRECTORY "${prefix}/bin")
  foreach(name headroom headroom-cell headroom_bench)
    if(EXISTS "${prefix}/lib/headroom/bin/${name}")
      file(CREATE_LINK "../lib/headroom/bin/${name}" "${prefix}/bin/${name}" SYMBOLIC)
    endif()
  endforeach()
  execute_process(COMMAND "${prefix}/bin/headroom" completion install "${prefix}" COMMAND_ERROR_IS_FATAL ANY)
]])
