# Toolchain for 64-bit Arm: Debian's cross compiler, the libraries that `tools/setup arm` unpacked, and qemu-user to run
# the programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;/usr/aarch64-linux-gnu)

get_filename_component(arm64_root ${CMAKE_CURRENT_LIST_DIR}/../.venv/arm64 ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${arm64_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# The folder of the headers for this architecture, which find_package does not add.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${arm64_root}/usr/include/aarch64-linux-gnu")
