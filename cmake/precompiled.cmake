# Third-party headers that most files include are precompiled once for each set of compiler options, because parsing
# them takes a third to a half of a small file's compile time. A precompiled header is valid for one set of options,
# including optimization; with a different set, g++ 12 crashes. Files with their own options set
# SKIP_PRECOMPILE_HEADERS. Precompiled headers are not used with nvcc or clang, or with ccache, which does not support
# them (tools/build).
#
# precompiled_header(name LIBRARIES library… HEADERS header…): precompiles headers for targets that use these libraries'
# options and the options of the calling directory.
function(precompiled_header name)
  cmake_parse_arguments(PARSE_ARGV 1 a "" "" "LIBRARIES;HEADERS")
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT WARPAES_CUDA)
    add_library(${name} STATIC EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
    target_link_libraries(${name} PRIVATE ${a_LIBRARIES})
    target_precompile_headers(${name} PRIVATE ${a_HEADERS})
  endif()
endfunction()

# use_precompiled_header(name target…)
function(use_precompiled_header name)
  if(TARGET ${name})
    foreach(target ${ARGN})
      target_precompile_headers(${target} REUSE_FROM ${name})
    endforeach()
  endif()
endfunction()

# compile_together(target…): with WARPAES_UNITY, compiles six files as one. Compiling six files separately takes more
# than twice as long, because templates of the standard library and GoogleTest are instantiated in each file. No two
# files of such a target may define the same name. Files with their own options are compiled separately. The presets
# arm64 and clang compile every file separately, which reveals a missing #include.
function(compile_together)
  if(WARPAES_UNITY)
    foreach(target ${ARGN})
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
      # g++ warns of unnamed namespaces in an included file.
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    endforeach()
  endif()
endfunction()
