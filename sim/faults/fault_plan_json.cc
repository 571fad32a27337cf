// A plan as JSON, and back. Files in TOML are read through it, too.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "sim/faults/fault_plan.h"

namespace gang::sim {
namespace {

using nlohmann::json;

constexpr std::array moments = {"before", "inside", "after", "any"};
constexpr std::array corruptions = {"bit_flip", "nan"};
constexpr std::array selections = {"all", "picked", "swarm"};

template <typename T>
json between_to_json(const Between<T>& range, const std::function<json(T)>& write) {
  if (range.is_fixed()) return write(range.least);
  return json::array({write(range.least), write(range.most)});
}

void put(json& to, const char* key, const std::optional<Between<std::uint64_t>>& range) {
  if (range) to[key] = between_to_json<std::uint64_t>(*range, [](auto n) { return json(n); });
}

void put(json& to, const char* key, const std::optional<Between<Duration>>& range) {
  if (range) to[key] = between_to_json<Duration>(*range, [](auto t) { return json(t.count()); });
}

template <typename T>
void put_unless(json& to, const char* key, const T& value, const T& otherwise) {
  if (value != otherwise) to[key] = value;
}

void put_list(json& to, const char* key, const std::vector<int>& list) {
  if (!list.empty()) to[key] = list;
}

template <typename T, std::size_t count>
void put_name(json& to, const char* key, T value, T otherwise,
              const std::array<const char*, count>& names) {
  if (value != otherwise) to[key] = names[static_cast<std::size_t>(value)];
}

json fault_to_json(const Fault& fault) {
  const Fault defaults;
  json to = {{"kind", to_string(fault.kind)}};
  put_list(to, "ranks", fault.ranks);
  put_list(to, "nodes", fault.nodes);
  put_unless(to, "random_ranks", fault.random_ranks, 0);
  put_unless(to, "random_nodes", fault.random_nodes, 0);
  put_list(to, "to", fault.to);
  put_unless(to, "one_way", fault.one_way, false);
  put_unless(to, "chance", fault.chance, 1.0);
  put_unless(to, "weight", fault.weight, 1.0);
  const FaultTrigger& trigger = fault.trigger;
  put(to, "operation", trigger.operation);
  put_name(to, "moment", trigger.moment, defaults.trigger.moment, moments);
  put(to, "message", trigger.message);
  put(to, "time", trigger.time);
  if (trigger.probability) to["probability"] = *trigger.probability;
  if (trigger.during) to["during"] = gang::to_string(*trigger.during);
  put_unless(to, "gang", trigger.gang, {});
  if (trigger.while_rank) to["while_rank"] = *trigger.while_rank;
  put(to, "for", fault.lasts);
  put(to, "delay", fault.delay);
  put(to, "notice", fault.notice);
  put_unless(to, "factor", fault.factor, 1.0);
  put_name(to, "corruption", fault.corruption, defaults.corruption, corruptions);
  return to;
}

// Takes the fields of one object; what it does not know is an error, as is what it cannot read.
class Fields {
 public:
  Fields(const json& from, std::size_t fault) : from_(from), fault_(fault) {
    if (!from.is_object())
      fail("", fmt::format("a table was expected; found is {}", from.type_name()));
  }

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw FaultPlanError(fault_, key, message);
  }

  void read(const char* key, std::optional<Between<std::uint64_t>>& to) {
    if (const json* value = find(key))
      to = between<std::uint64_t>(
          key, *value, [](const json& v) { return v.is_number_unsigned(); },
          "a whole number, 0 and more, or [least, most]");
  }

  void read(const char* key, std::optional<Between<Duration>>& to) {
    const json* value = find(key);
    if (value == nullptr) return;
    const auto range = between<std::int64_t>(
        key, *value, [](const json& v) { return v.is_number_integer(); },
        "a duration, or [least, most]");
    to = Between<Duration>(Duration(range.least), Duration(range.most));
  }

  void read(const char* key, std::vector<int>& to) {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_array())
      fail(key, fmt::format("{} is {}; accepted: a list of numbers", key, value->dump()));
    for (const json& entry : *value) to.push_back(whole(key, entry));
  }

  void read(const char* key, int& to) {
    if (const json* value = find(key)) to = whole(key, *value);
  }

  void read(const char* key, std::optional<int>& to) {
    if (const json* value = find(key)) to = whole(key, *value);
  }

  void read(const char* key, double& to) {
    if (const json* value = find(key)) to = number(key, *value);
  }

  void read(const char* key, std::optional<double>& to) {
    if (const json* value = find(key)) to = number(key, *value);
  }

  void read(const char* key, bool& to) {
    const json* value = find(key);
    if (value == nullptr) return;
    if (!value->is_boolean())
      fail(key, fmt::format("{} is {}; accepted: true, false", key, value->dump()));
    to = value->get<bool>();
  }

  void read(const char* key, std::string& to) {
    if (const json* value = find(key)) to = text(key, *value);
  }

  template <typename T, std::size_t count>
  void read_name(const char* key, T& to, const std::array<const char*, count>& names) {
    const json* value = find(key);
    if (value == nullptr) return;
    const std::string name = text(key, *value);
    for (std::size_t i = 0; i < count; ++i)
      if (name == names[i]) return void(to = static_cast<T>(i));
    fail(key, fmt::format("{} is '{}'; accepted: {}", key, name, fmt::join(names, ", ")));
  }

  const json* find(const char* key) {
    known_.emplace_back(key);
    const auto place = from_.find(key);
    return place == from_.end() ? nullptr : &*place;
  }

  std::string text(const char* key, const json& value) const {
    if (!value.is_string()) fail(key, fmt::format("{} is {}; accepted: a text", key, value.dump()));
    return value.get<std::string>();
  }

  // Every field has been read.
  void check_all_known() const {
    for (const auto& [key, value] : from_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        fail(key, fmt::format("key '{}' is unknown; accepted: {}", key, fmt::join(known_, ", ")));
  }

 private:
  template <typename T, typename Fits>
  Between<T> between(const char* key, const json& value, Fits fits, const char* accepted) const {
    if (fits(value)) return Between<T>(value.get<T>());
    if (value.is_array() && value.size() == 2 && fits(value[0]) && fits(value[1]))
      return Between<T>(value[0].get<T>(), value[1].get<T>());
    fail(key, fmt::format("{} is {}; accepted: {}", key, value.dump(), accepted));
  }

  int whole(const char* key, const json& value) const {
    if (!value.is_number_integer() || value.get<std::int64_t>() > 1'000'000'000 ||
        value.get<std::int64_t>() < -1'000'000'000)
      fail(key, fmt::format("{} is {}; accepted: a whole number", key, value.dump()));
    return value.get<int>();
  }

  double number(const char* key, const json& value) const {
    if (!value.is_number())
      fail(key, fmt::format("{} is {}; accepted: a number", key, value.dump()));
    return value.get<double>();
  }

  const json& from_;
  std::size_t fault_;
  std::vector<std::string> known_;
};

void read_trigger(Fields& fields, FaultTrigger& trigger) {
  fields.read("operation", trigger.operation);
  fields.read_name("moment", trigger.moment, moments);
  fields.read("message", trigger.message);
  fields.read("time", trigger.time);
  fields.read("probability", trigger.probability);
  if (const json* value = fields.find("during")) {
    const std::string name = fields.text("during", *value);
    trigger.during = parse_operation_kind(name);
    if (!trigger.during) {
      std::vector<std::string_view> names;
      for (const OperationKind kind : all_operation_kinds) names.push_back(gang::to_string(kind));
      fields.fail("during",
                  fmt::format("during is '{}'; accepted: {}", name, fmt::join(names, ", ")));
    }
  }
  fields.read("gang", trigger.gang);
  fields.read("while_rank", trigger.while_rank);
}

Fault fault_from_json(const json& from, std::size_t index) {
  Fields fields(from, index);
  Fault fault;
  const json* kind = fields.find("kind");
  if (kind == nullptr) fields.fail("", "kind is missing");
  const std::string name = fields.text("kind", *kind);
  const std::optional<FaultKind> known = parse_fault_kind(name);
  if (!known) {
    std::vector<std::string_view> names;
    for (const FaultKind each : all_fault_kinds()) names.push_back(to_string(each));
    fields.fail("kind",
                fmt::format("kind '{}' is unknown; accepted: {}", name, fmt::join(names, ", ")));
  }
  fault.kind = *known;
  fields.read("ranks", fault.ranks);
  fields.read("nodes", fault.nodes);
  fields.read("random_ranks", fault.random_ranks);
  fields.read("random_nodes", fault.random_nodes);
  fields.read("to", fault.to);
  fields.read("one_way", fault.one_way);
  fields.read("chance", fault.chance);
  fields.read("weight", fault.weight);
  read_trigger(fields, fault.trigger);
  fields.read("for", fault.lasts);
  fields.read("delay", fault.delay);
  fields.read("notice", fault.notice);
  fields.read("factor", fault.factor);
  fields.read_name("corruption", fault.corruption, corruptions);
  fields.check_all_known();
  return fault;
}

}  // namespace

json to_json(const FaultPlan& plan) {
  const FaultPlan defaults;
  json to = json::object();
  put_unless(to, "name", plan.name, {});
  put_name(to, "selection", plan.selection, defaults.selection, selections);
  put_unless(to, "mean", plan.mean, defaults.mean);
  put_unless(to, "ranks_per_node", plan.ranks_per_node, defaults.ranks_per_node);
  to["fault"] = json::array();
  for (const Fault& fault : plan.faults) to["fault"].push_back(fault_to_json(fault));
  return to;
}

FaultPlan fault_plan_from_json(const json& from) {
  Fields fields(from, FaultPlanError::no_fault);
  FaultPlan plan;
  fields.read("name", plan.name);
  fields.read_name("selection", plan.selection, selections);
  fields.read("mean", plan.mean);
  fields.read("ranks_per_node", plan.ranks_per_node);
  if (const json* faults = fields.find("fault")) {
    if (!faults->is_array()) fields.fail("fault", "fault is no list; accepted: [[fault]] tables");
    for (std::size_t i = 0; i < faults->size(); ++i)
      plan.faults.push_back(fault_from_json((*faults)[i], i));
  }
  fields.check_all_known();
  validate(plan);
  return plan;
}

}  // namespace gang::sim
