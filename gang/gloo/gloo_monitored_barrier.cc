#include "gang/gloo/gloo_monitored_barrier.h"

#include <utility>

#include "gang/rank_list.h"

namespace gang {
namespace {

// The notices that members exchange: a byte to and from every other member.
class RollCall {
 public:
  RollCall(GlooMember& member, const GlooCall& call) : member_(member), call_(call) {
    constexpr std::uint64_t prefix = 0x22;
    const std::uint64_t slot = prefix << 56U | std::uint64_t{tag_of(call.collective)} << 24U;
    notices_.resize(static_cast<std::size_t>(member.size()));
    sent_ = member.transport().createUnboundBuffer(&present_, 1);
    for (int rank = 0; rank < member.size(); ++rank) {
      received_.emplace_back();
      if (rank != member.rank()) post(rank, slot);
    }
  }

  std::vector<int> missing_ranks() {
    std::vector<int> missing;
    for (int rank = 0; rank < member_.size(); ++rank)
      if (rank != member_.rank() && !has_come(rank)) missing.push_back(rank);
    return missing;
  }

  // Whether a connection was closed before the deadline. That member may have arrived and given up,
  // in which case it has left a note.
  bool has_lost_someone() const noexcept { return has_lost_someone_; }

  // Why the first missing rank is missing, other than that it was late.
  const std::string& error() const noexcept { return error_; }

  // Waits until all others have seen that this rank arrived.
  void wait_until_seen() {
    for (int others = 1; others < member_.size(); ++others)
      sent_->waitSend(wait_limit(member_.runtime(), call_.deadline));
  }

 private:
  // A rank to which nothing can be sent has not arrived: nothing is received from it.
  void post(int rank, std::uint64_t slot) {
    try {
      auto buffer =
          member_.transport().createUnboundBuffer(&notices_[static_cast<std::size_t>(rank)], 1);
      buffer->recv(rank, slot, 0, 1);
      sent_->send(rank, slot, 0, 1);
      received_.back() = std::move(buffer);
    } catch (const std::exception& error) {
      note(error);
    }
  }

  // A wait that fails closes all connections, but what arrived before can still be received.
  bool has_come(int rank) {
    if (received_[static_cast<std::size_t>(rank)] == nullptr) return false;
    try {
      return received_[static_cast<std::size_t>(rank)]->waitRecv(
          wait_limit(member_.runtime(), call_.deadline));
    } catch (const std::exception& error) {
      note(error);
    }
    return false;
  }

  void note(const std::exception& error) {
    if (error_.empty()) error_ = error.what();
    if (member_.runtime().now() < call_.deadline) has_lost_someone_ = true;
  }

  GlooMember& member_;
  const GlooCall& call_;
  char present_ = 1;
  std::vector<char> notices_;
  std::string error_;
  bool has_lost_someone_ = false;
  std::unique_ptr<gloo::transport::UnboundBuffer> sent_;
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> received_;
};

void fail_if_noted(GlooMember& member, const GlooCall& call, const RollCall& roll_call) {
  if (!roll_call.has_lost_someone()) return;
  if (auto noted = member.noted_cause()) member.fail(call, *std::move(noted));
}

}  // namespace

void run_monitored_barrier(GlooMember& member, const GlooCall& call, bool wait_all_ranks) {
  member.require_intact(call);
  std::vector<int> missing;
  std::string error;
  member.exchange(call, no_rank, [&] {
    RollCall roll_call(member, call);
    fail_if_noted(member, call, roll_call);
    missing = roll_call.missing_ranks();
    fail_if_noted(member, call, roll_call);
    if (missing.empty()) return roll_call.wait_until_seen();
    error = roll_call.error();
  });
  if (missing.empty()) return;
  if (!wait_all_ranks) missing.resize(1);
  if (member.runtime().now() < call.deadline) member.fail_lost(call, missing.front(), error);
  std::string reason = ranks_text(missing) + " did not arrive";
  member.fail(call, {.kind = GangErrorKind::timeout,
                     .ranks_at_fault = std::move(missing),
                     .reason = std::move(reason)});
}

}  // namespace gang
