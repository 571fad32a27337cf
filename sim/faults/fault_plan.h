// What is to go wrong in a run, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"
#include "gang/error.h"
#include "gang/operation_kind.h"

namespace gang::sim {

enum class FaultKind : std::uint8_t {
  // Of ranks.
  crash,           // the process is gone; `notice`: when its peers learn of it, if ever
  exception,       // an exception leaves the program
  exit,            // the process ends in order, early; `notice` as of a crash
  stall,           // does nothing `for` so long, or for ever; nobody learns of it
  slow,            // each operation begins `delay` later, and sleeps take `factor` times as long
  late_start,      // the program begins `delay` later
  restart,         // a crash; `delay` later the program begins anew as another incarnation
  watchdog_abort,  // the rank aborts the gang of the operation
  corrupt_contribution,  // what the rank brings is not what it computed; nobody is told
  corrupt_result,        // what the rank gets is not what the others get; nobody is told
  // What the rank brings to an operation that it has started is read `delay` later, from its memory
  // as it is then. The operation has not completed before: whoever waits for it meets a slow rank.
  late_copy,
  // Of ranks, where they share a store: processes, not simulated gangs.
  store_unavailable,  // what it asks the store, `for` so long or for ever, is not answered
  slow_store,         // each answer of the store comes `delay` later
  lossy_store,        // what it asks the store is lost, or the answer is
  // Of links: messages from `ranks` to `to`, and back unless `one_way`.
  slow_link,          // each message, and each collective across it, takes `delay` longer
  partition,          // nothing gets through, `for` so long or for ever
  drop_message,       // a message is lost
  delay_message,      // a message takes `delay` longer
  duplicate_message,  // a message comes twice       } of backends that pass messages
  reorder_messages,   // a message overtakes another } (sim-gloo), not of sim
  corrupt_message,    // a message is changed on its way
};

// In the order of FaultKind.
const std::vector<FaultKind>& all_fault_kinds();
std::string_view to_string(FaultKind kind) noexcept;  // the enumerator's own name
std::optional<FaultKind> parse_fault_kind(std::string_view text) noexcept;

constexpr bool is_of_link(FaultKind kind) noexcept { return kind >= FaultKind::slow_link; }

// Of what a rank asks of a store, instead of operations: a trigger counts requests.
constexpr bool is_of_store(FaultKind kind) noexcept {
  return kind >= FaultKind::store_unavailable && kind <= FaultKind::lossy_store;
}

// Whether the rank does nothing more afterwards.
constexpr bool ends_rank(FaultKind kind) noexcept {
  return kind <= FaultKind::exit || kind == FaultKind::restart;
}

// When, as seen from an operation: before it is called; while it waits for others, having brought
// what it brings; once it has ended.
enum class FaultMoment : std::uint8_t { before, inside, after, any };

enum class Corruption : std::uint8_t { bit_flip, nan };

// A value that is drawn between two, both included; fixed where they are equal.
template <typename T>
struct Between {
  T least{};
  T most{};

  Between() = default;
  Between(T value) : least(value), most(value) {}  // NOLINT(google-explicit-constructor)
  Between(T from, T to) : least(from), most(to) {}

  bool is_fixed() const noexcept { return least == most; }
  friend bool operator==(const Between&, const Between&) = default;
};

// When a fault happens: at one of `operation`, `message` and `time`, or at each occasion with a
// `probability`; with none of them at the first operation that fits, and of links always.
struct FaultTrigger {
  // The how-manieth operation of the rank, from 0, of those that fit `during` and `gang`.
  std::optional<Between<std::uint64_t>> operation = {};
  FaultMoment moment = FaultMoment::before;            // of operation or probability
  std::optional<Between<std::uint64_t>> message = {};  // the how-manieth of the link, from 0
  std::optional<Between<Duration>> time = {};          // of the virtual clock
  std::optional<double> probability = {};              // of each operation or message
  std::optional<OperationKind> during = {};            // only operations of that kind
  std::string gang = {};                               // only of gangs of that name
  // Only while that rank waits in an operation that fits `during` and `gang`, which then are its.
  std::optional<int> while_rank = {};

  friend bool operator==(const FaultTrigger&, const FaultTrigger&) = default;
};

struct Fault {
  FaultKind kind = FaultKind::crash;

  // Whom it befalls: ranks of the root gang, nodes (blocks of ranks), and so many drawn ones, each
  // by itself. Without any: one drawn rank.
  std::vector<int> ranks = {};
  std::vector<int> nodes = {};
  int random_ranks = 0;
  int random_nodes = 0;
  std::vector<int> to = {};  // links: the other ends; without any: everyone else
  bool one_way = false;      // links: only from `ranks` to `to`

  double chance = 1;  // that it is in a run at all, where all faults of the plan are
  double weight = 1;  // relative, where faults are picked

  FaultTrigger trigger = {};
  std::optional<Between<Duration>> lasts = {};   // "for"; none: for ever
  std::optional<Between<Duration>> delay = {};   // see FaultKind
  std::optional<Between<Duration>> notice = {};  // none: peers never learn of it
  double factor = 1;                             // slow: of sleeps, at least 1
  Corruption corruption = Corruption::bit_flip;

  friend bool operator==(const Fault&, const Fault&) = default;
};

// Which faults of a plan a run gets.
enum class FaultSelection : std::uint8_t {
  all,     // each with its chance
  picked,  // a number around `mean` of them (Poisson), by weight; one may be picked twice
  swarm,   // the same, of the faults of a random half of the kinds
};

// A plan: what may go wrong. `draw` makes one for a run of it, in which everything is fixed.
struct FaultPlan {
  std::string name = {};  // "production", "plan.toml"; for people
  std::vector<Fault> faults = {};
  FaultSelection selection = FaultSelection::all;
  double mean = 1;         // of picked and swarm
  int ranks_per_node = 8;  // nodes are blocks of so many ranks

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

// What is wrong with a plan, and where: `key` of fault number `fault` (from 0), or of the plan.
// what() is "fault 2: rank 9 is absent: world is 8 (0 ... 7)", counting from 1.
class FaultPlanError : public InvalidArgument {
 public:
  static constexpr std::size_t no_fault = ~std::size_t{0};
  FaultPlanError(std::size_t fault, std::string key, const std::string& message);

  std::size_t fault() const noexcept { return fault_; }
  const std::string& key() const noexcept { return key_; }

 private:
  std::size_t fault_;
  std::string key_;
};

// Throws FaultPlanError for values out of range and relations that cannot be: negative times,
// chances and probabilities outside [0, 1], two triggers, a key that the kind does not have.
void validate(const FaultPlan& plan);

// The same, and ranks and nodes that are absent from such a world.
void validate(const FaultPlan& plan, int world_size);

// The plan of one run: validated, selected and fixed; a function of plan, seed and world size.
FaultPlan draw(const FaultPlan& plan, std::uint64_t seed, int world_size);

// Throws FaultPlanError for a plan in which something is still to be drawn.
void check_drawn(const FaultPlan& plan);

// none, light, swarm, production, byzantine.
const std::vector<std::string>& fault_preset_names();

// The preset of that name. Throws InvalidArgument listing the names.
FaultPlan fault_preset(std::string_view name);

// "crash of rank 3 before operation 4 of rank", "slow_link 0 -> 1, 10 ms": a line for people.
std::string to_string(const Fault& fault);

// {"ranks_per_node": 8, "fault": [{"kind": "crash", "ranks": [3], "operation": 4}]}: what differs
// from the defaults. Durations are nanoseconds; a Between is a number or [least, most].
nlohmann::json to_json(const FaultPlan& plan);
// Back, validated. Throws FaultPlanError.
FaultPlan fault_plan_from_json(const nlohmann::json& json);

}  // namespace gang::sim
