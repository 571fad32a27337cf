// The faults to inject into a run, as a value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/enum_names.h"
#include "gang/error.h"
#include "gang/operation_kind.h"

namespace gang::sim {

enum class FaultKind : std::uint8_t {
  // Of ranks.
  crash,                 // the process dies; `notice`: when its peers learn of it, if ever
  exception,             // an exception leaves the program
  exit,                  // the process exits early, without an error; `notice` as for a crash
  stall,                 // does nothing `for` this long, or forever; no rank is told
  slow,                  // each operation begins `delay` later; sleeps take `factor` times as long
  late_start,            // the program begins `delay` later
  restart,               // a crash; `delay` later the program begins anew as another incarnation
  watchdog_abort,        // the rank aborts the gang of the operation
  corrupt_contribution,  // the rank contributes other data than it computed; no rank is told
  corrupt_result,        // the rank gets another result than the others; no rank is told
  // The rank's contribution to an operation that it has started is read `delay` later, from its
  // memory as it is then. The operation does not complete before: to its peers the rank is slow.
  late_copy,
  // Of ranks that share a store: processes, not simulated gangs.
  store_unavailable,  // the store does not answer the rank, `for` this long or forever
  slow_store,         // each answer of the store comes `delay` later
  lossy_store,        // a request to the store is lost, or its answer
  // Of links: messages from `ranks` to `to`, and back unless `one_way`.
  slow_link,          // each message, and each collective across it, takes `delay` longer
  partition,          // nothing gets through, `for` this long or forever
  drop_message,       // a message is lost
  delay_message,      // a message takes `delay` longer
  duplicate_message,  // a message arrives twice     } on backends that pass messages
  reorder_messages,   // a message overtakes another } (sim-gloo), not on sim
  corrupt_message,    // a message is changed on its way
};

inline constexpr auto fault_kind_names = names_in_order<FaultKind>(
    "crash", "exception", "exit", "stall", "slow", "late_start", "restart", "watchdog_abort",
    "corrupt_contribution", "corrupt_result", "late_copy", "store_unavailable", "slow_store",
    "lossy_store", "slow_link", "partition", "drop_message", "delay_message", "duplicate_message",
    "reorder_messages", "corrupt_message");
constexpr std::string_view to_string(FaultKind kind) noexcept {
  return name_of(fault_kind_names, kind);
}

constexpr bool is_of_link(FaultKind kind) noexcept { return kind >= FaultKind::slow_link; }

// Of a rank's requests to a store, instead of its operations: a trigger counts requests.
constexpr bool is_of_store(FaultKind kind) noexcept {
  return kind >= FaultKind::store_unavailable && kind <= FaultKind::lossy_store;
}

// Whether the rank is dead afterwards.
constexpr bool ends_rank(FaultKind kind) noexcept {
  return kind <= FaultKind::exit || kind == FaultKind::restart;
}

// When, relative to an operation: before it is called; while it waits for others, having
// contributed; once it has ended.
enum class FaultMoment : std::uint8_t { before, inside, after, any };

inline constexpr auto fault_moment_names =
    names_in_order<FaultMoment>("before", "inside", "after", "any");

enum class Corruption : std::uint8_t { bit_flip, nan };

// A value drawn between two bounds, both inclusive; fixed if they are equal.
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

// When a fault happens: at an `operation`, `message` or `time`, or at each occasion with a
// `probability`. With none of these: at the first matching operation, or, for links, always.
struct FaultTrigger {
  // Index of the operation, from 0, among those of the rank that fit `during` and `gang`.
  std::optional<Between<std::uint64_t>> operation = {};
  FaultMoment moment = FaultMoment::before;            // of operation or probability
  std::optional<Between<std::uint64_t>> message = {};  // index on the link, from 0
  std::optional<Between<Duration>> time = {};          // of the virtual clock
  std::optional<double> probability = {};              // of each operation or message
  std::optional<OperationKind> during = {};            // only operations of that kind
  std::string gang = {};                               // only of gangs of that name
  // Only while this rank waits in an operation that fits `during` and `gang`, which then apply to
  // it.
  std::optional<int> while_rank = {};

  friend bool operator==(const FaultTrigger&, const FaultTrigger&) = default;
};

// Source lines of a table in a file: those of its keys, and of the table itself under "". Not part
// of the value: any two compare equal.
struct SourceLines {
  std::map<std::string, int> by_key = {};

  friend bool operator==(const SourceLines&, const SourceLines&) noexcept { return true; }
};

struct Fault {
  FaultKind kind = FaultKind::crash;

  // The victims: ranks of the root gang, nodes (blocks of ranks), and a number of each to be drawn
  // independently. If all are empty: one drawn rank.
  std::vector<int> ranks = {};
  std::vector<int> nodes = {};
  int random_ranks = 0;
  int random_nodes = 0;
  std::vector<int> to = {};  // links: the other ends; without any: all other ranks
  bool one_way = false;      // links: only from `ranks` to `to`

  double chance = 1;  // of being in a run, for FaultSelection::all
  double weight = 1;  // relative, for the other selections

  FaultTrigger trigger = {};
  std::optional<Between<Duration>> lasts = {};   // "for"; none: forever
  std::optional<Between<Duration>> delay = {};   // see FaultKind
  std::optional<Between<Duration>> notice = {};  // none: peers never learn of it
  double factor = 1;                             // slow: of sleeps, at least 1
  Corruption corruption = Corruption::bit_flip;
  // Of a death inside an operation: the rank has contributed, the operation completes, and these
  // ranks get the error instead of the result. None: whether it has contributed, and who gets the
  // error, is drawn when it happens.
  std::optional<std::vector<int>> error_at = {};
  SourceLines lines = {};

  friend bool operator==(const Fault&, const Fault&) = default;
};

// Which faults of a plan are in a run.
enum class FaultSelection : std::uint8_t {
  all,     // each with its chance
  picked,  // a number around `mean` of them (Poisson), by weight; one may be picked twice
  swarm,   // the same, of the faults of a random half of the kinds
};

inline constexpr auto fault_selection_names =
    names_in_order<FaultSelection>("all", "picked", "swarm");

// A plan of possible faults. `draw` turns it into the plan of one run, with every choice fixed.
struct FaultPlan {
  std::string name = {};  // "production", "plan.toml": a preset, or the file that it was read from
  std::vector<Fault> faults = {};
  FaultSelection selection = FaultSelection::all;
  double mean = 1;         // of picked and swarm
  int ranks_per_node = 8;  // nodes are blocks of this many ranks
  SourceLines lines = {};

  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

// What is wrong with a plan, and where: `key` of fault number `fault` (from 0), or of the plan.
// what() is "fault 2: rank 9 is outside the world; must be 0 to 7", counting from 1; if the plan
// came from a file, with the place before it: "plan.toml:7: ".
class FaultPlanError : public InvalidArgument {
 public:
  static constexpr std::size_t no_fault = ~std::size_t{0};
  FaultPlanError(std::size_t fault, std::string key, const std::string& message,
                 const FaultPlan& plan = {});

  std::size_t fault() const noexcept { return fault_; }
  const std::string& key() const noexcept { return key_; }

 private:
  std::size_t fault_;
  std::string key_;
};

// Throws FaultPlanError for values out of range and impossible relations: negative times, chances
// and probabilities outside [0, 1], two triggers, a key that does not apply to the kind.
void validate(const FaultPlan& plan);

// The same, and for ranks and nodes outside such a world.
void validate(const FaultPlan& plan, int world_size);

// The plan of one run: validated, selected and fixed; a function of plan, seed and world size.
FaultPlan draw(const FaultPlan& plan, std::uint64_t seed, int world_size);

// Throws FaultPlanError if any choice of the plan is not drawn yet.
void check_drawn(const FaultPlan& plan);

// none, one_crash, light, swarm, production, byzantine.
const std::vector<std::string>& fault_preset_names();

// The preset of that name. Throws InvalidArgument listing the names.
FaultPlan fault_preset(std::string_view name);

// "crash of rank 3 before operation 4 of rank", "slow_link 0 -> 1, 10 ms": a line for people.
std::string to_string(const Fault& fault);

}  // namespace gang::sim
