# Finds xxhash's header (Debian: libxxhash-dev): target Xxhash::Xxhash. It is compiled in, so nothing is linked.
find_path(XXHASH_INCLUDE_DIR NAMES xxhash.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Xxhash REQUIRED_VARS XXHASH_INCLUDE_DIR)
if(Xxhash_FOUND AND NOT TARGET Xxhash::Xxhash)
  add_library(Xxhash::Xxhash INTERFACE IMPORTED)
  target_include_directories(Xxhash::Xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
endif()
