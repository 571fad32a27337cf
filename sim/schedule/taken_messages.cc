#include "sim/schedule/taken_messages.h"

#include <cstddef>
#include <map>
#include <unordered_map>

namespace gang::sim {
namespace {

std::unordered_map<StepKey, Access> messages_of(const StepLog& log) {
  std::unordered_map<StepKey, Access> sent;
  for (const Access& access : log.accesses)
    if (access.kind == AccessKind::message) sent.try_emplace(access.operation, access);
  return sent;
}

}  // namespace

std::vector<TakenMessage> taken_messages(const StepLog& log) {
  std::vector<TakenMessage> taken;
  if (log.taken.empty()) return taken;
  const std::unordered_map<StepKey, Access> messages = messages_of(log);
  for (const TakenByAny& receive : log.taken)
    if (const auto sent = messages.find(receive.message); sent != messages.end())
      taken.push_back({receive, sent->second, log.names[sent->second.task]});
  return taken;
}

std::optional<Contest> taken_otherwise(std::span<const TakenMessage> one,
                                       std::span<const TakenMessage> other) {
  std::map<int, std::vector<const TakenMessage*>> of_rank;  // in `other`
  for (const TakenMessage& taken : other) of_rank[taken.receive.rank].push_back(&taken);
  std::map<int, std::size_t> made;
  for (const TakenMessage& taken : one) {
    const std::vector<const TakenMessage*>& others = of_rank[taken.receive.rank];
    const std::size_t number = made[taken.receive.rank]++;
    if (number >= others.size()) continue;
    const TakenMessage& otherwise = *others[number];
    if (otherwise.receive.message == taken.receive.message) continue;
    return Contest{.first = taken.message,
                   .second = otherwise.message,
                   .first_context = taken.sender,
                   .second_context = otherwise.sender,
                   .receive = taken.receive};
  }
  return std::nullopt;
}

}  // namespace gang::sim
