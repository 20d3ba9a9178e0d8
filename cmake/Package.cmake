# cpack -G DEB --config build/release/CPackConfig.cmake: a Debian package. libtorch is none: HEADROOM_TORCH_DIR names it.
set(CPACK_PACKAGE_NAME headroom)
set(CPACK_PACKAGE_CONTACT "The headroom maintainers <maintainers@headroom.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "time and memory of a transformer's training step, with or without a GPU")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)  # snapshots name the lines of the source by the debug sections
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps has to find every library, also those of no package.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${LIBTORCH_DIR}/lib" "${CMAKE_BINARY_DIR}/lib")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, g++")
include(CPack)
