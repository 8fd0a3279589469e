# vcpkg's port of the library without the command. It exports only the shared library, and builds the checkout that
# contains it:
#
#   vcpkg install warpaes --overlay-ports=packaging/vcpkg
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
vcpkg_cmake_configure(
  SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.."
  OPTIONS -DWARPAES_TESTS=OFF -DWARPAES_CLI=OFF -DWARPAES_CUDA=OFF -DWARPAES_PROVIDER=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/warpaes)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${CMAKE_CURRENT_LIST_DIR}/../../LICENSE")
