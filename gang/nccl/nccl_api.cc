#include "gang/nccl/nccl_api.h"

#include "gang/enum_names.h"

namespace gang {

std::string_view to_string(NcclStatus status) noexcept {
  static constexpr auto names = names_in_order<NcclStatus>(
      "success", "unhandled CUDA error", "system error", "internal error", "invalid argument",
      "invalid usage", "remote error", "in progress");
  return name_of(names, status);
}

}  // namespace gang
