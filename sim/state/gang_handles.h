// What ranks hold of a gang.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace gang::sim {

struct GangState;

// Counts the handles and works of one gang, which own it together: while there is one, the gang
// keeps itself. In a large world, that costs each a pointer where a share of its own would take
// two. Threads: any may drop one after the run; all else is under the engine's Guard.
class GangHandles {
 public:
  GangHandles() = default;
  GangHandles(const GangHandles&) = delete;
  GangHandles& operator=(const GangHandles&) = delete;

  // `gang` is the one that this is part of.
  void add(std::shared_ptr<GangState> gang) noexcept {
    if (count_.load(std::memory_order_relaxed) == 0) gang_ = std::move(gang);
    add();
  }

  // Where there is one already.
  void add() noexcept { set_count(count_.load(std::memory_order_relaxed) + 1); }

  // The same as drop, during the run.
  void drop_in_run() noexcept {
    const std::uint32_t left = count_.load(std::memory_order_relaxed) - 1;
    set_count(left);
    if (left == 0) [[unlikely]]
      let_go();
  }

  // One that was added. With the last of them the gang may go, and this with it.
  void drop() noexcept {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) let_go();
  }

  // Null: there are none.
  const std::shared_ptr<GangState>& gang() const noexcept { return gang_; }

 private:
  // Nobody else changes it meanwhile.
  void set_count(std::uint32_t count) noexcept { count_.store(count, std::memory_order_release); }
  void let_go() noexcept { const std::shared_ptr<GangState> last = std::move(gang_); }

  std::shared_ptr<GangState> gang_;
  std::atomic<std::uint32_t> count_ = 0;
};

}  // namespace gang::sim
