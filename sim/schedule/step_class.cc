#include "sim/schedule/step_class.h"

#include <vector>

#include "gang/hash.h"
#include "sim/schedule/key_table.h"

namespace gang::sim {
namespace {

// What contexts did to one object: the writes in their order, and between two of them what looks
// saw of arrivals; the rest in any order.
struct ObjectOrder {
  StepKey object = 0;
  std::uint64_t order = 0;
  std::uint64_t reads = 0;
  std::uint64_t arrivals = 0;
  std::uint64_t looks = 0;

  // `which` names the access among those to the object.
  void add(AccessMode mode, std::uint64_t which) {
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
    std::uint64_t all = splitmix64(object, order);
    for (const std::uint64_t part : {reads, arrivals, looks}) all = splitmix64(all, part);
    return all;
  }
};

// A value for each key, as in a map.
template <typename T>
class Numbered {
 public:
  T& operator[](StepKey key) {
    const std::uint32_t number = numbers_.number_of(key);
    if (number == values_.size()) values_.emplace_back();
    return values_[number];
  }
  const std::vector<T>& all() const noexcept { return values_; }

 private:
  KeyTable numbers_;
  std::vector<T> values_;
};

}  // namespace

std::uint64_t class_of(const StepLog& log) { return class_of(log, log.knowledge); }

std::uint64_t class_of(const StepLog& log, const Knowledge& known) {
  Numbered<ObjectOrder> objects;
  Numbered<std::uint64_t> made;  // accesses of a context to an object
  std::vector<UsedObject> of_access;
  for (const Access& access : log.accesses) {
    of_access.clear();
    add_objects(access, known, of_access);
    const StepKey context = log.contexts[access.task];
    for (const auto& [key, mode] : of_access) {
      ObjectOrder& object = objects[key];
      object.object = key;
      object.add(mode, splitmix64(context, ++made[splitmix64(key, context)]));
    }
  }
  std::uint64_t digest = 0;
  for (const ObjectOrder& object : objects.all()) digest += object.digest();
  return digest;
}

}  // namespace gang::sim
