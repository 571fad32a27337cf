#include "sim/schedule/context_name.h"

#include <fmt/format.h>

namespace gang::sim {
namespace {

TaskId ancestor_of(const StepLog& log, TaskId task) {
  while (log.parents[task] != no_task) task = log.parents[task];
  return task;
}

}  // namespace

ContextName context_name(const StepLog& log, TaskId task) {
  const TaskId rank = ancestor_of(log, task);
  ContextName name{.rank = static_cast<int>(rank), .name = log.names[task]};
  if (name.name.empty()) return name;
  for (TaskId other = 0; other < task; ++other)
    if (log.names[other] == name.name && ancestor_of(log, other) == rank) ++name.number;
  return name;
}

std::string to_string(const ContextName& name) {
  if (name.name.empty()) return std::to_string(name.rank);
  return name.number == 1 ? fmt::format("{}/{}", name.rank, name.name)
                          : fmt::format("{}/{} {}", name.rank, name.name, name.number);
}

}  // namespace gang::sim
