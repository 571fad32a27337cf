// Plans in TOML are converted to JSON first.
#include "sim/faults/fault_plan_json.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace gang::sim {
namespace {

using nlohmann::json;

constexpr auto corruption_names = names_in_order<Corruption>("bit_flip", "nan");

const auto& names_of(FaultKind) { return fault_kind_names; }
const auto& names_of(FaultMoment) { return fault_moment_names; }
const auto& names_of(FaultSelection) { return fault_selection_names; }
const auto& names_of(Corruption) { return corruption_names; }
const auto& names_of(OperationKind) {
  static const auto names = [] {
    std::array<EnumName<OperationKind>, all_operation_kinds.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = {all_operation_kinds[i], gang::to_string(all_operation_kinds[i])};
    return all;
  }();
  return names;
}

// Visits the fields of a fault except its kind, for writing and for reading.
template <typename Visit, typename AnyFault>
void visit_fields(Visit& visit, AnyFault& fault) {
  static const Fault defaults;
  visit("ranks", fault.ranks, defaults.ranks);
  visit("nodes", fault.nodes, defaults.nodes);
  visit("random_ranks", fault.random_ranks, defaults.random_ranks);
  visit("random_nodes", fault.random_nodes, defaults.random_nodes);
  visit("to", fault.to, defaults.to);
  visit("one_way", fault.one_way, defaults.one_way);
  visit("chance", fault.chance, defaults.chance);
  visit("weight", fault.weight, defaults.weight);
  visit("operation", fault.trigger.operation, defaults.trigger.operation);
  visit("moment", fault.trigger.moment, defaults.trigger.moment);
  visit("message", fault.trigger.message, defaults.trigger.message);
  visit("time", fault.trigger.time, defaults.trigger.time);
  visit("probability", fault.trigger.probability, defaults.trigger.probability);
  visit("during", fault.trigger.during, defaults.trigger.during);
  visit("gang", fault.trigger.gang, defaults.trigger.gang);
  visit("while_rank", fault.trigger.while_rank, defaults.trigger.while_rank);
  visit("for", fault.lasts, defaults.lasts);
  visit("delay", fault.delay, defaults.delay);
  visit("notice", fault.notice, defaults.notice);
  visit("factor", fault.factor, defaults.factor);
  visit("corruption", fault.corruption, defaults.corruption);
  visit("error_at", fault.error_at, defaults.error_at);
}

// Visits the fields of a plan except its faults.
template <typename Visit, typename AnyPlan>
void visit_fields_of_plan(Visit& visit, AnyPlan& plan) {
  static const FaultPlan defaults;
  visit("name", plan.name, defaults.name);
  visit("selection", plan.selection, defaults.selection);
  visit("mean", plan.mean, defaults.mean);
  visit("ranks_per_node", plan.ranks_per_node, defaults.ranks_per_node);
}

// Writes the fields that differ from the defaults.
class Writer {
 public:
  explicit Writer(json& to) : to_(to) {}

  template <typename T>
  void operator()(const char* key, const T& value, const T& otherwise) {
    if (!(value == otherwise)) to_[key] = written(value);
  }

 private:
  template <typename T>
  static json written(const T& value) {
    if constexpr (std::is_enum_v<T>)
      return name_of(names_of(value), value);
    else
      return value;
  }
  static json written(Duration duration) { return duration.count(); }
  template <typename T>
  static json written(const Between<T>& range) {
    if (range.is_fixed()) return written(range.least);
    return json::array({written(range.least), written(range.most)});
  }
  template <typename T>
  static json written(const std::optional<T>& value) {
    return written(*value);
  }

  json& to_;
};

// Reads the fields of one object. An unknown field is an error, and so is an unreadable one.
class Reader {
 public:
  Reader(const json& from, const FaultPlan& plan, std::size_t fault)
      : from_(from), plan_(plan), fault_(fault) {
    if (!from.is_object()) fail("", fmt::format("expected a table, found {}", from.type_name()));
  }

  template <typename T>
  void operator()(const char* key, T& to, const T&) {
    if (const json* value = find(key)) read(key, *value, to);
  }

  const json* find(const char* key) {
    known_.emplace_back(key);
    const auto place = from_.find(key);
    return place == from_.end() ? nullptr : &*place;
  }

  template <typename T>
  void read(const char* key, const json& value, T& to) const {
    if constexpr (std::is_enum_v<T>) {
      const auto named = value.is_string()
                             ? parse_name(names_of(to), value.get_ref<const std::string&>())
                             : std::nullopt;
      if (!named) reject(key, value, "one of: " + list_names(names_of(to)));
      to = *named;
    } else if constexpr (std::is_same_v<T, bool>) {
      to = checked<T>(key, value, value.is_boolean(), "true or false");
    } else if constexpr (std::is_same_v<T, std::string>) {
      to = checked<T>(key, value, value.is_string(), "a string");
    } else if constexpr (std::is_same_v<T, double>) {
      to = checked<T>(key, value, value.is_number(), "a number");
    } else {
      constexpr std::int64_t most = 1'000'000'000;
      const bool fits = value.is_number_integer() && value.get<std::int64_t>() <= most &&
                        value.get<std::int64_t>() >= -most;
      to = checked<T>(key, value, fits, "a whole number");
    }
  }

  // Fails if a field has not been read.
  void check_all_known() const {
    for (const auto& [key, value] : from_.items())
      if (std::ranges::find(known_, key) == known_.end())
        fail(key,
             fmt::format("key '{}' is unknown; must be one of: {}", key, fmt::join(known_, ", ")));
  }

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw FaultPlanError(fault_, key, message, plan_);
  }

 private:
  template <typename T>
  void read(const char* key, const json& value, std::optional<T>& to) const {
    read(key, value, to.emplace());
  }

  void read(const char* key, const json& value, std::vector<int>& to) const {
    if (!value.is_array()) reject(key, value, "a list of numbers");
    for (const json& entry : value) read(key, entry, to.emplace_back());
  }

  void read(const char* key, const json& value, Between<std::uint64_t>& to) const {
    to = between<std::uint64_t>(
        key, value, [](const json& v) { return v.is_number_unsigned(); },
        "a whole number, 0 or more, or [least, most]");
  }

  void read(const char* key, const json& value, Between<Duration>& to) const {
    const auto range = between<std::int64_t>(
        key, value, [](const json& v) { return v.is_number_integer(); },
        "a duration, or [least, most]");
    to = {Duration(range.least), Duration(range.most)};
  }

  template <typename T, typename Fits>
  Between<T> between(const char* key, const json& value, Fits fits, const char* accepted) const {
    if (fits(value)) return Between<T>(value.get<T>());
    if (value.is_array() && value.size() == 2 && fits(value[0]) && fits(value[1]))
      return Between<T>(value[0].get<T>(), value[1].get<T>());
    reject(key, value, accepted);
  }

  template <typename T>
  T checked(const char* key, const json& value, bool fits, const std::string& accepted) const {
    if (!fits) reject(key, value, accepted);
    return value.get<T>();
  }

  [[noreturn]] void reject(const char* key, const json& value, const std::string& accepted) const {
    fail(key, fmt::format("{} is {}; must be {}", key, value.dump(), accepted));
  }

  const json& from_;
  const FaultPlan& plan_;
  std::size_t fault_;
  std::vector<std::string> known_;
};

void read_fault(const json& from, FaultPlan& plan, std::size_t index) {
  Reader reader(from, plan, index);
  const json* kind = reader.find("kind");
  if (kind == nullptr) reader.fail("", "kind is missing");
  reader.read("kind", *kind, plan.faults[index].kind);
  visit_fields(reader, plan.faults[index]);
  reader.check_all_known();
}

}  // namespace

json to_json(const FaultPlan& plan) {
  json to = {{"fault", json::array()}};
  Writer writer(to);
  visit_fields_of_plan(writer, plan);
  for (const Fault& fault : plan.faults) {
    json& entry = to["fault"].emplace_back(json{{"kind", to_string(fault.kind)}});
    Writer writer_of_fault(entry);
    visit_fields(writer_of_fault, fault);
  }
  return to;
}

FaultPlan fault_plan_from_json(const json& from, FaultPlan written) {
  FaultPlan plan = std::move(written);
  const std::string file = plan.name;
  Reader reader(from, plan, FaultPlanError::no_fault);
  visit_fields_of_plan(reader, plan);
  if (!file.empty()) plan.name = file;
  if (const json* faults = reader.find("fault")) {
    if (!faults->is_array())
      reader.fail("fault",
                  fmt::format("fault: expected [[fault]] tables, found {}", faults->type_name()));
    plan.faults.resize(faults->size());
    for (std::size_t i = 0; i < faults->size(); ++i) read_fault((*faults)[i], plan, i);
  }
  reader.check_all_known();
  validate(plan);
  return plan;
}

}  // namespace gang::sim
