# The manual pages and completions, by the program itself whenever it is linked, so that there is no program without them to install. Not where
# what it is built for cannot run here.
set(manual ${CMAKE_BINARY_DIR}/manual)
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  add_custom_command(
    TARGET tilesmith POST_BUILD
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${manual} "-DPROGRAM=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:tilesmith>" -P ${CMAKE_CURRENT_LIST_DIR}/WriteManual.cmake
    COMMENT "Writing manual pages and completions"
    VERBATIM)
  set_target_properties(tilesmith PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/WriteManual.cmake)
  include(GNUInstallDirs)
  install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT overnight)
  install(FILES ${manual}/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tilesmith COMPONENT overnight)
  install(FILES ${manual}/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _tilesmith COMPONENT overnight)
  install(FILES ${manual}/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME tilesmith.fish COMPONENT overnight)
endif()
