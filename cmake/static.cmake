# libwarpaes.a for who wants one program and no library next to it: all rooms in one object, which shows what the shared
# library shows (src/capi/exports.map), so that nothing in it meets a name of the program's.
# (Inline variables stay visible, by names of C++ that are nobody else's.)
set(rooms warpaes_format warpaes_message warpaes_engine warpaes_cpu warpaes_cuda warpaes_os warpaes_backend warpaes_base)
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>" OUTPUT_VARIABLE archives)
if(WARPAES_CUDA)
  set(cudart $<TARGET_FILE:CUDA::cudart_static>)
endif()
set(archive ${PROJECT_BINARY_DIR}/libwarpaes.a)
add_custom_command(
  OUTPUT ${archive}
  # Templates of the standard library are taken out of their groups: anyone who has the same would otherwise replace ours,
  # to which nothing could refer any more.
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o warpaes.o $<TARGET_OBJECTS:warpaes_capi> --whole-archive
          ${archives} --no-whole-archive ${cudart}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=warpaes_* warpaes.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} crs ${archive} warpaes.o
  COMMAND ${CMAKE_COMMAND} -E rm -f warpaes.o
  DEPENDS ${rooms} $<TARGET_OBJECTS:warpaes_capi>
  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(warpaes_archive ALL DEPENDS ${archive})
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
