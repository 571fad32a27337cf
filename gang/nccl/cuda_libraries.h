// The functions of CUDA's runtime and of NCCL, loaded on first use.
#pragma once

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <stdlib.h>
#include <unistd.h>

#include <initializer_list>
#include <string>

#include <fmt/format.h>

#include "gang/nccl/gpu_machine.h"

namespace gang {

// The functions to load; their types are those of the headers' declarations.
#define GANGSIM_CUDA_FUNCTIONS(each)                                                           \
  each(cudaGetDeviceCount) each(cudaRuntimeGetVersion) each(cudaSetDevice)                     \
      each(cudaGetErrorString) each(cudaStreamCreateWithPriority) each(cudaStreamDestroy)      \
          each(cudaDeviceGetStreamPriorityRange) each(cudaEventCreateWithFlags)                \
              each(cudaEventDestroy) each(cudaEventRecord) each(cudaEventQuery) each(cudaFree) \
                  each(cudaFreeHost) each(cudaMemcpyAsync) each(cudaLaunchHostFunc)
#define GANGSIM_NCCL_FUNCTIONS(each)                                                               \
  each(ncclGetVersion) each(ncclGetUniqueId) each(ncclCommInitRankConfig) each(ncclCommSplit)      \
      each(ncclCommShrink) each(ncclCommFinalize) each(ncclCommDestroy) each(ncclCommAbort)        \
          each(ncclCommRevoke) each(ncclCommGetAsyncError) each(ncclGetErrorString)                \
              each(ncclGetLastError) each(ncclGroupStart) each(ncclGroupEnd) each(ncclAllReduce)   \
                  each(ncclReduce) each(ncclReduceScatter) each(ncclAllGather) each(ncclBroadcast) \
                      each(ncclAlltoAll) each(ncclGather) each(ncclScatter) each(ncclSend)         \
                          each(ncclRecv)

// One object per process, never unloaded.
struct CudaLibraries {
#define GANGSIM_DECLARE(name) decltype(&::name) name = nullptr;
  GANGSIM_CUDA_FUNCTIONS(GANGSIM_DECLARE)
  GANGSIM_NCCL_FUNCTIONS(GANGSIM_DECLARE)
#undef GANGSIM_DECLARE
  // In C++, the headers declare templates with the same names.
  cudaError_t (*cudaMalloc)(void** memory, size_t bytes) = nullptr;
  cudaError_t (*cudaHostAlloc)(void** memory, size_t bytes, unsigned int flags) = nullptr;

  std::string problem;  // why they cannot be used; empty if none shows without using CUDA
};

// The first library that can be loaded; null if none can, and `problem` says why.
inline void* open_first(std::initializer_list<const char*> names, std::string& problem) {
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    const char* const why = ::dlerror();
    problem = why != nullptr ? why : name;
  }
  return nullptr;
}

template <typename Function>
void find(void* library, const char* name, Function& function, std::string& problem) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && problem.empty())
    problem = fmt::format("the library has no function {}", name);
}

// Whether the system has a GPU's device file. A process that has used CUDA could not fork.
inline bool has_gpu_file() {
  for (int index = 0; index < 64; ++index)
    if (::access(fmt::format("/dev/nvidia{}", index).c_str(), F_OK) == 0) return true;
  return false;
}

// The newest CUDA that the driver supports; 0 without a driver. The driver itself is asked, since
// cudaDriverGetVersion would initialize CUDA (seen with CUDA 13.0), and no fork could use it then.
inline int driver_version() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  int version = 0;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  return get != nullptr && get(&version) == 0 ? version : 0;
}

inline std::string driver_problem(const CudaLibraries& libraries) {
  GpuMachine machine{.driver_version = driver_version(), .has_gpu = has_gpu_file()};
  libraries.cudaRuntimeGetVersion(&machine.runtime_version);
  return problem_of(machine);
}

inline CudaLibraries load_cuda_libraries() {
  CudaLibraries libraries;
  std::string& problem = libraries.problem;
  void* const cuda = open_first({GANGSIM_CUDART_SONAME, GANGSIM_CUDART_PATH}, problem);
  if (cuda == nullptr) return libraries;
  problem.clear();
#define GANGSIM_FIND(name) find(cuda, #name, libraries.name, problem);
  GANGSIM_CUDA_FUNCTIONS(GANGSIM_FIND)
#undef GANGSIM_FIND
  find(cuda, "cudaMalloc", libraries.cudaMalloc, problem);
  find(cuda, "cudaHostAlloc", libraries.cudaHostAlloc, problem);
  if (problem.empty()) problem = driver_problem(libraries);
  return libraries;
}

// The same and NCCL, which is large.
inline CudaLibraries load_nccl_too() {
  CudaLibraries libraries = load_cuda_libraries();
  std::string& problem = libraries.problem;
  if (!problem.empty()) return libraries;
  // Makes operations of several communicators start in the order in which the host launched them.
  ::setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  void* const nccl = open_first({GANGSIM_NCCL_SONAME, GANGSIM_NCCL_PATH}, problem);
  if (nccl == nullptr) return libraries;
  problem.clear();
#define GANGSIM_FIND(name) find(nccl, #name, libraries.name, problem);
  GANGSIM_NCCL_FUNCTIONS(GANGSIM_FIND)
#undef GANGSIM_FIND
  return libraries;
}

// With NCCL; loaded once. Threads: any.
inline const CudaLibraries& cuda_libraries() {
  static const CudaLibraries libraries = load_nccl_too();
  return libraries;
}

}  // namespace gang
