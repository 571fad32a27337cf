#include "harness/run/outputs_by_messages.h"

#include <algorithm>
#include <utility>

namespace gang::harness {

bool OutputsByMessages::note(std::uint64_t index, std::uint64_t digest, const sim::StepLog& log) {
  constexpr std::size_t most_kept = 32;
  const auto known = held_.find(digest);
  if (known != held_.end() && index > known->second.index) return false;
  held_.insert_or_assign(digest, Held{index, sim::taken_messages(log)});
  if (held_.size() <= most_kept) return true;
  const auto last =
      std::ranges::max_element(held_, {}, [](const auto& entry) { return entry.second.index; });
  const bool is_kept = last->second.index != index;
  held_.erase(last);
  return is_kept;
}

std::optional<OutputsByMessages::Race> OutputsByMessages::race() const {
  if (held_.size() < 2) return std::nullopt;
  std::vector<const Held*> held;
  for (const auto& [digest, run] : held_) held.push_back(&run);
  std::ranges::sort(held, {}, &Held::index);
  for (const Held* other : held)
    if (auto contest = sim::taken_otherwise(held.front()->taken, other->taken))
      return Race{held.front()->index, other->index, *std::move(contest)};
  return std::nullopt;
}

}  // namespace gang::harness
