#include "harness/recording/recording.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "sim/text/rank_ranges.h"

namespace gang::harness {
namespace {

// The time of its last call, and how many there were.
std::pair<std::int64_t, std::uint64_t> end_of(const Dump& dump) {
  if (dump.calls.empty()) return {};
  return {dump.calls.back().created_ns, dump.calls.back().record};
}

// Keeps the last dump of each rank, by rank.
std::vector<NamedDump> one_per_rank(std::vector<NamedDump> dumps, std::vector<std::string>& notes) {
  std::ranges::stable_sort(dumps, [](const NamedDump& one, const NamedDump& other) {
    return one.rank != other.rank ? one.rank < other.rank : end_of(one.dump) < end_of(other.dump);
  });
  std::vector<NamedDump> kept;
  std::map<int, int> counts;
  for (NamedDump& dump : dumps) {
    ++counts[dump.rank];
    if (!kept.empty() && kept.back().rank == dump.rank)
      kept.back() = std::move(dump);
    else
      kept.push_back(std::move(dump));
  }
  for (const NamedDump& dump : kept)
    if (const int count = counts[dump.rank]; count > 1)
      notes.push_back(fmt::format("rank {} has {} dumps, of which {} is the last", dump.rank, count,
                                  dump.file.substr(dump.file.rfind('/') + 1)));
  return kept;
}

bool is_default(const DumpedGroup& group) { return group.description == "default_pg"; }

std::string name_of(const DumpedGroup& group) {
  if (is_default(group)) return "root";
  if (!group.description.empty() && group.description != "undefined") return group.description;
  return "group " + group.name;
}

// The groups of all dumps. Two groups of one name are one if they have the same ranks.
class Groups {
 public:
  // Those whose ranks their dumps tell.
  void add(const NamedDump& dump) {
    for (const DumpedGroup& group : dump.dump.groups) {
      if (group.ranks.empty()) continue;
      const auto same = std::ranges::find_if(of_name_[group.name], [&](std::uint32_t known) {
        return groups_[known].ranks == group.ranks;
      });
      if (is_default(group)) check_job(dump, group);
      if (same == of_name_[group.name].end()) add(group, group.ranks);
    }
  }

  // A group whose ranks its own dump does not tell: the one of this name that has this rank, or one
  // of those that mention it.
  std::uint32_t index_of(const DumpedGroup& group, int rank, std::vector<NamedDump>& dumps) {
    for (const std::uint32_t known : of_name_[group.name]) {
      const RecordedGroup& candidate = groups_[known];
      if (group.ranks.empty() ? std::ranges::count(candidate.ranks, rank) != 0
                              : candidate.ranks == group.ranks)
        return known;
    }
    std::vector<int> ranks;
    for (const NamedDump& dump : dumps)
      if (std::ranges::any_of(dump.dump.groups, [&](const DumpedGroup& other) {
            return other.name == group.name && other.ranks.empty();
          }))
        ranks.push_back(dump.rank);
    inferred_.push_back(name_of(group));
    return add(group, std::move(ranks));
  }

  std::vector<RecordedGroup> take() { return std::move(groups_); }
  const std::vector<std::string>& inferred() const { return inferred_; }

 private:
  std::uint32_t add(const DumpedGroup& group, std::vector<int> ranks) {
    const auto index = static_cast<std::uint32_t>(groups_.size());
    groups_.push_back({name_of(group), group.name, std::move(ranks)});
    of_name_[group.name].push_back(index);
    return index;
  }

  // The group of all ranks is the same for all of a job.
  void check_job(const NamedDump& dump, const DumpedGroup& group) {
    if (!std::ranges::count(group.ranks, dump.rank))
      throw InvalidArgument(fmt::format("dump {}: its job has ranks {}, and not rank {}", dump.file,
                                        sim::to_rank_ranges(group.ranks), dump.rank));
    if (job_.empty()) {
      job_ = group.ranks;
      job_file_ = dump.file;
    } else if (job_ != group.ranks) {
      throw InvalidArgument(fmt::format("dumps {} and {} are of different jobs: of ranks {} and {}",
                                        job_file_, dump.file, sim::to_rank_ranges(job_),
                                        sim::to_rank_ranges(group.ranks)));
    }
  }

  std::vector<RecordedGroup> groups_;
  std::map<std::string, std::vector<std::uint32_t>> of_name_;
  std::vector<std::string> inferred_;
  std::vector<int> job_;
  std::string job_file_;
};

void check_peer(const std::string& file, const RecordedGroup& group, const Collective& call) {
  const bool may_be_unknown = has_root(call.kind) && call.peer == no_rank;
  const bool may_be_any = call.kind == OperationKind::recv && call.peer == any_rank;
  const bool has_peer = has_root(call.kind) || is_point_to_point(call.kind);
  if (!has_peer || may_be_unknown || may_be_any ||
      (call.peer >= 0 && static_cast<std::size_t>(call.peer) < group.ranks.size()))
    return;
  throw InvalidArgument(fmt::format("dump {}: a call on {} is about rank {} of {}", file,
                                    group.name, call.peer, group.ranks.size()));
}

sim::LaneEnd lane_end_of(ProgramEnd end) {
  switch (end) {
    case ProgramEnd::returned:
      return sim::LaneEnd::returned;
    case ProgramEnd::failed:
      return sim::LaneEnd::failed;
    case ProgramEnd::none:
      break;
  }
  return sim::LaneEnd::none;
}

void add_rank(NamedDump& dump, const std::vector<std::uint32_t>& groups, Recording& recording) {
  RankRecording& rank = recording.ranks[static_cast<std::size_t>(dump.rank)];
  rank.is_missing = false;
  rank.end = lane_end_of(dump.dump.end);
  rank.enqueued.assign(recording.groups.size(), -1);
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (const auto& last = dump.dump.groups[i].last_enqueued) rank.enqueued[groups[i]] = *last;
  if (!dump.dump.calls.empty()) rank.first_record = dump.dump.calls.front().record;
  rank.calls.reserve(dump.dump.calls.size());
  for (const DumpedCall& call : dump.dump.calls) {
    const std::uint32_t group = groups[call.group];
    check_peer(dump.file, recording.groups[group], recording.calls[call.call]);
    rank.calls.push_back({.group = group,
                          .call = call.call,
                          .sequence = call.sequence,
                          .created_ns = call.created_ns,
                          .state = call.state,
                          .is_message = call.is_message,
                          .has_state = call.has_state,
                          .is_in_stream = call.is_in_stream,
                          .has_waits = call.has_waits,
                          .waited = call.waited});
  }
  dump.dump.calls = {};
}

void note_versions(const std::vector<NamedDump>& dumps, std::vector<std::string>& notes) {
  std::set<std::string> versions;
  for (const NamedDump& dump : dumps) versions.insert(dump.dump.version);
  if (versions.size() > 1)
    notes.push_back(fmt::format("the dumps are of versions {}", fmt::join(versions, ", ")));
}

}  // namespace

Recording join_dumps(std::vector<NamedDump> dumps, CallTable calls,
                     const std::vector<std::string>& cut_off) {
  Recording recording{.calls = std::move(calls)};
  std::vector<std::string>& notes = recording.evidence.notes;
  dumps = one_per_rank(std::move(dumps), notes);
  note_versions(dumps, notes);
  Groups groups;
  for (const NamedDump& dump : dumps) groups.add(dump);
  std::vector<std::vector<std::uint32_t>> indexes(dumps.size());
  for (std::size_t i = 0; i < dumps.size(); ++i)
    for (const DumpedGroup& group : dumps[i].dump.groups)
      indexes[i].push_back(groups.index_of(group, dumps[i].rank, dumps));
  for (const std::string& name : groups.inferred())
    notes.push_back(fmt::format("the ranks of {} are those that call it", name));
  recording.groups = groups.take();
  int most = dumps.empty() ? 0 : dumps.back().rank;
  for (const RecordedGroup& group : recording.groups)
    for (const int rank : group.ranks) most = std::max(most, rank);
  recording.ranks.resize(static_cast<std::size_t>(most) + 1);
  for (std::size_t i = 0; i < dumps.size(); ++i) add_rank(dumps[i], indexes[i], recording);
  for (std::size_t rank = 0; rank < recording.ranks.size(); ++rank) {
    const RankRecording& of = recording.ranks[rank];
    if (of.is_missing) recording.evidence.missing.push_back(static_cast<int>(rank));
    if (of.first_record != 0)
      recording.evidence.overflown.push_back({static_cast<int>(rank), of.first_record});
  }
  for (const std::string& file : cut_off) notes.push_back(file);
  return recording;
}

}  // namespace gang::harness
