# Builds libwarpaes.a, for programs that link statically. The archive contains one object with the same exports as the
# shared library (src/capi/exports.map), so no internal name collides with a name in the program. Inline variables stay
# visible, but their C++ names are in warpaes's namespaces.
set(rooms warpaes_places warpaes_format warpaes_message warpaes_engine warpaes_cpu warpaes_gpu warpaes_os warpaes_backend warpaes_base)
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
get_target_property(gpu_runtime warpaes_gpu WARPAES_RUNTIME)
if(gpu_runtime)
  set(gpu_runtime $<TARGET_FILE:${gpu_runtime}>)
else()
  unset(gpu_runtime)
endif()
set(archive ${PROJECT_BINARY_DIR}/libwarpaes.a)
add_custom_command(
  OUTPUT ${archive}
  # Removes instances of standard templates from their COMDAT groups. Otherwise, the linker could discard these copies
  # and leave references to them undefined.
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o warpaes.o $<TARGET_OBJECTS:warpaes_capi> --whole-archive
          ${archives} --no-whole-archive ${gpu_runtime}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=warpaes_* warpaes.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} crs ${archive} warpaes.o
  COMMAND ${CMAKE_COMMAND} -E rm -f warpaes.o
  DEPENDS ${rooms} $<TARGET_OBJECTS:warpaes_capi>
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(warpaes_archive ALL DEPENDS ${archive})
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
