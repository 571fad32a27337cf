// What a collective would cost if nothing were checked, noted or explained.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>

namespace gang::benchmarks {
namespace {

namespace context = boost::context;

// What members of a gang compare.
struct BareCall {
  int kind = 0;
  int data_type = 0;
  int reduce_operation = 0;
  std::uint64_t sequence_number = 0;
  std::uint64_t count = 1;

  friend bool operator==(const BareCall&, const BareCall&) = default;
};

// Ranks on fibers that post, match and reduce one float each and switch to whoever comes next: no
// checks of arguments, no clock, no choice of who is next, no notes for a report.
class BareWorld {
 public:
  BareWorld(int size, int operations)
      : fibers_(static_cast<std::size_t>(size)),
        values_(fibers_.size()),
        operations_(static_cast<std::uint64_t>(operations)) {
    for (std::size_t rank = 0; rank < fibers_.size(); ++rank)
      fibers_[rank] = context::fiber(std::allocator_arg, context::fixedsize_stack(16 * 1024),
                                     [this, rank](context::fiber&& left) {
                                       arrive(std::move(left));
                                       for (std::uint64_t i = 0; i < operations_; ++i)
                                         sum_ += all_reduce(rank, 1.0F, {.sequence_number = i});
                                       return end();
                                     });
  }

  // The sum of all results.
  double run() {
    running_ = fibers_.size();
    for (std::size_t rank = 1; rank < fibers_.size(); ++rank) ready_.push_back(rank);
    switch_to(0);
    return sum_;
  }

 private:
  [[gnu::noinline]] float all_reduce(std::size_t rank, float value, const BareCall& call) {
    if (arrived_ == 0)
      first_ = call;
    else if (call != first_)
      std::abort();
    values_[rank] = value;
    if (++arrived_ < values_.size()) {
      switch_to(next());
      return result_;
    }
    arrived_ = 0;
    result_ = *std::ranges::max_element(values_);
    ready_.clear();
    ahead_ = 0;
    for (std::size_t other = 0; other < values_.size(); ++other)
      if (other != rank) ready_.push_back(other);
    return result_;
  }

  std::size_t next() noexcept { return ready_[ahead_++]; }

  void switch_to(std::size_t rank) {
    const std::size_t left_behind = std::exchange(running_, rank);
    previous_ = left_behind;
    arrive(std::move(fibers_[rank]).resume());
  }

  void arrive(context::fiber&& left) noexcept {
    if (left) (previous_ < fibers_.size() ? fibers_[previous_] : outside_) = std::move(left);
  }

  context::fiber end() {
    const bool is_last = ahead_ == ready_.size();
    previous_ = fibers_.size();
    if (is_last) return std::move(outside_);
    running_ = next();
    return std::move(fibers_[running_]);
  }

  std::vector<context::fiber> fibers_;
  context::fiber outside_;
  std::vector<float> values_;
  std::vector<std::size_t> ready_;
  std::size_t ahead_ = 0;  // in ready_
  std::size_t arrived_ = 0;
  std::size_t running_ = 0;
  std::size_t previous_ = 0;
  BareCall first_;
  float result_ = 0;
  double sum_ = 0;
  const std::uint64_t operations_;
};

// Argument: ranks. The floor of all_reduce_4_bytes.
void floor_all_reduce(benchmark::State& state) {
  const int size = static_cast<int>(state.range(0));
  const int operations = std::max(100, 2'000'000 / size);
  for ([[maybe_unused]] auto iteration : state) {
    state.PauseTiming();
    auto world = std::make_unique<BareWorld>(size, operations);
    state.ResumeTiming();
    if (world->run() != static_cast<double>(size) * operations)
      state.SkipWithError("the results are wrong");
    state.PauseTiming();
    world.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * size * operations);
}
BENCHMARK(floor_all_reduce)->Arg(8)->Arg(1024)->Arg(131'072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
