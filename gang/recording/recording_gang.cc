#include "gang/recording/recording_gang.h"

#include <utility>
#include <vector>

#include "gang/error.h"
#include "gang/work.h"

namespace gang {
namespace {

// What `call` returns; if it throws a GangError, the gang is broken from then on.
template <typename Call>
auto noting_broken(CallRing& ring, std::uint32_t gang, const Call& call) {
  try {
    return call();
  } catch (const GangError&) {
    ring.note_broken(gang);
    throw;
  }
}

// A started call of a recording gang. Works are waited for together only with their like.
class RecordedWork final : public WorkState {
 public:
  RecordedWork(Work inner, std::shared_ptr<CallRing> ring, std::uint32_t gang, std::uint64_t record)
      : inner_(std::move(inner)), ring_(std::move(ring)), gang_(gang), record_(record) {}

  bool wait(Duration timeout) override {
    ring_->begin_wait(record_);
    const bool is_done =
        noting_broken(*ring_, gang_, [this, timeout] { return inner_.wait(timeout); });
    if (is_done)
      ring_->complete(record_);
    else
      ring_->give_up_wait(record_);
    return is_done;
  }

  bool test() override {
    if (!noting_broken(*ring_, gang_, [this] { return inner_.test(); })) return false;
    ring_->begin_wait(record_);
    ring_->complete(record_);
    return true;
  }

  Received received() const override { return inner_.received(); }

  std::size_t wait_any(std::span<WorkState* const> works) override {
    std::vector<Work> inner;
    for (WorkState* work : works) {
      auto& recorded = static_cast<RecordedWork&>(*work);
      recorded.ring_->begin_wait(recorded.record_);  // for all of them, as long as none is complete
      inner.push_back(std::move(recorded.inner_));
    }
    const auto give_back = [&] {
      for (std::size_t i = 0; i < works.size(); ++i)
        static_cast<RecordedWork*>(works[i])->inner_ = std::move(inner[i]);
    };
    try {
      const std::size_t index =
          noting_broken(*ring_, gang_, [&inner] { return Work::wait_any(inner); });
      give_back();
      for (std::size_t i = 0; i < works.size(); ++i)
        if (auto& recorded = static_cast<RecordedWork&>(*works[i]); i != index)
          recorded.ring_->give_up_wait(recorded.record_);
      return index;
    } catch (...) {
      give_back();
      throw;
    }
  }

  void dropped() noexcept override { const Work gone = std::move(inner_); }
  void detached(std::shared_ptr<WorkState>) noexcept override { inner_.detach(); }

 private:
  Work inner_;
  std::shared_ptr<CallRing> ring_;
  std::uint32_t gang_;
  std::uint64_t record_;
};

}  // namespace

RecordingGang::RecordingGang(std::shared_ptr<Gang> inner, std::shared_ptr<CallRing> ring)
    : ForwardingGang(std::move(inner)), ring_(std::move(ring)), index_(ring_->add_gang(info())) {}

Work RecordingGang::do_start(Operation& operation) {
  const std::uint64_t record = ring_->begin(index_, operation);
  Work work = noting_broken(*ring_, index_, [&] { return ForwardingGang::do_start(operation); });
  return Work(std::make_shared<RecordedWork>(std::move(work), ring_, index_, record));
}

Received RecordingGang::do_run(Operation& operation) {
  const std::uint64_t record = ring_->begin(index_, operation);
  const Received received =
      noting_broken(*ring_, index_, [&] { return ForwardingGang::do_run(operation); });
  ring_->complete(record);
  return received;
}

std::shared_ptr<Gang> RecordingGang::wrap(std::shared_ptr<Gang> child) {
  return std::make_shared<RecordingGang>(std::move(child), ring_);
}

}  // namespace gang
