#include "gang/nccl/nccl_api.h"

namespace gang {

std::string_view to_string(NcclStatus status) noexcept {
  switch (status) {
    case NcclStatus::success:
      return "success";
    case NcclStatus::cuda_error:
      return "unhandled CUDA error";
    case NcclStatus::system_error:
      return "system error";
    case NcclStatus::internal_error:
      return "internal error";
    case NcclStatus::invalid_argument:
      return "invalid argument";
    case NcclStatus::invalid_usage:
      return "invalid usage";
    case NcclStatus::remote_error:
      return "remote error";
    case NcclStatus::in_progress:
      return "in progress";
  }
  return "";
}

}  // namespace gang
