# Writes OUTPUT, a .cpp that says what this build is made of (SOURCE_DIR) and how (SETTINGS); only when it changed.
#
# Note [Name of a build]
# Rationale: a resumed sweep takes old rows for answers when they are of the same build, so two builds that may answer
#   differently must not share a name.
# Approach: the git commit, and where the sources differ from it a hash of the difference: git's own of every changed file,
#   and the contents of every new one. Without git, a hash of all sources. Build type, compiler and sanitizers are a
#   second text.
# Limits: files that git ignores are not looked at.
function(run_git output)
  execute_process(COMMAND git -c core.quotePath=false ${ARGN} WORKING_DIRECTORY "${SOURCE_DIR}"
                  OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# "<hash> <name>" lines of what `command` lists, a name ending at each zero byte.
function(hash_files output command)
  execute_process(COMMAND sh -c "${command} | sort -z | xargs -0 -r sha1sum" WORKING_DIRECTORY "${SOURCE_DIR}"
                  OUTPUT_VARIABLE text ERROR_QUIET)
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

# The sources of headroom-cell: a new result or document is no new build. A test compares the list with the build.
set(sources CMakeLists.txt CMakePresets.json cmake requirements.txt text files cards model train profiling bench virtual_gpu)
list(JOIN sources " " source_words)
run_git(commit rev-parse --short=12 HEAD)
if(commit)
  run_git(changes diff HEAD --full-index --no-ext-diff --no-textconv --no-color -- ${sources})
  hash_files(new_files "git ls-files -z --others --exclude-standard -- ${source_words}")
  set(revision "${commit}")
  set(mark "+dirty-")
else()
  hash_files(new_files "find ${source_words} -type f -print0")
  set(revision "unknown")
  set(mark "+")
endif()
if(changes OR new_files)
  string(SHA1 hash "${changes}${new_files}")
  string(SUBSTRING "${hash}" 0 12 hash)
  string(APPEND revision "${mark}${hash}")
endif()
set(text "#include \"bench/cell/machine/build_revision.h\"\n
std::string headroom::build_revision() { return R\"text(${revision})text\"; }
std::string headroom::build_settings() { return R\"text(${SETTINGS})text\"; }
")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT "${text}" STREQUAL "${old}")
  file(WRITE "${OUTPUT}" "${text}")
endif()
