# Finds GCC's libbacktrace, which Debian ships with the compiler (libgcc-12-dev): target Libbacktrace::Libbacktrace.
#
# Input: LIBBACKTRACE_INCLUDE_DIR and LIBBACKTRACE_LIBRARY, where the compiler does not know them itself.
foreach(file libbacktrace.a include/backtrace.h)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" "-print-file-name=${file}"
                  OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  cmake_path(GET path PARENT_PATH folder)
  list(APPEND folders "${folder}")
endforeach()
find_library(LIBBACKTRACE_LIBRARY NAMES libbacktrace.a backtrace HINTS ${folders})
find_path(LIBBACKTRACE_INCLUDE_DIR NAMES backtrace.h HINTS ${folders})

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libbacktrace REQUIRED_VARS LIBBACKTRACE_LIBRARY LIBBACKTRACE_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "It comes with Debian's g++, and elsewhere as libbacktrace.")

if(Libbacktrace_FOUND AND NOT TARGET Libbacktrace::Libbacktrace)
  add_library(Libbacktrace::Libbacktrace INTERFACE IMPORTED)
  target_include_directories(Libbacktrace::Libbacktrace SYSTEM INTERFACE "${LIBBACKTRACE_INCLUDE_DIR}")
  # See Note [Inlined frames] in profiling/tracker/own_frames.h.
  target_link_libraries(Libbacktrace::Libbacktrace INTERFACE "${LIBBACKTRACE_LIBRARY}" -Wl,--wrap=dl_iterate_phdr)
endif()
