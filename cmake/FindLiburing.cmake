# Finds liburing (Debian: liburing-dev): target Liburing::Liburing. The static library, where there is one: programs then
# start on machines without it, and what the kernel says of io_uring is asked when they run.
find_library(LIBURING_LIBRARY NAMES liburing.a uring)
find_path(LIBURING_INCLUDE_DIR NAMES liburing.h)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing REQUIRED_VARS LIBURING_LIBRARY LIBURING_INCLUDE_DIR)

if(Liburing_FOUND AND NOT TARGET Liburing::Liburing)
  add_library(Liburing::Liburing INTERFACE IMPORTED)
  target_include_directories(Liburing::Liburing SYSTEM INTERFACE "${LIBURING_INCLUDE_DIR}")
  target_link_libraries(Liburing::Liburing INTERFACE "${LIBURING_LIBRARY}")
endif()
