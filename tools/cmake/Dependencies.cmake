# Everything comes from Debian 12; what each is for is said in tools/packages.txt.
# gangsimConfig.cmake.in repeats the ones that appear in the installed targets.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(dlpack REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(GTest REQUIRED)
find_package(Gloo QUIET)  # the backend gloo; without it, asking for one says so
find_package(rapidcheck REQUIRED)
if(GANGSIM_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
