// The types of CUDA and NCCL as those of NcclApi.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <utility>

#include "gang/nccl/cuda_libraries.h"
#include "gang/nccl/nccl_api.h"

namespace gang {

inline const CudaLibraries& libraries() { return cuda_libraries(); }

// Throws NcclError for the error code of a CUDA or NCCL function.
inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw NcclError(NcclStatus::cuda_error,
                  std::string("CUDA: ") + libraries().cudaGetErrorString(error));
}

inline NcclStatus status_of(ncclResult_t result) noexcept {
  static constexpr std::array statuses = {
      std::pair(ncclSuccess, NcclStatus::success),
      std::pair(ncclUnhandledCudaError, NcclStatus::cuda_error),
      std::pair(ncclSystemError, NcclStatus::system_error),
      std::pair(ncclInvalidArgument, NcclStatus::invalid_argument),
      std::pair(ncclInvalidUsage, NcclStatus::invalid_usage),
      std::pair(ncclRemoteError, NcclStatus::remote_error),
      std::pair(ncclInProgress, NcclStatus::in_progress)};
  for (const auto& [code, status] : statuses)
    if (code == result) return status;
  return NcclStatus::internal_error;
}

inline void check(ncclResult_t result, ncclComm_t communicator = nullptr) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::string text = std::string("NCCL: ") + libraries().ncclGetErrorString(result);
  const char* const detail = libraries().ncclGetLastError(communicator);
  if (detail != nullptr && *detail != '\0') text += std::string(" (") + detail + ")";
  throw NcclError(status_of(result), text);
}

inline ncclDataType_t to_nccl(DataType type) {
  static constexpr std::array types = {ncclUint8,    ncclUint8,   ncclInt8,   ncclInt32,
                                       ncclUint32,   ncclInt64,   ncclUint64, ncclFloat16,
                                       ncclBfloat16, ncclFloat32, ncclFloat64};
  static_assert(types.size() == all_data_types.size());
  return types[static_cast<std::size_t>(type)];
}

// NCCL computes the mean itself: floats are multiplied by the rounded 1/size and then summed,
// integers divided at the end.
inline ncclRedOp_t to_nccl(ReduceOperation operation) {
  static constexpr std::array operations = {ncclSum, ncclAvg, ncclProd, ncclMin, ncclMax};
  const auto index = static_cast<std::size_t>(operation);
  return index < operations.size() ? operations[index] : ncclSum;
}

struct RealCommunicator final : NcclCommunicator {
  ncclComm_t handle = nullptr;  // NCCL may write it after the call that makes it
  ncclComm_t parent = nullptr;  // its split has to end first
  std::string name;             // NCCL keeps a pointer to it
  bool is_aborted = false;      // and freed
  std::mutex ending;            // held while the handle is asked for its state, and aborted
};

struct RealStream final : NcclStream {
  ~RealStream() override { libraries().cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

struct RealEvent final : NcclEvent {
  ~RealEvent() override { libraries().cudaEventDestroy(handle); }
  cudaEvent_t handle = nullptr;
};

class RealBuffer final : public NcclBuffer {
 public:
  RealBuffer(NcclMemory memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {
    void* data = nullptr;
    check(memory == NcclMemory::device
              ? libraries().cudaMalloc(&data, bytes)
              : libraries().cudaHostAlloc(&data, bytes, cudaHostAllocDefault));
    data_ = static_cast<std::byte*>(data);
  }
  ~RealBuffer() override {
    if (memory_ == NcclMemory::device)
      libraries().cudaFree(data_);
    else
      libraries().cudaFreeHost(data_);
  }
  RealBuffer(const RealBuffer&) = delete;
  RealBuffer& operator=(const RealBuffer&) = delete;

  NcclMemory memory() const noexcept override { return memory_; }
  std::byte* data() const noexcept override { return data_; }
  std::size_t size_bytes() const noexcept override { return bytes_; }

 private:
  NcclMemory memory_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

inline RealCommunicator& own(NcclCommunicator& communicator) {
  return static_cast<RealCommunicator&>(communicator);
}
inline cudaStream_t handle_of(NcclStream& stream) {
  return static_cast<RealStream&>(stream).handle;
}
inline cudaEvent_t handle_of(NcclEvent& event) { return static_cast<RealEvent&>(event).handle; }

inline ncclConfig_t config_of(const RealCommunicator& communicator) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = communicator.name.c_str();
  return config;
}

inline NcclStatus state_of(ncclComm_t communicator) {
  ncclResult_t result = ncclSuccess;
  check(libraries().ncclCommGetAsyncError(communicator, &result));
  return status_of(result);
}

}  // namespace gang
