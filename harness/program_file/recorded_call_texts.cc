#include "harness/program_file/recorded_call_texts.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/gang.h"

namespace gang::harness::program_file {
namespace {

// A name that a call may begin with.
std::string gang_name(std::string_view recorded) {
  std::string name;
  for (const char character : recorded) {
    const bool is_kept = (character >= '0' && character <= '9') ||
                         (character >= 'a' && character <= 'z') ||
                         (character >= 'A' && character <= 'Z');
    if (is_kept)
      name += character;
    else if (!name.ends_with('_'))
      name += '_';
  }
  constexpr std::array<std::string_view, 7> words = {"wait",  "wait_any", "test",  "sleep",
                                                     "yield", "throw",    "return"};
  const bool is_taken = std::ranges::find(words, name) != words.end();
  if (name.empty() || is_taken || (name.front() >= '0' && name.front() <= '9'))
    name.insert(0, "gang_");
  return name;
}

std::string quoted_label(std::string label) {
  std::ranges::replace(label, '"', '\'');
  return label.empty() ? "" : fmt::format(" label \"{}\"", label);
}

// PyTorch does not say it.
ReduceOperation reduction_of(const Collective& call) {
  if (is_defined(call.reduce_operation, call.data_type) &&
      call.reduce_operation != unknown_reduce_operation)
    return call.reduce_operation;
  return is_defined(ReduceOperation::sum, call.data_type) ? ReduceOperation::sum
                                                          : ReduceOperation::max;
}

}  // namespace

RecordedGangs::RecordedGangs(const Recording& recording) {
  const auto world = static_cast<std::size_t>(recording.world_size());
  gangs_.push_back({.name = "root", .rank_lists = {}});
  in_gang_.emplace_back(world, true);
  std::vector<int> all(world);
  std::iota(all.begin(), all.end(), 0);
  bool has_root = false;
  for (const RecordedGroup& group : recording.groups) {
    if (!has_root && group.name == "root" && group.ranks == all) {
      has_root = true;
      gang_of_.push_back(0);
      continue;
    }
    gang_of_.push_back(index_for(group, group.name != "group " + group.key));
  }
}

std::uint32_t RecordedGangs::index_for(const RecordedGroup& group, bool is_named) {
  const std::string base = gang_name(is_named ? group.name : "group");
  for (std::size_t number = 1;; ++number) {
    const std::string name =
        number == 1 && base != "root" ? base : fmt::format("{}_{}", base, number);
    const auto known = std::ranges::find(gangs_, name, &Gang::name);
    const auto index = static_cast<std::size_t>(known - gangs_.begin());
    if (known == gangs_.end()) {
      gangs_.push_back({.name = name, .rank_lists = {}});
      in_gang_.emplace_back(in_gang_.front().size(), false);
    }
    const bool is_free = std::ranges::none_of(
        group.ranks, [&](int rank) { return in_gang_[index][static_cast<std::size_t>(rank)]; });
    // Groups without names are not of one axis if they have other sizes.
    const bool fits = is_named || gangs_[index].rank_lists.empty() ||
                      gangs_[index].rank_lists.front().size() == group.ranks.size();
    if (!is_free || !fits) continue;
    for (const int rank : group.ranks) in_gang_[index][static_cast<std::size_t>(rank)] = true;
    gangs_[index].rank_lists.push_back(group.ranks);
    return static_cast<std::uint32_t>(index);
  }
}

std::uint32_t RecordedCallTexts::index_of(const RecordedStep& step, int rank) {
  const bool depends_on_rank = !step.batch.empty() || peers_ == PeerText::distance;
  const std::array key = {step.call, step.group,
                          4 * step.work + static_cast<std::uint32_t>(step.action)};
  if (const auto known = known_.find(key); !depends_on_rank && known != known_.end())
    return known->second;
  std::string text = text_of(step, rank);
  const auto [place, is_new] =
      indexes_.try_emplace(std::move(text), static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(place->first);
  if (!depends_on_rank) known_.emplace(key, place->second);
  return place->second;
}

std::string RecordedCallTexts::text_of(const RecordedStep& step, int rank) const {
  if (step.action == RecordedStep::Action::wait) return fmt::format("wait w{}", step.work);
  const Collective& call = recording_.calls[step.call];
  std::string text;
  if (step.action == RecordedStep::Action::start)
    text = step.work == 0 ? fmt::format("{} start ", gangs_.name_of(step.group))
                          : fmt::format("w{} = {} start ", step.work, gangs_.name_of(step.group));
  else
    text = gangs_.name_of(step.group) + " ";
  if (!step.batch.empty()) {
    std::vector<std::string> messages;
    for (const std::uint32_t each : step.batch)
      messages.push_back(message(step, recording_.calls[each], rank));
    text += fmt::format("batch {}", fmt::join(messages, ", "));
  } else {
    text += arguments(step, call, rank);
  }
  // What is left of making a gang is that all members meet, for the same purpose.
  const bool makes = call.kind == OperationKind::create_gang || call.kind == OperationKind::split;
  text += quoted_label(std::string(makes ? to_string(call.kind) : call.label));
  if (*call.call_site.file() == '\0') return text;
  std::string place = to_string(call.call_site);
  std::ranges::replace(place, '"', '\'');
  return text + fmt::format(" at \"{}\"", place);
}

std::string RecordedCallTexts::tensor(const RecordedStep& step, const Collective& call) const {
  const auto size = static_cast<std::int64_t>(recording_.groups[step.group].ranks.size());
  std::vector<std::int64_t> extents(call.shape.extents().begin(), call.shape.extents().end());
  // Ranks may have different counts; those of an even one are those of the call.
  if (call.kind == OperationKind::all_to_all &&
      (call.count != call.shape.count() || call.count % size != 0))
    extents = {size};
  return fmt::format("{}[{}]", to_string(call.data_type), fmt::join(extents, ","));
}

std::string RecordedCallTexts::message(const RecordedStep& step, const Collective& call,
                                       int rank) const {
  const bool sends = call.kind == OperationKind::send;
  std::string text = fmt::format("{} {}", to_string(call.kind), tensor(step, call));
  if (call.peer < 0) {
    text += " from any";
  } else if (peers_ == PeerText::distance && gangs_.is_root(step.group)) {
    const int world = recording_.world_size();
    const int distance = (call.peer - rank + world) % world;
    text += fmt::format(" {} (rank + {}) % world", sends ? "to" : "from", distance);
  } else {
    text += fmt::format(" {} {}", sends ? "to" : "from", call.peer);
  }
  if (call.tag == any_tag) return text + " tag any";
  return call.tag == 0 ? text : text + fmt::format(" tag {}", call.tag);
}

std::string RecordedCallTexts::arguments(const RecordedStep& step, const Collective& call,
                                         int rank) const {
  switch (call.kind) {
    case OperationKind::send:
    case OperationKind::recv:
      return message(step, call, rank);
    case OperationKind::create_gang:
    case OperationKind::split:
    case OperationKind::shrink:
    case OperationKind::batch:
      return "barrier";
    default:
      break;
  }
  std::string text(to_string(call.kind));
  if (reduces(call.kind)) text += fmt::format(" {}", to_string(reduction_of(call)));
  if (has_tensor(call.kind)) text += " " + tensor(step, call);
  if (call.kind == OperationKind::broadcast_objects) text += fmt::format(" {}", call.count);
  if (has_root(call.kind) && call.peer > 0) text += fmt::format(" root {}", call.peer);
  return text;
}

}  // namespace gang::harness::program_file
