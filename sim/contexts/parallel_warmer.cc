#include "sim/contexts/parallel_warmer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <system_error>

namespace gang::sim {

ParallelWarmer::ParallelWarmer(const StackRow& row) {
  if (std::thread::hardware_concurrency() < 2) return;
  try {
    thread_ = std::jthread([this, row](const std::stop_token& stop) { warm(stop, row); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): the run does it all then
  }
}

void ParallelWarmer::warm([[maybe_unused]] const std::stop_token& stop,
                          [[maybe_unused]] const StackRow& row) const noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t left = row.count; left > taken_.load(std::memory_order_relaxed); --left) {
    std::byte* const top = row.base + left * row.stride;
    if (stop.stop_requested() || ::madvise(top - page_bytes, page_bytes, MADV_POPULATE_WRITE) != 0)
      return;
  }
#endif
}

}  // namespace gang::sim
