// Events and memory of a device that operations use again and again.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "gang/runtime.h"

namespace gang {

// Keeps what operations give back, and makes new objects only if none fits. `api` and `runtime`
// outlive it. Threads: any thread of the rank.
class NcclPool {
 public:
  NcclPool(NcclApi& api, Runtime& runtime) : api_(api), mutex_(runtime.make_mutex()) {}

  std::unique_ptr<NcclEvent> take_event();
  std::unique_ptr<NcclBuffer> take_buffer(NcclMemory memory,
                                          std::size_t bytes);  // at least `bytes`
  void give_back(std::unique_ptr<NcclEvent> event,
                 std::vector<std::unique_ptr<NcclBuffer>> buffers) noexcept;

 private:
  NcclApi& api_;
  std::unique_ptr<RuntimeMutex> mutex_;  // guards what follows
  std::vector<std::unique_ptr<NcclEvent>> events_;
  std::vector<std::unique_ptr<NcclBuffer>> buffers_;
};

}  // namespace gang
