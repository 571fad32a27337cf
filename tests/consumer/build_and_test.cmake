# Installs gangsim from BUILD_DIR into a prefix of its own, then configures, builds and tests this
# project against it, as someone else would: cmake -DBUILD_DIR=... -DWORK_DIR=... -P this file

function(run_step)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${output}\nfailed (${status}): ${command}")
  endif()
endfunction()

# What an earlier version installed must not help this one.
file(REMOVE_RECURSE "${WORK_DIR}/prefix")

run_step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/prefix")
run_step("${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK_DIR}/build"
  "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix"
  "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
  "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
  "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
run_step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run_step("${CMAKE_CTEST_COMMAND}" --test-dir "${WORK_DIR}/build" --output-on-failure
  --no-tests=error)
