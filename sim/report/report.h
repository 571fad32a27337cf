// What a run found, as a value, independent of how it is printed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/call_text.h"
#include "gang/duration.h"
#include "gang/enum_names.h"
#include "gang/gang_label.h"
#include "sim/report/certainty.h"
#include "sim/report/left_behind.h"
#include "sim/report/timeline.h"
#include "sim/report/trace.h"
#include "sim/schedule/schedule.h"
#include "sim/text/rank_ranges.h"

namespace gang::sim {

struct CallHistories;
struct FaultPlan;

enum class Outcome : std::uint8_t {
  completed,   // every rank's program returned
  deadlock,    // some rank could never continue
  failed,      // a rank's program ended with an exception
  step_limit,  // stopped after options.step_limit switches
  diverged,    // a replayed schedule does not belong to this run
};

inline constexpr auto outcome_names =
    names_in_order<Outcome>("completed", "deadlock", "failed", "step_limit", "diverged");

std::string_view to_string(Outcome outcome) noexcept;
std::optional<Outcome> parse_outcome(std::string_view text) noexcept;

// The stable identifiers of SEMANTICS: new ones may be added, existing ones are never renamed.
namespace finding_id {
inline constexpr std::string_view participant_missing = "participant_missing";
inline constexpr std::string_view mismatch_operation = "mismatch_operation";
inline constexpr std::string_view mismatch_count = "mismatch_count";
inline constexpr std::string_view mismatch_data_type = "mismatch_data_type";
inline constexpr std::string_view mismatch_reduce_operation = "mismatch_reduce_operation";
inline constexpr std::string_view mismatch_root = "mismatch_root";
inline constexpr std::string_view mismatch_tag = "mismatch_tag";
inline constexpr std::string_view mismatch_label = "mismatch_label";
inline constexpr std::string_view mismatch_blocking = "mismatch_blocking";
inline constexpr std::string_view mismatch_ranks = "mismatch_ranks";
inline constexpr std::string_view mismatch_gang = "mismatch_gang";
inline constexpr std::string_view group_creation_order = "group_creation_order";
inline constexpr std::string_view cross_gang_cycle = "cross_gang_cycle";
inline constexpr std::string_view point_to_point_cycle = "point_to_point_cycle";
inline constexpr std::string_view stream_order_inversion = "stream_order_inversion";
inline constexpr std::string_view device_synchronization = "device_synchronization";
inline constexpr std::string_view blocking_launch = "blocking_launch";
inline constexpr std::string_view one_thread_many_ranks = "one_thread_many_ranks";
inline constexpr std::string_view buffering_hazard = "buffering_hazard";
inline constexpr std::string_view message_race = "message_race";
inline constexpr std::string_view uneven_iterations = "uneven_iterations";
inline constexpr std::string_view blocked_in_other_gang = "blocked_in_other_gang";
inline constexpr std::string_view deadlock = "deadlock";
inline constexpr std::string_view unwaited_work = "unwaited_work";
inline constexpr std::string_view unreceived_message = "unreceived_message";
inline constexpr std::string_view gang_not_closed = "gang_not_closed";
inline constexpr std::string_view buffer_in_flight = "buffer_in_flight";
inline constexpr std::string_view use_after_close = "use_after_close";
inline constexpr std::string_view concurrent_use = "concurrent_use";
inline constexpr std::string_view rank_failed = "rank_failed";
inline constexpr std::string_view wrong_result = "wrong_result";
inline constexpr std::string_view timed_out = "timed_out";
inline constexpr std::string_view nondeterminism = "nondeterminism";
inline constexpr std::string_view store_key_missing = "store_key_missing";
}  // namespace finding_id

// What a set of ranks did: a call, or the reason for none.
struct CallSummary {
  std::vector<int> ranks;   // of the root gang, ascending
  GangLabel gang;           // empty if there is none
  CallText call;            // empty: no call
  SourceLocation location;  // of the call, or of the last call if there is none; may be empty
  std::string note;  // "returned", "ended with an exception: ...", "blocked in ..."; or empty

  friend bool operator==(const CallSummary&, const CallSummary&) = default;
};

// Where the members of a gang diverge: their last common call, and what each did next.
struct Divergence {
  // The operation since which members have matched calls from different places in the program, as
  // they do after one has skipped a call: one entry for each place, ordered as `next`. Empty where
  // the last common call has one place, or all have been so from the first one on.
  std::vector<CallSummary> parted;
  CallSummary last_common;        // its call is empty if there is none
  std::vector<CallSummary> next;  // two or more, most ranks first, ties by first rank

  friend bool operator==(const Divergence&, const Divergence&) = default;
};

// Two pending calls that would match if one field were equal; or, with `place_field`, two calls
// that matched from different places in the program.
struct NearMiss {
  CallSummary first;
  CallSummary second;
  std::string field;  // "tag", "root", "number of elements", "gang", ...

  friend bool operator==(const NearMiss&, const NearMiss&) = default;
};

// Two collectives of a gang that some members called the other way round than the rest. They
// matched, since they differ only in their places, and mixed data that does not belong together.
struct CrossedCalls {
  CallSummary most;    // the first of the two, where most members called it
  CallSummary others;  // the same, where the others did: at the place of the second one of `most`
  std::uint64_t second = 0;  // the sequence number of the second

  friend bool operator==(const CrossedCalls&, const CrossedCalls&) = default;
};

inline constexpr std::string_view place_field = "call site";

// One root cause. Consequences are listed inside it, not beside it.
struct Finding {
  std::string id;                         // a finding_id
  std::vector<int> ranks;                 // the odd ones, of the root gang, ascending
  GangLabel gang;                         // empty if there is none
  CallText call;                          // empty if there is none
  std::string message;                    // one sentence for people
  std::string detail;                     // further sentences; may be empty
  SourceLocation location;                // empty if unknown
  std::vector<std::string> consequences;  // "rank 3 failed: ...", few
  std::optional<Divergence> divergence;   // where members of one gang part
  std::vector<NearMiss> near_misses;      // at a deadlock, few
  std::optional<Certainty> certainty;     // in which runs it happens; absent: not analysed

  friend bool operator==(const Finding&, const Finding&) = default;
};

// The call at the head of a stream, ahead of those queued on it.
struct QueuedBehind {
  GangLabel gang;
  CallText call;
  SourceLocation location;

  friend auto operator<=>(const QueuedBehind&, const QueuedBehind&) = default;
};

// A context that could never continue.
struct BlockedCall {
  int rank = 0;         // of the root gang
  std::string context;  // "" for the rank's program, else the name of its extra context
  GangLabel gang;       // empty for mutexes, joins, sleeps
  CallText call;        // for those, only the kind, "join of loader"
  SourceLocation location;
  std::vector<int> waits_for;  // root ranks, at most 16 kept, ascending
  std::uint64_t waits_for_count = 0;
  bool waits_for_any = false;  // one of them suffices: a receive from any source, wait_any
  std::uint64_t would_time_out_after_ns = 0;  // 0: never
  bool is_core = true;                 // part of the cause; the others only wait for such calls
  std::optional<QueuedBehind> behind;  // where it is queued on its rank's stream
  // Innermost first; functions without their parameters. With options.call_stacks, for one context
  // of each group in the same call; without source lines if the binary has none.
  std::vector<SourceLocation> call_stack;

  friend auto operator<=>(const BlockedCall&, const BlockedCall&) = default;
};

struct Counts {
  std::uint64_t rank_operations = 0;       // operations called, over all ranks
  std::uint64_t completed_operations = 0;  // collectives and messages that completed
  std::uint64_t switches = 0;              // of contexts
  std::uint64_t choices = 0;               // scheduling points with two or more runnable contexts
  std::uint64_t gangs = 0;                 // gangs created, including the root

  friend bool operator==(const Counts&, const Counts&) = default;
};

// A fault of the plan that has happened.
struct FiredFault {
  std::size_t fault = 0;    // its index in the plan
  int rank = 0;             // where it happened, of the root gang
  std::uint64_t count = 1;  // occurrences; a repeated fault is described once and counted
  Duration time{0};         // virtual, of the first
  std::string description;  // "rank 3 crashed before all_reduce #4 on dp[0,2]"
  std::string place;        // "before all_reduce #4 on dp[0,2]"; empty for faults of links
  // Of a rank that died inside an operation which completed all the same: its other members, who
  // may have got the error instead of the result.
  std::vector<int> witnesses = {};

  friend bool operator==(const FiredFault&, const FiredFault&) = default;
};

// The result of Simulation::run. Everything except `wall_time` is a function of program, options
// and seed (except under ContextKind::parallel).
struct Report {
  Outcome outcome = Outcome::completed;
  std::vector<Finding> findings;
  std::vector<Finding> handled;             // what would be findings if the program had not
                                            // handled the errors
  std::vector<CrossedCalls> crossed_calls;  // few; no findings: a program may mean it
  std::vector<BlockedCall> blocked;         // at a deadlock: all, by rank
  std::optional<Certainty> certainty;       // Outcome::deadlock: of its first cause
  Schedules schedules = Schedules::every;   // in which ones all this happens; not in JSON
  std::optional<Unguided> unguided;         // the first; none: a Guide is told of all; not in JSON
  std::string divergence;                   // Outcome::diverged: step, expected, found
  Schedule schedule;                        // if recorded
  Trace trace;
  Timeline timeline;                               // if recorded
  std::shared_ptr<const CallHistories> histories;  // with the timeline, else null; not in JSON
  Counts counts;
  std::vector<LeftBehind> left_behind;  // contexts that leak, by rank
  Duration virtual_time{0};
  std::shared_ptr<const FaultPlan> fault_plan;  // null: none
  std::vector<FiredFault> faults;               // faults of the plan that happened, in its order
  Duration wall_time{0};                        // from the creation of the ranks to this report

  // Completed without any finding.
  bool holds() const noexcept { return outcome == Outcome::completed && findings.empty(); }
};

// "reduce_gradients at train.cc:41", an entry of a call stack.
std::string frame_text(const SourceLocation& frame);

// The sentences of a finding, the first one first.
std::string full_message(const Finding& finding);

// The report's certainty, else that of its first finding, else null.
const Certainty* certainty_of(const Report& report) noexcept;

// Explorations have shown that no choice of the run is contested: what is in the report happens in
// every schedule.
void note_uncontested(Report& report) noexcept;

// An exploration has seen that a schedule which decides a contested choice in the other way holds.
void note_avoided(Report& report) noexcept;

// Advice on what to change, by finding id; empty if no general advice holds.
std::string_view fix_for(std::string_view finding_id) noexcept;

// 80 columns; ranks in the same call share a line ("ranks 0-6").
std::string to_string(const Report& report);
std::string to_string(const Finding& finding);

}  // namespace gang::sim
