# Everything comes from Debian 12; tools/packages.txt says what each is for.
# gangsimConfig.cmake.in repeats those that the installed targets need.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(dlpack REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(GTest REQUIRED)
find_package(Gloo QUIET)  # the backend gloo; without it, asking for that backend says so
find_package(rapidcheck REQUIRED)
find_package(mimalloc QUIET)  # for our executables; without it, they take the C library's malloc
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)  # a header is all that is used
if(GANGSIM_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
