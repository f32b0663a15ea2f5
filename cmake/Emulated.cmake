# place_program(TARGET): puts a program into bin/ of the build folder. Where programs run under an emulator, the file there is a script that
# starts it, so that tests and scripts call it as they call any other; the program itself is in emulated/. The script names itself in
# TILESMITH_WORKER_PROGRAM, since the system could not start the program by itself.
function(place_program target)
  set(folder ${CMAKE_BINARY_DIR}/bin)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    set(script ${folder}/${target})
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "' '" emulator)
    set(folder ${CMAKE_BINARY_DIR}/emulated)
    file(WRITE ${script}.new "#!/bin/sh\nTILESMITH_WORKER_PROGRAM=\"\${TILESMITH_WORKER_PROGRAM:-${script}}\" exec '${emulator}' '${folder}/${target}' \"$@\"\n")
    file(CHMOD ${script}.new PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    file(RENAME ${script}.new ${script})
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${folder})
endfunction()
