# Links the library, the command and the Python package with old symbol versions, so that they run with glibc
# WARPAES_OLD_GLIBC and later. The compiler's C++ library is linked statically. The compiler, its options and its headers
# are unchanged. Calling a function that neither the old glibc nor old_glibc.cpp defines causes a link error.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(old_glibc ${PROJECT_BINARY_DIR}/old_glibc)
execute_process(
  COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_LIST_DIR}/old_glibc.py ${WARPAES_OLD_GLIBC} ${old_glibc}
  COMMAND_ERROR_IS_FATAL ANY)

add_library(warpaes_old_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/old_glibc.cpp)
target_compile_options(warpaes_old_glibc PRIVATE -Wall -Wextra -Wconversion)

foreach(target warpaes warpaes_python warpaes_cli)
  if(TARGET ${target})
    target_link_libraries(${target} PRIVATE warpaes_old_glibc -Wl,--no-as-needed -lpthread -ldl -lrt -Wl,--as-needed)
    target_link_options(${target} PRIVATE -L${old_glibc} -static-libstdc++)
  endif()
endforeach()
if(TARGET warpaes_cli)
  # --allow-shlib-undefined: the compiler's shared libraries refer to symbols of this machine's glibc, which the stubs
  # do not define.
  target_link_options(warpaes_cli PRIVATE -Wl,--wrap=__libc_start_main -Wl,--allow-shlib-undefined)
endif()
