#include "gang/nccl/nccl_api.h"

#include "gang/enum_names.h"

namespace gang {

std::string_view to_string(NcclStatus status) noexcept {
  static constexpr std::array<std::string_view, 8> names = {
      "success",          "unhandled CUDA error", "system error", "internal error",
      "invalid argument", "invalid usage",        "remote error", "in progress"};
  return enum_name(names, status);
}

}  // namespace gang
