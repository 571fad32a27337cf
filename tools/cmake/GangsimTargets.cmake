# How a folder becomes a target, so that each CMakeLists.txt says only what is special about it.

include(PublicHeaders)

set(GANGSIM_FORWARDING_DIR "${PROJECT_BINARY_DIR}/include")

# Seconds that a test may take; with a sanitizer, which is several times slower, more.
set(GANGSIM_TEST_TIMEOUT 300)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
  set(GANGSIM_TEST_TIMEOUT 1500)
endif()

# What every translation unit of ours parses anyway.
set(GANGSIM_PRECOMPILED_HEADERS
  <chrono> <functional> <map> <memory> <optional> <span> <string> <vector>)

# gangsim_find_sources(OUT): every .cc in this folder and below, except both halves of each pair
# "x.cc" / "x_unavailable.cc": the folder's CMakeLists.txt adds the half that can be built here.
function(gangsim_find_sources out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  set(twins ${sources})
  list(FILTER twins INCLUDE REGEX "_unavailable\\.cc$")
  foreach(twin IN LISTS twins)
    string(REPLACE "_unavailable.cc" ".cc" available "${twin}")
    list(REMOVE_ITEM sources "${twin}" "${available}")
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# gangsim_add_library(NAME SOURCES...): the static library gangsim_NAME, gangsim::NAME, exported.
function(gangsim_add_library name)
  add_library(gangsim_${name} STATIC ${ARGN})
  add_library(gangsim::${name} ALIAS gangsim_${name})
  set_target_properties(gangsim_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(gangsim_${name} PUBLIC cxx_std_20)
  gangsim_configure_target(gangsim_${name})
  gangsim_set_include_directories(gangsim_${name} PUBLIC)
  set_property(GLOBAL APPEND PROPERTY GANGSIM_INSTALLED_TARGETS gangsim_${name})
endfunction()

# Both <gangsim/harness.h> and "gang/mesh.h" resolve, in the build tree and once installed.
function(gangsim_set_include_directories target scope)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<BUILD_INTERFACE:${GANGSIM_FORWARDING_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/gangsim>")
endfunction()

# Warnings, source paths and precompiled headers for one of our targets; more headers may follow.
function(gangsim_configure_target target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:gangsim_build_settings>)
  target_precompile_headers(${target} PRIVATE ${GANGSIM_PRECOMPILED_HEADERS} ${ARGN})
endfunction()

# gangsim_allocate_fast(TARGET): for executables. With the C library's malloc, a fifth of the time
# of a small world goes into memory. Sanitizers have a malloc of their own.
function(gangsim_allocate_fast target)
  if(TARGET mimalloc AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    # Nothing names its symbols: it takes the place of malloc.
    target_link_libraries(${target} PRIVATE
      -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()

# gangsim_precompile_more(TARGET): what most sources of the upper folders include. Never headers
# of ours: one in a precompiled header that comes from a cache was written at another time, and
# #pragma once takes it for another file.
function(gangsim_precompile_more target)
  target_precompile_headers(${target} PRIVATE <algorithm> <fmt/format.h>)
endfunction()

# gangsim_keep_batches_small(NAME): for sources on the path of every call. What GCC inlines depends
# on how much a batch holds: in batches twice as large, a call costs 5 % more.
function(gangsim_keep_batches_small name)
  set_target_properties(gangsim_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# gangsim_batch_together(NAME SOURCES...): these sources of gangsim_NAME, the path of every call,
# share a batch, so that what GCC inlines there does not depend on which other files there are. The
# others are in batches of 16. Most loops of a call are short: padding before them only takes room
# in the instruction cache.
function(gangsim_batch_together name)
  set_target_properties(gangsim_${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  target_compile_options(gangsim_${name} PRIVATE
    "$<$<CXX_COMPILER_ID:GNU>:-falign-loops=1;-falign-jumps=1>")
  get_target_property(sources gangsim_${name} SOURCES)
  set(count 0)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cc$")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    if(path IN_LIST ARGN)
      set(group calls)
    else()
      math(EXPR group "${count} / 16")
      math(EXPR count "${count} + 1")
    endif()
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${group}")
  endforeach()
endfunction()

# gangsim_use_large_batches(TARGET): of up to 84 sources, and no small one at the end, for what all
# sources of a folder use costs as much there as in a full one. Two of half the size cost a quarter
# to a half more than one. Where memory is short they are halves of those, so that no names clash in
# one that do not clash in the other.
function(gangsim_use_large_batches target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(LENGTH sources sources)
  math(EXPR batches "(${sources} + 83) / 84")
  math(EXPR half "(${sources} + 2 * ${batches} - 1) / (2 * ${batches})")
  if(GANGSIM_LARGE_BATCHES)
    math(EXPR size "2 * ${half}")
  else()
    set(size ${half})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${size})
endfunction()

# gangsim_compile_around_runs(NAME LEVEL SOURCES... LIBRARIES...): further sources of gangsim_NAME,
# which are not on the path of a run and compile a third faster with less optimisation: with LEVEL,
# -O1 or, where nobody waits for them in large worlds, -Og, a sixth faster again. A target of their
# own, since sources with flags of their own are left out of batches. Without batches it has its own
# precompiled header, too: GCC 12 crashes on one that was made with another level of optimisation.
function(gangsim_compile_around_runs name level)
  cmake_parse_arguments(PARSE_ARGV 2 around_runs "" "" "SOURCES;LIBRARIES")
  set(library gangsim_${name})
  set(target ${library}_around_runs)
  add_library(${target} OBJECT ${around_runs_SOURCES})
  gangsim_use_large_batches(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  gangsim_set_include_directories(${target} PRIVATE)
  target_link_libraries(${target} PRIVATE
    $<BUILD_INTERFACE:gangsim_build_settings> ${around_runs_LIBRARIES})
  get_target_property(headers ${library} PRECOMPILE_HEADERS)
  target_precompile_headers(${target} PRIVATE ${headers})
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()

# gangsim_add_tests(FOLDER [APART SUBFOLDERS...] LIBRARIES LIBRARIES...): FOLDER_tests from
# tests/FOLDER/, one ctest per case. Each case starts the executable, for which that registers all
# its cases, and so the tests of some subfolders have one of their own: APART "run|text" gives
# FOLDER_run_tests.
function(gangsim_add_tests folder)
  cmake_parse_arguments(PARSE_ARGV 1 tests "" "" "APART;LIBRARIES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
  if(NOT TARGET gloo)
    list(FILTER sources EXCLUDE REGEX "/tests/.*/gloo/")
  endif()
  foreach(subfolders IN LISTS tests_APART)
    set(apart ${sources})
    list(FILTER apart INCLUDE REGEX "/tests/${folder}/(${subfolders})/")
    list(FILTER sources EXCLUDE REGEX "/tests/${folder}/(${subfolders})/")
    string(REGEX MATCH "^[a-z_]+" name "${subfolders}")
    gangsim_add_test_executable(${folder}_${name}_tests ${folder}
      SOURCES ${apart} LIBRARIES ${tests_LIBRARIES})
  endforeach()
  gangsim_add_test_executable(${folder}_tests ${folder}
    SOURCES ${sources} LIBRARIES ${tests_LIBRARIES})
endfunction()

# gangsim_add_test_executable(TARGET FOLDER SOURCES... LIBRARIES...): nothing without sources.
function(gangsim_add_test_executable target folder)
  cmake_parse_arguments(PARSE_ARGV 2 tests "" "" "SOURCES;LIBRARIES")
  if(NOT tests_SOURCES)
    return()
  endif()
  add_executable(${target} ${tests_SOURCES})
  gangsim_configure_target(${target} <gmock/gmock.h> <gtest/gtest.h>)
  target_link_libraries(${target} PRIVATE
    ${tests_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main)
  # Compiles in half the time of -O2; what is tested is optimised as always.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  target_compile_definitions(${target} PRIVATE
    GANGSIM_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    GANGSIM_BINARY_DIR="${PROJECT_BINARY_DIR}")
  gangsim_use_large_batches(${target})
  gtest_discover_tests(${target}
    TEST_PREFIX "${folder}."
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${GANGSIM_TEST_TIMEOUT})
endfunction()

# gangsim_add_python_tests(FILES...): tests/tools/tidy_test.py is the test tools.tidy_test.
function(gangsim_add_python_tests)
  foreach(file IN LISTS ARGN)
    string(REPLACE "/" "." name "${file}")
    string(REGEX REPLACE "\\.py$" "" name "${name}")
    add_test(NAME ${name}
      COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    set_tests_properties(${name} PROPERTIES TIMEOUT ${GANGSIM_TEST_TIMEOUT})
  endforeach()
endfunction()

# Writes <gangsim/gang.h>, <gangsim/sim.h>, <gangsim/harness.h> and <gangsim/gtest.h> into the build
# tree; Packaging installs them. Their headers are listed, since most headers are private.
function(gangsim_add_forwarding_headers)
  # f16 and bf16 are Eigen's, and objects nlohmann's: who uses them includes <gangsim/gang/half.h>
  # or <gangsim/gang/object.h>, or <gangsim/harness.h>, which includes both.
  set(headers ${GANGSIM_GANG_HEADERS})
  list(REMOVE_ITEM headers gang/half.h gang/object.h)
  gangsim_write_forwarding_header(gang ${headers})
  gangsim_write_forwarding_header(sim
    sim/faults/fault_plan.h sim/further_runs/nondeterminism.h sim/further_runs/settled_run.h
    sim/options/simulation_options.h sim/report/report.h sim/report/timeline.h sim/report/trace.h
    sim/schedule/random_stream.h sim/schedule/runnable_set.h sim/schedule/schedule.h
    sim/schedule/scheduler.h sim/simulation.h)
  gangsim_write_forwarding_header(harness harness/harness.h)
  gangsim_write_forwarding_header(gtest harness/gtest_support.h)
  gangsim_keep_old_paths()
endfunction()

# Headers that were offered and have moved since; their old paths are installed, too. An old path is
# for other projects only: what is built here says where a header is.
set(GANGSIM_MOVED_HEADERS
  "harness/digest.h -> harness/program/digest.h"
  "harness/output.h -> harness/program/output.h"
  "harness/parameter.h -> harness/program/parameter.h"
  "harness/program.h -> harness/program/program.h"
  "harness/rank.h -> harness/program/rank.h"
  "harness/rank_log.h -> harness/program/rank_log.h"
  "harness/run_specification.h -> harness/run/run_specification.h"
  "harness/runner.h -> harness/run/runner.h"
  "sim/message_race.h -> sim/further_runs/settled_run.h"
  "sim/nccl/nccl_model.h -> sim/options/nccl_model.h"
  "sim/random_stream.h -> sim/schedule/random_stream.h"
  "sim/report.h -> sim/report/report.h"
  "sim/runnable_set.h -> sim/schedule/runnable_set.h"
  "sim/schedule.h -> sim/schedule/schedule.h"
  "sim/scheduler.h -> sim/schedule/scheduler.h"
  "sim/settled_certainty.h -> sim/further_runs/settled_run.h"
  "sim/simulation_options.h -> sim/options/simulation_options.h"
  "sim/timeline.h -> sim/report/timeline.h"
  "sim/trace.h -> sim/report/trace.h")

function(gangsim_keep_old_paths)
  foreach(moved IN LISTS GANGSIM_MOVED_HEADERS)
    string(REGEX MATCH "^(.+) -> (.+)$" moved "${moved}")
    set(old "${CMAKE_MATCH_1}")
    set(new "${CMAKE_MATCH_2}")
    if(EXISTS "${PROJECT_SOURCE_DIR}/${old}" OR NOT EXISTS "${PROJECT_SOURCE_DIR}/${new}")
      message(FATAL_ERROR "GANGSIM_MOVED_HEADERS: ${old} has not moved to ${new}")
    endif()
    file(CONFIGURE OUTPUT "${GANGSIM_FORWARDING_DIR}/gangsim/${old}"
      CONTENT "// Generated: moved to \"${new}\".\n#pragma once\n\n#include \"${new}\"\n" @ONLY)
  endforeach()
endfunction()

function(gangsim_write_forwarding_header name)
  set(content "// Generated: includes what <gangsim/${name}.h> offers.\n#pragma once\n\n")
  foreach(header IN LISTS ARGN)
    string(APPEND content "#include \"${header}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT "${GANGSIM_FORWARDING_DIR}/gangsim/${name}.h" CONTENT "${content}" @ONLY)
endfunction()
