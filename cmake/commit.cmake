# Writes the tree's commit to OUTPUT, followed by + if the tree has uncommitted changes. Modifies OUTPUT only if its
# content changes.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git rev-parse HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(commit)
  execute_process(COMMAND git status --porcelain OUTPUT_VARIABLE changes ERROR_QUIET)
  if(changes)
    string(APPEND commit +)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define WARPAES_COMMIT_OF_TREE \"@commit@\"\n" @ONLY)
