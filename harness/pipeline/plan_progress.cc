#include "harness/pipeline/plan_progress.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace gang::harness {
namespace {

class ProgressCheck {
 public:
  ProgressCheck(const MessagePlan& plan, Sending sending)
      : plan_(plan), sending_(sending), ranks_(plan.by_rank.size()) {}

  PlanProgress run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ready_.push_back(rank);
    while (!ready_.empty() && progress_.complaint.empty()) {
      const std::size_t rank = ready_.front();
      ready_.pop_front();
      advance(rank);
    }
    if (progress_.complaint.empty()) find_counterexample();
    if (progress_.completes()) find_unreceived();
    return std::move(progress_);
  }

 private:
  struct RankProgress {
    std::size_t next = 0;                            // action
    std::vector<const PipelineTransfer*> unmatched;  // of the action before `next`
  };

  struct Posted {
    std::size_t rank = 0;
    const PipelineTransfer* transfer = nullptr;
  };

  // Source, destination, tag.
  using Channel = std::tuple<int, int, int>;

  struct Waiting {
    std::deque<Posted> sends;
    std::deque<Posted> receives;
  };

  void advance(std::size_t rank) {
    RankProgress& self = ranks_[rank];
    while (self.unmatched.empty() && self.next < plan_.by_rank[rank].size()) {
      const PipelineAction& action = plan_.by_rank[rank][self.next++];
      if (const auto* pass = std::get_if<StagePass>(&action)) {
        look_for_input(rank, *pass);
      } else {
        for (const PipelineTransfer& transfer : std::get<std::vector<PipelineTransfer>>(action))
          post({rank, &transfer});
      }
    }
  }

  void look_for_input(std::size_t rank, const StagePass& pass) {
    if (plan_.sizes.ranks == 1 || !needs_message(pass, plan_.sizes)) return;
    const PipelineMessage message = needed_by(pass);
    if (arrived_.contains(key_of(message))) return;
    complain(fmt::format("Rank {} computes {} before the {} has arrived.", rank, to_string(pass),
                         to_string(message)));
  }

  void post(const Posted& posted) {
    const int self = static_cast<int>(posted.rank);
    const int peer = posted.transfer->peer;
    const bool sends = posted.transfer->kind == OperationKind::send;
    Waiting& waiting = channels_[sends ? Channel{self, peer, posted.transfer->tag}
                                       : Channel{peer, self, posted.transfer->tag}];
    std::deque<Posted>& counterparts = sends ? waiting.receives : waiting.sends;
    if (!counterparts.empty()) {
      const Posted counterpart = counterparts.front();
      counterparts.pop_front();
      if (sends)
        meet(posted, counterpart);
      else
        meet(counterpart, posted);
      return;
    }
    (sends ? waiting.sends : waiting.receives).push_back(posted);
    if (!sends || sending_ == Sending::rendezvous)
      ranks_[posted.rank].unmatched.push_back(posted.transfer);
  }

  void meet(const Posted& send, const Posted& receive) {
    if (send.transfer->message != receive.transfer->message)
      complain(fmt::format("Rank {} expects the {} but receives the {}.", receive.rank,
                           to_string(receive.transfer->message),
                           to_string(send.transfer->message)));
    arrived_.insert(key_of(receive.transfer->message));
    for (const Posted& one : {send, receive}) {
      const bool was_waiting = std::erase(ranks_[one.rank].unmatched, one.transfer) > 0;
      if (was_waiting && ranks_[one.rank].unmatched.empty()) ready_.push_back(one.rank);
    }
  }

  void complain(std::string text) {
    if (progress_.complaint.empty()) progress_.complaint = std::move(text);
  }

  static std::tuple<Payload, int, int> key_of(const PipelineMessage& message) {
    return {message.payload, message.to_stage, message.microbatch};
  }

  // Follows peers from the first stuck rank until a rank repeats.
  void find_counterexample() {
    const auto stuck = std::ranges::find_if(
        ranks_, [](const RankProgress& rank) { return !rank.unmatched.empty(); });
    if (stuck == ranks_.end()) return;
    std::vector<StuckRank> path;
    auto rank = static_cast<std::size_t>(stuck - ranks_.begin());
    while (!ranks_[rank].unmatched.empty()) {
      const auto again = std::ranges::find(path, static_cast<int>(rank), &StuckRank::rank);
      if (again != path.end()) {
        path.erase(path.begin(), again);
        break;
      }
      const PipelineTransfer& transfer = *ranks_[rank].unmatched.front();
      path.push_back({static_cast<int>(rank), transfer});
      rank = static_cast<std::size_t>(transfer.peer);
    }
    progress_.counterexample = std::move(path);
  }

  void find_unreceived() {
    for (const auto& [channel, waiting] : channels_) {
      if (waiting.sends.empty()) continue;
      complain(fmt::format("No rank receives the {} that rank {} sends to rank {}.",
                           to_string(waiting.sends.front().transfer->message), std::get<0>(channel),
                           std::get<1>(channel)));
    }
  }

  const MessagePlan& plan_;
  Sending sending_;
  std::vector<RankProgress> ranks_;
  std::deque<std::size_t> ready_;
  std::map<Channel, Waiting> channels_;
  std::set<std::tuple<Payload, int, int>> arrived_;
  PlanProgress progress_;
};

}  // namespace

PlanProgress check_progress(const MessagePlan& plan, Sending sending) {
  return ProgressCheck(plan, sending).run();
}

std::string to_string(const StuckRank& stuck) {
  return fmt::format("rank {} {}", stuck.rank, to_string(stuck.transfer));
}

}  // namespace gang::harness
