#include "gang/nccl/nccl_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gang {

std::unique_ptr<NcclEvent> NcclPool::take_event() {
  {
    const std::unique_lock<RuntimeMutex> lock(*mutex_);
    if (!events_.empty()) {
      std::unique_ptr<NcclEvent> event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  return api_.make_event();
}

std::unique_ptr<NcclBuffer> NcclPool::take_buffer(NcclMemory memory, std::size_t bytes) {
  {
    const std::unique_lock<RuntimeMutex> lock(*mutex_);
    const auto fits = [memory, bytes](const std::unique_ptr<NcclBuffer>& buffer) {
      return buffer->memory() == memory && buffer->size_bytes() >= bytes &&
             buffer->size_bytes() / 2 <= std::max<std::size_t>(bytes, 4096);
    };
    const auto found = std::ranges::find_if(buffers_, fits);
    if (found != buffers_.end()) {
      std::unique_ptr<NcclBuffer> buffer = std::move(*found);
      buffers_.erase(found);
      return buffer;
    }
  }
  return api_.allocate(memory, std::bit_ceil(std::max<std::size_t>(bytes, 256)));
}

void NcclPool::give_back(std::unique_ptr<NcclEvent> event,
                         std::vector<std::unique_ptr<NcclBuffer>> buffers) noexcept {
  try {
    const std::unique_lock<RuntimeMutex> lock(*mutex_);
    if (event != nullptr) events_.push_back(std::move(event));
    for (auto& buffer : buffers) buffers_.push_back(std::move(buffer));
  } catch (...) {
    // A simulated run is over.
  }
}

}  // namespace gang
