// A gang of threads that can only make other gangs, for tests of how gangs are made.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gang/parent_gang.h"

namespace gang::test {

// Where the members of one gang meet: each comes with a color and a key, and leaves with its child.
class Meeting {
 public:
  struct Member {
    int color = no_color;
    int key = 0;
    int rank = 0;
  };

  explicit Meeting(int size) : size_(size) {}

  // Blocks until all members have come; returns those of the same color, ordered by key.
  std::vector<Member> meet(Member member) {
    std::unique_lock lock(mutex_);
    const int round = round_;
    arriving_.push_back(member);
    if (static_cast<int>(arriving_.size()) == size_) {
      met_ = std::exchange(arriving_, {});
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [this, round] { return round_ != round; });
    std::vector<Member> same;
    for (const Member& other : met_)
      if (other.color == member.color) same.push_back(other);
    std::ranges::sort(same, {}, [](const Member& m) { return std::pair(m.key, m.rank); });
    return same;
  }

  // One meeting place per child, shared by its members. Its first member and the number of meetings
  // so far identify the child.
  std::shared_ptr<Meeting> child(int first_rank, int made_before, int size) {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, meeting] : children_)
      if (key == std::pair(first_rank, made_before)) return meeting;
    children_.emplace_back(std::pair(first_rank, made_before), std::make_shared<Meeting>(size));
    return children_.back().second;
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int round_ = 0;
  std::vector<Member> arriving_;
  std::vector<Member> met_;
  std::vector<std::pair<std::pair<int, int>, std::shared_ptr<Meeting>>> children_;
};

class MeetingGang final : public ParentGang {
 public:
  MeetingGang(std::shared_ptr<const GangInfo> info, int rank, std::shared_ptr<Meeting> meeting)
      : ParentGang(std::move(info), rank), meeting_(std::move(meeting)) {
    ++open_gangs();
  }

  // How many gangs made by the calling thread are open.
  static int& open_gangs() {
    thread_local int count = 0;
    return count;
  }

  int fails_after = 1000;  // index of the group creation that throws, from 0

 protected:
  Work do_start(Operation& operation) override {
    if (made_ >= fails_after) throw GangError(GangFailure{.reason = "planted"});
    Meeting::Member member{operation.extras->color, operation.extras->key, rank()};
    if (operation.collective.kind == OperationKind::create_gang) {
      const auto found = std::ranges::find(operation.extras->ranks, rank());
      if (found != operation.extras->ranks.end())
        member = {0, static_cast<int>(found - operation.extras->ranks.begin()), rank()};
    }
    const std::vector<Meeting::Member> members = meeting_->meet(member);
    const int made = made_++;
    if (member.color != no_color) *operation.extras->created = make_child(operation, members, made);
    return Work();
  }
  void do_abort() override {}
  void do_close() noexcept override { --open_gangs(); }

 private:
  std::shared_ptr<Gang> make_child(const Operation& operation,
                                   const std::vector<Meeting::Member>& members, int made) {
    auto child = std::make_shared<GangInfo>(info());
    child->name = operation.extras->gang_options->name;
    child->size = static_cast<int>(members.size());
    child->root_ranks.clear();
    int child_rank = 0;
    for (const Meeting::Member& member : members) {
      if (member.rank == rank()) child_rank = static_cast<int>(child->root_ranks.size());
      child->root_ranks.push_back(info().root_ranks[static_cast<std::size_t>(member.rank)]);
    }
    return std::make_shared<MeetingGang>(
        std::move(child), child_rank,
        meeting_->child(members.front().rank, made, static_cast<int>(members.size())));
  }

  std::shared_ptr<Meeting> meeting_;
  int made_ = 0;
};

// Runs `body` with the root gang of each of `size` ranks, a thread each, and waits for all.
inline void on_ranks(int size, const std::function<void(const std::shared_ptr<Gang>&)>& body) {
  auto info = std::make_shared<GangInfo>();
  info->name = "root";
  info->size = size;
  info->backend = "meeting";
  for (int rank = 0; rank < size; ++rank) info->root_ranks.push_back(rank);
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back(
        [&body, info, rank, meeting] { body(std::make_shared<MeetingGang>(info, rank, meeting)); });
}

}  // namespace gang::test
