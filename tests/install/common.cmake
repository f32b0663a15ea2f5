# run(COMMAND...): runs it and ends the script with its output if it fails.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nended with ${status}:\n${output}")
  endif()
endfunction()

set(PREFIX ${OUT}/prefix)
set(SANITIZE_FLAGS "")
if(SANITIZE)
  set(SANITIZE_FLAGS -fsanitize=${SANITIZE})
endif()
