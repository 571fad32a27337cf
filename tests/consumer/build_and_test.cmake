# Makes the Debian packages of BUILD_DIR and unpacks them into a root of their own (or, where that
# is impossible, installs BUILD_DIR there), runs the command from there, and configures, builds and
# tests these projects against it, as someone else would:
# cmake -DBUILD_DIR=... -DWORK_DIR=... -P this file

function(run_step)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${output}\nfailed (${status}): ${command}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_output pattern)
  if(NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "expected ${pattern} in:\n${output}")
  endif()
endfunction()

function(install_packages)
  run_step("${CMAKE_CPACK_COMMAND}" --config "${BUILD_DIR}/CPackConfig.cmake"
    -B "${WORK_DIR}/packages")
  file(GLOB packages "${WORK_DIR}/packages/*.deb")
  list(LENGTH packages count)
  if(NOT count EQUAL 2)
    message(FATAL_ERROR "${count} packages, not 2: ${packages}")
  endif()
  run_step(dpkg --print-architecture)
  string(STRIP "${output}" architecture)
  foreach(package IN LISTS packages)
    run_step(dpkg-deb -f "${package}" Package Architecture Depends)
    expect_output("Architecture: ${architecture}\n")
    if(package MATCHES "/gangsim_")
      expect_output("Depends: .*libc6 .*libstdc\\+\\+6")
    else()
      expect_output("Package: libgangsim-dev\n.*Depends: .*libboost-context-dev")
    endif()
    run_step(dpkg-deb -x "${package}" "${WORK_DIR}/root")
  endforeach()
endfunction()

# What an earlier version installed must not help this one.
file(REMOVE_RECURSE "${WORK_DIR}/root" "${WORK_DIR}/packages")
set(prefix "${WORK_DIR}/root/usr")
find_program(shlibdeps dpkg-shlibdeps)
if(shlibdeps)
  install_packages()
else()
  run_step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}")
endif()

# The command, where no source and no build tree is.
set(gangsim env -i "PATH=/usr/bin:/bin" "${prefix}/bin/gangsim")
run_step(${gangsim} check --time-budget 2)
expect_output("properties hold: ")
run_step(${gangsim} python --world 2 "${CMAKE_CURRENT_LIST_DIR}/../programs/python/gangs.py")
run_step(gzip -dc "${prefix}/share/man/man1/gangsim.1.gz")
expect_output("\\.SS gangsim merge\n")

function(build_and_test source binary)
  run_step("${CMAKE_COMMAND}" -G Ninja -S "${source}" -B "${binary}"
    "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}"
    "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
  run_step("${CMAKE_COMMAND}" --build "${binary}")
  run_step("${CMAKE_CTEST_COMMAND}" --test-dir "${binary}" --output-on-failure --no-tests=error)
endfunction()

build_and_test("${CMAKE_CURRENT_LIST_DIR}/sim_only" "${WORK_DIR}/build_sim_only")
build_and_test("${CMAKE_CURRENT_LIST_DIR}" "${WORK_DIR}/build")
