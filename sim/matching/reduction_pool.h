// Helper threads for large reductions.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gang::sim {

// Splits a range over a few OS threads. Results do not depend on the number of threads as long as
// elements are independent of each other. The threads start on first use.
class ReductionPool {
 public:
  // `threads` >= 1, including the caller of `run`.
  explicit ReductionPool(int threads) noexcept : threads_(static_cast<std::size_t>(threads)) {}
  ~ReductionPool();
  ReductionPool(const ReductionPool&) = delete;
  ReductionPool& operator=(const ReductionPool&) = delete;

  using Body = std::function<void(std::size_t begin, std::size_t end)>;

  // Calls `body` on parts of [0, count) that together cover it, concurrently; returns when all are
  // done. `body` must not throw.
  void run(std::size_t count, const Body& body);

 private:
  void serve(std::size_t part);
  void run_part(std::size_t part) const;

  std::size_t threads_;
  std::vector<std::jthread> helpers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const Body* body_ = nullptr;
  std::size_t count_ = 0;
  std::size_t round_ = 0;
  std::size_t busy_ = 0;
  bool is_ending_ = false;
};

}  // namespace gang::sim
