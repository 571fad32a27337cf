# How our own code is compiled. None of this reaches a project that uses the installed package.

option(GANGSIM_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(GANGSIM_BUILD_BENCHMARKS "Build gangsim_benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(GANGSIM_BUILD_FUZZERS "Build the fuzz targets (preset fuzz)" OFF)
option(GANGSIM_WARNINGS_AS_ERRORS "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
set(GANGSIM_DEFAULT_CONTEXT "fiber" CACHE STRING
  "Default context of a rank: fiber, or thread (for the sanitizers)")
set_property(CACHE GANGSIM_DEFAULT_CONTEXT PROPERTY STRINGS fiber thread)
if(NOT GANGSIM_DEFAULT_CONTEXT MATCHES "^(fiber|thread)$")
  message(FATAL_ERROR
    "GANGSIM_DEFAULT_CONTEXT is '${GANGSIM_DEFAULT_CONTEXT}'; must be one of: fiber, thread")
endif()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# -O3 gains nothing here and compiles slower.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_CXX_VISIBILITY_PRESET default)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(GANGSIM_MOLD mold)
if(GANGSIM_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

find_program(GANGSIM_CCACHE ccache)
if(GANGSIM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache caches precompiled headers only with this sloppiness.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${GANGSIM_CCACHE})
endif()

# In a batch, names at file scope are those of all its sources, GCC takes the types of all but one
# for a header's, and what it takes for uninitialised depends on what it inlines. The presets
# without batches warn of all.
set(GANGSIM_SCOPE_WARNINGS -Wshadow)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(GANGSIM_SCOPE_WARNINGS -Wshadow=local -Wno-subobject-linkage -Wno-maybe-uninitialized)
endif()

# gangsim_find_memory(RESULT LIMITS...): the memory of this machine in MiB, or what a container may
# have of it, if that is less. LIMITS are the files in which control groups say so, in bytes ("max",
# or more than there is, where there is no limit).
function(gangsim_find_memory result)
  cmake_host_system_information(RESULT memory QUERY TOTAL_PHYSICAL_MEMORY)
  foreach(file IN LISTS ARGN)
    if(EXISTS "${file}")
      file(STRINGS "${file}" limit LIMIT_COUNT 1)
      if(limit MATCHES "^[0-9]+$")
        math(EXPR limit "${limit} / 1048576")
        if(limit LESS memory)
          set(memory ${limit})
        endif()
      endif()
    endif()
  endforeach()
  set(${result} ${memory} PARENT_SCOPE)
endfunction()

# GCC collects its garbage whenever its heap has doubled, which for a batch costs a tenth of the
# time. Below a quarter of what each processor has of the memory (in MiB), it need not. Then a large
# batch of tests takes 3 to 3.7 GB, and a small one up to 2.2 GB; with sanitizers up to 5.1 GB, and
# presumably as much more for a small one. No more are compiled at once than fit into the memory;
# Ninja would start two more than there are processors.
set(GANGSIM_BATCH_OPTIONS)
set(GANGSIM_LARGE_BATCHES FALSE)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  gangsim_find_memory(memory
    /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes)
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR heap "${memory} / ${processors} / 4")
  if(heap GREATER 2048)
    set(heap 2048)  # MiB
  endif()
  set(large 3700)
  set(batch 2300)
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize=")
    set(large 5200)
    set(batch 3300)
  endif()
  math(EXPR needed_heap "${large} / 4")
  if(heap GREATER_EQUAL needed_heap)  # a large one for each processor
    set(GANGSIM_LARGE_BATCHES TRUE)
    set(batch ${large})
  endif()
  math(EXPR heap "${heap} * 1024")
  set(GANGSIM_BATCH_OPTIONS "SHELL:--param ggc-min-heapsize=${heap}")
  math(EXPR jobs "${memory} / ${batch}")
  if(jobs LESS 1)
    set(jobs 1)
  endif()
  math(EXPR most_jobs "${processors} + 2")
  if(jobs LESS most_jobs)
    set_property(GLOBAL PROPERTY JOB_POOLS batches=${jobs})
    set(CMAKE_JOB_POOL_COMPILE batches)
  endif()
endif()

# GCC zeroes a structure of 96 bytes or more by `rep stos`, which costs 8 ns on an AMD EPYC: a third
# of an all_reduce.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(GANGSIM_ZEROING -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign)
endif()

# The flags of all our targets. Source locations read "sim/simulation.cc", wherever the checkout is.
# Options are structs with designated initialisers, so fields are left out on purpose.
add_library(gangsim_build_settings INTERFACE)
target_compile_options(gangsim_build_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  ${GANGSIM_SCOPE_WARNINGS} -Wextra-semi -Wundef -Wvla -Wno-missing-field-initializers
  "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/="
  $<$<BOOL:${GANGSIM_WARNINGS_AS_ERRORS}>:-Werror>
  ${GANGSIM_BATCH_OPTIONS}
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -fpch-preprocess>
  # Otherwise GCC inlines no function that a shared library could replace. Clang always does.
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
  ${GANGSIM_ZEROING}
  # libstdc++ 12's own stable_sort calls the deprecated function.
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp -Wno-deprecated-declarations>")
