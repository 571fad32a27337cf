// Jobs whose dumps are written down call by call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/recording/recording.h"

namespace gang::harness {

struct DumpedArguments {
  DumpedState state = DumpedState::completed;
  std::int64_t count = 4;
  int peer = no_rank;
  std::uint32_t line = 0;
  bool is_gloo = false;
  bool is_blocking = true;
  std::uint64_t sequence = 0;  // 0: the next one of the rank on the group
};

class Job {
 public:
  explicit Job(int world) {
    for (int rank = 0; rank < world; ++rank)
      dumps_.push_back({"rank_" + std::to_string(rank), rank, {.version = "2.4"}});
  }

  // A group of these ranks, known to all of them. Returns its place in each of their dumps.
  std::uint32_t group(const std::string& description, const std::vector<int>& ranks) {
    const std::string name = std::to_string(groups_++);
    for (NamedDump& dump : dumps_)
      dump.dump.groups.push_back({.name = name, .description = description, .ranks = ranks});
    next_.emplace_back(dumps_.size(), 1);
    return groups_ - 1;
  }

  void call(int rank, std::uint32_t group, OperationKind kind,
            const DumpedArguments& arguments = {}) {
    Dump& dump = dumps_[static_cast<std::size_t>(rank)].dump;
    Collective call;
    call.kind = kind;
    call.reduce_operation = unknown_reduce_operation;
    call.peer = arguments.peer;
    call.blocking = arguments.is_blocking;
    if (kind != OperationKind::barrier) call.shape = Shape::vector(arguments.count);
    call.count = kind == OperationKind::barrier ? 0 : arguments.count;
    call.call_site = CallSite::at("", arguments.line);
    std::uint64_t& next = next_[group][static_cast<std::size_t>(rank)];
    const std::uint64_t sequence = arguments.sequence == 0 ? next++ : arguments.sequence;
    dump.calls.push_back({.record = first_record_ + dump.calls.size(),
                          .group = group,
                          .call = calls_.index_of(call, arguments.line == 0 ? "" : "train.py"),
                          .sequence = sequence,
                          .created_ns = static_cast<std::int64_t>(1000 + dump.calls.size()),
                          .state = arguments.state,
                          .is_message = is_point_to_point(kind),
                          .has_state = !arguments.is_gloo,
                          .is_in_stream = !arguments.is_gloo});
  }

  // The same on all ranks of `ranks`.
  void calls(const std::vector<int>& ranks, std::uint32_t group, OperationKind kind,
             const DumpedArguments& arguments = {}) {
    for (const int rank : ranks) call(rank, group, kind, arguments);
  }

  // From now on, calls get records and numbers as if so many had been lost.
  void begin_at(std::uint64_t record) { first_record_ = record; }
  void number_from(std::uint32_t group, std::uint64_t sequence) {
    for (std::uint64_t& next : next_[group]) next = sequence;
  }

  void lose(int rank) {
    std::erase_if(dumps_, [rank](const NamedDump& dump) { return dump.rank == rank; });
  }

  Dump& dump(int rank) { return dumps_[static_cast<std::size_t>(rank)].dump; }
  CallTable& table() { return calls_; }
  std::vector<NamedDump>& dumps() { return dumps_; }

  // Once.
  Recording take() { return join_dumps(std::move(dumps_), std::move(calls_)); }

 private:
  CallTable calls_;
  std::vector<NamedDump> dumps_;
  std::vector<std::vector<std::uint64_t>> next_;  // by group and rank
  std::uint32_t groups_ = 0;
  std::uint64_t first_record_ = 0;
};

inline constexpr DumpedState scheduled = DumpedState::scheduled;
inline constexpr DumpedState started = DumpedState::started;

}  // namespace gang::harness
