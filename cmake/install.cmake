# Installs the library, its headers, the command, and the files for find_package and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS warpaes EXPORT warpaes LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(NOT WARPAES_SANITIZE)
  include(cmake/static.cmake)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/warpaes DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY licenses DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.svg)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

file(RELATIVE_PATH libraries_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(rpath "$ORIGIN/${libraries_from_bin}")
if(TARGET warpaes_cli)
  set_target_properties(warpaes_cli PROPERTIES INSTALL_RPATH ${rpath})
  install(TARGETS warpaes_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  # The build generates man pages and completions from the help texts of the command, so it runs the command.
  find_package(Python3 3.9 COMPONENTS Interpreter)
  if(NOT Python3_Interpreter_FOUND OR CMAKE_CROSSCOMPILING OR WARPAES_SANITIZE)
    message(STATUS "No man pages and completions: they require Python 3.9, and a native build of the command without sanitizers")
  else()
    set(pages ${PROJECT_BINARY_DIR}/pages)
    set(generator ${PROJECT_SOURCE_DIR}/tools/command_pages.py)
    add_custom_command(
      OUTPUT ${pages}/warpaes.1
      COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:warpaes> ${Python3_EXECUTABLE} -B ${generator}
              --warpaes $<TARGET_FILE:warpaes_cli> ${pages}
      DEPENDS warpaes_cli ${generator}
      VERBATIM)
    add_custom_target(warpaes_pages ALL DEPENDS ${pages}/warpaes.1)
    install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN *.1)
    install(FILES ${pages}/warpaes.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME warpaes)
    install(FILES ${pages}/_warpaes DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${pages}/warpaes.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()
if(TARGET warpaes_provider)
  install(TARGETS warpaes_provider LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ossl-modules)
endif()
if(TARGET warpaes_lab_program)
  # The lab is installed only on request: cmake --install ... --component lab
  set_target_properties(warpaes_lab_program PROPERTIES INSTALL_RPATH ${rpath})
  install(TARGETS warpaes_lab_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lab EXCLUDE_FROM_ALL)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warpaes)
install(EXPORT warpaes NAMESPACE warpaes:: FILE warpaes-targets.cmake DESTINATION ${package_dir})
install(FILES cmake/warpaes-config.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warpaes-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warpaes-config-version.cmake DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/warpaes.pc.in warpaes.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/warpaes.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
