// What a run found, as a value. Printing is a consumer of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gang/duration.h"
#include "sim/report/timeline.h"
#include "sim/report/trace.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

struct FaultPlan;

enum class Outcome : std::uint8_t {
  completed,   // every rank's program returned
  deadlock,    // some rank could never go on
  failed,      // a rank's program ended with an exception
  step_limit,  // stopped after options.step_limit switches
  diverged,    // a replayed schedule does not belong to this run
};

std::string_view to_string(Outcome outcome) noexcept;

// The stable identifiers of SEMANTICS: new ones are added, none is renamed.
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
inline constexpr std::string_view rank_failed = "rank_failed";
inline constexpr std::string_view wrong_result = "wrong_result";
inline constexpr std::string_view timed_out = "timed_out";
inline constexpr std::string_view nondeterminism = "nondeterminism";
}  // namespace finding_id

// What a set of ranks did: a call, or why there was none.
struct CallSummary {
  std::vector<int> ranks;  // of the root gang, ascending
  std::string gang;        // label; empty where none
  std::string operation;   // "all_reduce #3 sum f32[1024]"; empty: no call
  std::string location;    // of the call, or of the last one before there was none; may be empty
  std::string note;        // "returned", "ended with an exception: ...", "blocked in ..."; or empty

  friend bool operator==(const CallSummary&, const CallSummary&) = default;
};

// Where the members of a gang part: the last call that they have in common, and what each did next.
struct Divergence {
  CallSummary last_common;        // operation empty: there is none before
  std::vector<CallSummary> next;  // two or more, the most ranks first; by first rank where equal

  friend bool operator==(const Divergence&, const Divergence&) = default;
};

// Two pending calls that would match if they were equal in one field; or, with `place_field`, two
// that have matched although they stand in different places of the program.
struct NearMiss {
  CallSummary first;
  CallSummary second;
  std::string field;  // "tag", "root", "number of elements", "gang", ...

  friend bool operator==(const NearMiss&, const NearMiss&) = default;
};

inline constexpr std::string_view place_field = "call site";

// One root cause. Consequences are listed inside it, not beside it.
struct Finding {
  std::string id;                         // a finding_id
  std::vector<int> ranks;                 // the odd ones, of the root gang, ascending
  std::string gang;                       // label, "dp[0,2]"; empty where none
  std::string operation;                  // "all_reduce #3 sum f32[1024]"; empty where none
  std::string message;                    // sentences for people
  std::string location;                   // "train.cc:41"; empty where unknown
  std::vector<std::string> consequences;  // "rank 3 failed: ...", few
  std::optional<Divergence> divergence;   // where members of one gang part
  std::vector<NearMiss> near_misses;      // at a deadlock, few
  std::string certainty;                  // in which runs it happens; empty where not analysed

  friend bool operator==(const Finding&, const Finding&) = default;
};

// A context that could never go on.
struct BlockedCall {
  int rank = 0;           // of the root gang
  std::string context;    // "" for the rank's program, else the name of its further context
  std::string gang;       // label; empty for mutexes, joins, sleeps
  std::string operation;  // "all_reduce #0 sum f32[1024]", "join of loader", ...
  std::string location;
  std::vector<int> waits_for;  // root ranks, at most 16 kept, ascending
  std::uint64_t waits_for_count = 0;
  bool waits_for_any = false;  // one of them is enough: a receive from any source, wait_any
  std::uint64_t would_time_out_after_ns = 0;  // 0: never
  bool is_core = true;  // one of the calls of which one must change; else it waits for those
  // Of a call that is queued on its rank's stream: the call ahead of all, which the stream is at,
  // "send f32[4] to rank 1 tag 0", with its gang's label in front. Empty where it is not queued.
  std::string behind;
  std::string behind_location;
  // "reduce_gradients at train.cc:41", innermost first: of one context of each group in the same
  // call, where options.call_stacks; without source lines where the binary has none.
  std::vector<std::string> call_stack;

  friend bool operator==(const BlockedCall&, const BlockedCall&) = default;
};

// A receive from any source that took one message and could perhaps have taken another one, of
// other bytes, size or type. Whether it could, and whether that matters, a run with a ForcedReceive
// tells.
struct RaceCandidate {
  int receiver = 0;                 // root ranks
  std::uint64_t receive_index = 0;  // the how-manieth receive from any source of that rank
  int taken_source = 0;
  int other_source = 0;
  std::string gang;
  std::string operation;  // the receive
  std::string location;
  std::string taken_location;  // the sends
  std::string other_location;

  friend bool operator==(const RaceCandidate&, const RaceCandidate&) = default;
};

struct Counts {
  std::uint64_t rank_operations = 0;       // operations called, summed over ranks
  std::uint64_t completed_operations = 0;  // collectives and messages that completed
  std::uint64_t switches = 0;              // of contexts
  std::uint64_t choices = 0;               // scheduling points with two or more runnable contexts
  std::uint64_t gangs = 0;                 // gangs made, the root included

  friend bool operator==(const Counts&, const Counts&) = default;
};

// A fault of the plan that has happened.
struct FiredFault {
  std::size_t fault = 0;    // its index in the plan
  int rank = 0;             // whom it has befallen, of the root gang
  std::uint64_t count = 1;  // how often: of faults that go on, all but the first are only counted
  Duration time{0};         // virtual, of the first
  std::string description;  // "rank 3 crashed before all_reduce #4 on dp[0,2]"

  friend bool operator==(const FiredFault&, const FiredFault&) = default;
};

// The result of Simulation::run. Everything but `wall_time` is a function of program, options and
// seed (except under ContextKind::parallel).
struct Report {
  Outcome outcome = Outcome::completed;
  std::vector<Finding> findings;
  std::vector<BlockedCall> blocked;            // all of them at a deadlock, by rank
  std::string certainty;                       // Outcome::deadlock: in which schedules it happens
  std::string divergence;                      // Outcome::diverged: step, expected, found
  std::vector<RaceCandidate> race_candidates;  // the first few; not in JSON
  bool forced_receive_completed = false;       // options.forced_receive met its message
  Schedule schedule;                           // where recorded
  Trace trace;
  Timeline timeline;  // where recorded
  Counts counts;
  Duration virtual_time{0};
  std::shared_ptr<const FaultPlan> fault_plan;  // what was to go wrong; null: nothing
  std::vector<FiredFault> faults;               // what did, in its order
  Duration wall_time{0};                        // from the creation of the ranks to this report

  // Completed without any finding.
  bool holds() const noexcept { return outcome == Outcome::completed && findings.empty(); }
};

// What to change, for a finding's id; empty where no general advice is true.
std::string_view fix_for(std::string_view finding_id) noexcept;

// 80 columns; ranks in the same call are grouped ("ranks 0-6"), never a line per rank.
std::string to_string(const Report& report);
std::string to_string(const Finding& finding);

// "0-3,8,10-14:2"; at most `most` ranges, then "...".
std::string to_rank_ranges(const std::vector<int>& ascending_ranks, std::size_t most = 16);

nlohmann::json to_json(const Report& report);    // without the schedule and the trace's events
nlohmann::json to_json(const Finding& finding);  // without its empty optional fields
nlohmann::json to_json(const BlockedCall& blocked);

// What to_json has kept. All throw InvalidArgument naming the field that is missing or wrong.
Report report_from_json(const nlohmann::json& json);
Finding finding_from_json(const nlohmann::json& json);
BlockedCall blocked_call_from_json(const nlohmann::json& json);
std::optional<Outcome> parse_outcome(std::string_view text) noexcept;

}  // namespace gang::sim
