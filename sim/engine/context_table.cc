#include "sim/engine/context_table.h"

#include <algorithm>
#include <utility>

namespace gang::sim {

ContextTable::ContextTable(std::span<RankState> ranks)
    : world_size_(ranks.size()), programs_(ranks.size()), left_(ranks.size()) {
  outside_.id = outside_task;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    programs_[i].id = static_cast<TaskId>(i);
    programs_[i].rank = &ranks[i];
    programs_[i].locals = &ranks[i].locals;
  }
}

Task& ContextTable::add(RankState& rank, std::string name, std::function<void()> body) {
  Task& task = *further_.emplace_back(std::make_unique<Task>());
  task.id = static_cast<TaskId>(size() - 1);
  task.rank = &rank;
  task.further = std::make_unique<FurtherContext>();
  task.further->name = std::move(name);
  task.further->body = std::move(body);
  task.locals = &task.further->locals;
  ++left_;
  return task;
}

void ContextTable::for_each(const std::function<void(Task&)>& visit) {
  for (Task& task : programs_) visit(task);
  for (const auto& task : further_) visit(*task);
}

std::vector<const Task*> ContextTable::live() const {
  std::vector<const Task*> live;
  const auto add_live = [&live](const Task& task) {
    if (!task.is_done && !task.is_frozen) live.push_back(&task);
  };
  for (const Task& task : programs_) add_live(task);
  for (const auto& task : further_) add_live(*task);
  std::ranges::stable_sort(live, {}, [](const Task* task) { return task->rank->rank; });
  return live;
}

void ContextTable::release_bodies() noexcept {
  for (const auto& task : further_) task->further->body = nullptr;
}

}  // namespace gang::sim
