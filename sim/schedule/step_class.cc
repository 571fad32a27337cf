#include "sim/schedule/step_class.h"

#include <map>
#include <vector>

#include "gang/hash.h"

namespace gang::sim {
namespace {

// What contexts did to one object: the writes in their order, and between two of them what looks
// saw of arrivals; the rest in any order.
struct ObjectOrder {
  std::uint64_t order = 0;
  std::uint64_t reads = 0;
  std::uint64_t arrivals = 0;
  std::uint64_t looks = 0;
  std::map<TaskId, std::uint64_t> made;  // accesses, by context

  void add(AccessMode mode, TaskId task, StepKey context) {
    const std::uint64_t which = splitmix64(context, ++made[task]);
    switch (mode) {
      case AccessMode::read:
        reads += mixed(which);
        return;
      case AccessMode::arrive:
        arrivals += mixed(which);
        return;
      case AccessMode::look:
        looks += splitmix64(which, arrivals);
        return;
      case AccessMode::write:
        for (const std::uint64_t part : {reads, arrivals, looks, which})
          order = splitmix64(order, part);
        reads = arrivals = looks = 0;
        return;
    }
  }

  std::uint64_t digest() const {
    std::uint64_t all = order;
    for (const std::uint64_t part : {reads, arrivals, looks}) all = splitmix64(all, part);
    return all;
  }
};

}  // namespace

std::uint64_t class_of(const StepLog& log) { return class_of(log, log.any_receives); }

std::uint64_t class_of(const StepLog& log, const AnyReceives& known) {
  std::map<StepKey, ObjectOrder> objects;
  std::vector<UsedObject> of_access;
  for (const Access& access : log.accesses) {
    of_access.clear();
    add_objects(access, known, of_access);
    for (const auto& [key, mode] : of_access)
      objects[key].add(mode, access.task, log.contexts[access.task]);
  }
  std::uint64_t digest = 0;
  for (const auto& [key, object] : objects) digest = splitmix64(digest, key ^ object.digest());
  return digest;
}

}  // namespace gang::sim
