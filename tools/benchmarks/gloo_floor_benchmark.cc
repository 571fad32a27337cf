// What Gloo's all_reduce costs on fibers that pass its messages on and do nothing else.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

namespace gang::benchmarks {
namespace {

namespace context = boost::context;

// Ranks on fibers, of which one runs until it blocks; then the one that has been ready for longest.
class BareRanks {
 public:
  BareRanks(std::size_t size, const std::function<void(int)>& program) : fibers_(size) {
    for (std::size_t rank = 0; rank < size; ++rank) {
      ready_.push_back(rank);
      fibers_[rank] = context::fiber(std::allocator_arg, context::fixedsize_stack(64 * 1024),
                                     [this, rank, &program](context::fiber&& left) {
                                       arrive(std::move(left));
                                       program(static_cast<int>(rank));
                                       return end();
                                     });
    }
  }

  void run() {
    running_ = outside;
    switch_to(next());
  }

  std::size_t running() const noexcept { return running_; }
  void block() { switch_to(next()); }
  void wake(std::size_t rank) { ready_.push_back(rank); }

 private:
  static constexpr std::size_t outside = static_cast<std::size_t>(-1);

  std::size_t next() {
    if (ready_.empty()) throw std::logic_error("all ranks wait for messages");
    const std::size_t rank = ready_.front();
    ready_.pop_front();
    return rank;
  }

  void switch_to(std::size_t rank) {
    if (rank == running_) return;
    previous_ = std::exchange(running_, rank);
    arrive(std::move(fibers_[rank]).resume());
  }

  void arrive(context::fiber&& left) noexcept {
    if (left) (previous_ == outside ? outside_ : fibers_[previous_]) = std::move(left);
  }

  context::fiber end() {
    previous_ = running_;
    if (ready_.empty()) return std::move(outside_);
    running_ = next();
    return std::move(fibers_[running_]);
  }

  std::vector<context::fiber> fibers_;
  context::fiber outside_;
  std::deque<std::size_t> ready_;
  std::size_t running_ = 0;
  std::size_t previous_ = 0;
};

[[noreturn]] void refuse() { throw std::logic_error("an all_reduce does no such thing"); }

class BareBuffer;

// A send or receive that waits for its counterpart.
struct BareTransfer {
  BareBuffer* buffer;
  int source;
  std::uint64_t slot;
  std::byte* data;
  std::size_t bytes;
};

// What has been sent to a rank, or asked for there.
struct BareMailbox {
  std::vector<BareTransfer> sends;
  std::vector<BareTransfer> receives;
};

struct BareNetwork {
  BareRanks* ranks = nullptr;
  std::vector<BareMailbox> mailboxes;
};

class BareBuffer final : public gloo::transport::UnboundBuffer {
 public:
  BareBuffer(BareNetwork& network, int rank, void* data, std::size_t bytes)
      : UnboundBuffer(data, bytes), network_(network), rank_(rank) {}

  bool waitRecv(int*, std::chrono::milliseconds) override { return wait(received_); }
  bool waitSend(int*, std::chrono::milliseconds) override { return wait(sent_); }
  void abortWaitRecv() override { refuse(); }
  void abortWaitSend() override { refuse(); }

  void send(int destination, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    BareMailbox& mailbox = mailbox_of(destination);
    const BareTransfer send = transfer(rank_, slot, offset, bytes);
    if (const auto receive = taken(mailbox.receives, send); receive.buffer != nullptr)
      pass(send, receive);
    else
      mailbox.sends.push_back(send);
  }

  void recv(int source, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    BareMailbox& mailbox = mailbox_of(rank_);
    const BareTransfer receive = transfer(source, slot, offset, bytes);
    if (const auto send = taken(mailbox.sends, receive); send.buffer != nullptr)
      pass(send, receive);
    else
      mailbox.receives.push_back(receive);
  }

  void recv(std::vector<int>, std::uint64_t, std::size_t, std::size_t) override { refuse(); }

 private:
  BareMailbox& mailbox_of(int rank) noexcept {
    return network_.mailboxes[static_cast<std::size_t>(rank)];
  }

  BareTransfer transfer(int source, std::uint64_t slot, std::size_t offset, std::size_t bytes) {
    return {.buffer = this,
            .source = source,
            .slot = slot,
            .data = static_cast<std::byte*>(ptr) + offset,
            .bytes = bytes == kUnspecifiedByteCount ? size - offset : bytes};
  }

  // The oldest counterpart, no longer there; without a buffer if there is none.
  static BareTransfer taken(std::vector<BareTransfer>& waiting, const BareTransfer& transfer) {
    const auto found = std::ranges::find_if(waiting, [&transfer](const BareTransfer& other) {
      return other.source == transfer.source && other.slot == transfer.slot;
    });
    if (found == waiting.end()) return {};
    const BareTransfer one = *found;
    waiting.erase(found);
    return one;
  }

  static void pass(const BareTransfer& send, const BareTransfer& receive) {
    std::memcpy(receive.data, send.data, send.bytes);
    send.buffer->end(send.buffer->sent_);
    receive.buffer->end(receive.buffer->received_);
  }

  void end(int& ended) {
    ++ended;
    if (std::exchange(waits_, false)) network_.ranks->wake(static_cast<std::size_t>(rank_));
  }

  bool wait(int& ended) {
    while (ended == 0) {
      waits_ = true;
      network_.ranks->block();
    }
    --ended;
    return true;
  }

  BareNetwork& network_;
  const int rank_;
  int sent_ = 0;
  int received_ = 0;
  bool waits_ = false;
};

class BareAddress final : public gloo::transport::Address {
 public:
  std::string str() const override { return "bare"; }
  std::vector<char> bytes() const override { return {}; }
};

// Gloo wants to see that there is one; its messages go through buffers.
class BarePair final : public gloo::transport::Pair {
 public:
  const gloo::transport::Address& address() const override { return address_; }
  void connect(const std::vector<char>&) override {}
  void close() override {}
  void setSync(bool, bool) override { refuse(); }
  std::unique_ptr<gloo::transport::Buffer> createSendBuffer(int, void*, std::size_t) override {
    refuse();
  }
  std::unique_ptr<gloo::transport::Buffer> createRecvBuffer(int, void*, std::size_t) override {
    refuse();
  }
  void send(gloo::transport::UnboundBuffer*, std::uint64_t, std::size_t, std::size_t) override {
    refuse();
  }
  void recv(gloo::transport::UnboundBuffer*, std::uint64_t, std::size_t, std::size_t) override {
    refuse();
  }

 private:
  BareAddress address_;
};

class BareTransport final : public gloo::transport::Context {
 public:
  BareTransport(BareNetwork& network, int rank)
      : Context(rank, static_cast<int>(network.mailboxes.size())), network_(network) {}

  std::unique_ptr<gloo::transport::Pair>& getPair(int) override { return pair_; }
  std::unique_ptr<gloo::transport::Pair>& createPair(int) override { return pair_; }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      std::size_t bytes) override {
    return std::make_unique<BareBuffer>(network_, rank, data, bytes);
  }

 private:
  BareNetwork& network_;
  std::unique_ptr<gloo::transport::Pair> pair_ = std::make_unique<BarePair>();
};

class BareContext final : public gloo::Context {
 public:
  BareContext(BareNetwork& network, int rank)
      : Context(rank, static_cast<int>(network.mailboxes.size())) {
    transportContext_ = std::make_shared<BareTransport>(network, rank);
  }
};

// Argument: ranks. The floor of all_reduce_4_bytes_over_gloo.
void floor_gloo_all_reduce(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  constexpr int operations = 10'000;
  for ([[maybe_unused]] auto iteration : state) {
    BareNetwork network{.mailboxes = std::vector<BareMailbox>(size)};
    float sum = 0;
    const std::function<void(int)> program = [&](int rank) {
      const auto bare = std::make_shared<BareContext>(network, rank);
      for (int i = 0; i < operations; ++i) {
        float value = 1.0F;
        gloo::AllreduceOptions options(bare);
        options.setOutput(&value, 1);
        options.setReduceFunction(
            [](void* result, const void* local, const void* received, std::size_t count) {
              gloo::max<float>(result, local, received, count);
            });
        gloo::allreduce(options);
        sum += value;
      }
    };
    BareRanks ranks(size, program);
    network.ranks = &ranks;
    ranks.run();
    if (sum != static_cast<float>(size) * operations) state.SkipWithError("the results are wrong");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * operations);
}
BENCHMARK(floor_gloo_all_reduce)->Arg(8)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
