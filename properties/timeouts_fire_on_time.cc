#include "properties/timeouts_fire_on_time.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/case_text.h"
#include "properties/rank_check.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using gang::to_string;
using std::chrono::milliseconds;

sim::SimulationOptions options_of(const TimeoutCase& timeout) {
  sim::SimulationOptions options;
  options.world_size = timeout.world();
  options.scheduler = timeout.scheduler;
  options.seed = timeout.seed;
  options.pending_timeouts = sim::PendingTimeouts::fire;
  if (!timeout.is_of_call) options.timeout = milliseconds(timeout.timeout_ms);
  return options;
}

CallOptions call_options(const TimeoutCase& timeout) {
  CallOptions options;
  if (timeout.is_of_call) options.timeout = milliseconds(timeout.timeout_ms);
  return options;
}

// A rank's error against when it came and when the gang broke.
std::string check_error(const TimeoutCase& timeout, int rank, TimePoint now, const GangError& error,
                        const Subject& subject) {
  const TimePoint came = milliseconds(timeout.delays_ms[static_cast<std::size_t>(rank)]);
  const TimePoint broken = timeout.first_timeout();
  const TimePoint expected = std::max(came, broken);
  const TimePoint latest =
      subject.times_out_together ? expected : came + milliseconds(timeout.timeout_ms);
  if (now < expected || now > std::max(expected, latest))
    return fmt::format("gets its error at {}, expected {}", to_string(now), to_string(expected));
  if (error.elapsed() != now - came)
    return fmt::format("gets an error after {} elapsed, expected {}", to_string(error.elapsed()),
                       to_string(now - came));
  const bool gave_up = came + milliseconds(timeout.timeout_ms) == broken;
  if (gave_up && error.kind() != GangErrorKind::timeout)
    return fmt::format("gets {}, although its own timeout passed", to_string(error.kind()));
  return {};
}

// A sleep of zero is a yield, which ends when no other rank can run, perhaps at a later time.
bool sleeps_exactly(Runtime& runtime, int delay_ms) {
  if (delay_ms > 0) runtime.sleep_for(milliseconds(delay_ms));
  return runtime.now() == milliseconds(delay_ms);
}

// Sleeps, then runs the operation; what it must end with is a GangError at the right time.
std::string run_late_rank(const TimeoutCase& timeout, sim::SimulatedRank& rank,
                          const std::function<void(Gang&)>& operation, const Subject& subject) {
  const auto gang = subject.wrapped(rank.root());
  const int delay_ms = timeout.delays_ms[static_cast<std::size_t>(rank.rank())];
  if (!sleeps_exactly(rank.runtime(), delay_ms)) return "wakes at the wrong time";
  if (rank.rank() == timeout.missing_rank) {
    if (subject.tells_of_ended_ranks) rank.runtime().sleep_for(std::chrono::hours(1));
    return {};
  }
  try {
    operation(*gang);
  } catch (const GangError& error) {
    return check_error(timeout, rank.rank(), rank.runtime().now(), error, subject);
  }
  return "gets no error";
}

// The ranks' own complaints decide; the run as such must not be a deadlock.
Verdict verdict_of(const CheckedRun& run) {
  if (!run.complaint.empty()) return Verdict::violated(run.complaint).shown_by(run.report);
  if (run.report.outcome != sim::Outcome::completed)
    return Verdict::violated(fmt::format("the run ended as '{}'", to_string(run.report.outcome)))
        .shown_by(run.report);
  return Verdict::holds();
}

Verdict judge_collective(const TimeoutCase& timeout, const Subject& subject) {
  return verdict_of(run_checked(options_of(timeout), subject, [&](sim::SimulatedRank& rank) {
    return run_late_rank(
        timeout, rank, [&](Gang& gang) { gang.barrier(call_options(timeout)); }, subject);
  }));
}

TimePoint arrival_of(const TimeoutCase& timeout, int rank) {
  return milliseconds(timeout.delays_ms[static_cast<std::size_t>(rank)]);
}

// Whether a rank comes before another gives up.
bool came_early(const TimeoutCase& timeout, int rank) {
  return arrival_of(timeout, rank) < timeout.first_timeout();
}

// Ranks that had not come when the barrier gave up are missing; those that came just then are not.
std::string check_missing(const TimeoutCase& timeout, const std::vector<int>& named,
                          const Subject& subject) {
  for (int rank = 0; rank < timeout.world(); ++rank) {
    const bool is_never = rank == timeout.missing_rank;
    const bool is_missing = is_never || arrival_of(timeout, rank) > timeout.first_timeout();
    const bool is_named = std::ranges::count(named, rank) != 0;
    if (is_missing == is_named) continue;
    // Where each rank has its own timeout, some may still see a rank that comes after the first.
    if (!subject.times_out_together && !is_never && !came_early(timeout, rank)) continue;
    return fmt::format("gets an error that names ranks [{}] as missing", fmt::join(named, ","));
  }
  return {};
}

// Every rank that came names the missing ones.
Verdict judge_monitored(const TimeoutCase& timeout, const Subject& subject) {
  sim::SimulationOptions options = options_of(timeout);
  options.timeout = default_timeout;
  return verdict_of(run_checked(options, subject, [&](sim::SimulatedRank& rank) {
    std::string complaint;
    const std::string other = run_late_rank(
        timeout, rank,
        [&](Gang& gang) {
          try {
            gang.monitored_barrier(milliseconds(timeout.timeout_ms), Gang::MissingRanks::all);
          } catch (const GangError& error) {
            if (subject.times_out_together || came_early(timeout, rank.rank()))
              complaint = check_missing(timeout, error.ranks_at_fault(), subject);
            throw;
          }
        },
        subject);
    return other.empty() ? complaint : other;
  }));
}

// wait(timeout) returns false on time, and the operation goes on.
Verdict judge_wait(const TimeoutCase& timeout, const Subject& subject) {
  sim::SimulationOptions options = options_of(timeout);
  options.timeout = default_timeout;
  const auto slowest = *std::ranges::max_element(timeout.delays_ms);
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) -> std::string {
    const int delay_ms = timeout.delays_ms[static_cast<std::size_t>(rank.rank())];
    if (!sleeps_exactly(rank.runtime(), delay_ms)) return "wakes at the wrong time";
    Work work = subject.wrapped(rank.root())->start_barrier();
    const int wait_ms = timeout.timeout_ms;
    if (delay_ms + wait_ms < slowest) {
      if (work.wait(milliseconds(wait_ms))) return "sees a barrier complete without all ranks";
      if (rank.runtime().now() != milliseconds(delay_ms + wait_ms))
        return "waits longer or shorter than its timeout";
    }
    work.wait();
    return rank.runtime().now() == milliseconds(std::max(slowest, delay_ms))
               ? ""
               : fmt::format("leaves the barrier at {}, but the last rank came at {} ms",
                             to_string(rank.runtime().now()), slowest);
  });
}

using JudgeTimeout = Verdict (*)(const TimeoutCase&, const Subject&);

constexpr LawRow<JudgeTimeout> timeout_laws[] = {
    {"a_collective_times_out_on_time",
     "The first rank to wait gives up on time, and every member then gets an error.",
     judge_collective},
    {"a_monitored_barrier_names_who_is_missing",
     "Every rank that came gets an error that names the missing ranks.", judge_monitored},
    {"a_wait_with_timeout_ends_on_time",
     "wait(timeout) returns false on time, and the operation goes on.", judge_wait},
};

}  // namespace

Duration TimeoutCase::first_timeout() const noexcept {
  int first = std::numeric_limits<int>::max();
  for (int rank = 0; rank < world(); ++rank)
    if (rank != missing_rank) first = std::min(first, delays_ms[static_cast<std::size_t>(rank)]);
  return milliseconds(first + timeout_ms);
}

TimeoutCase generate_timeout(Draw& draw) {
  TimeoutCase timeout;
  timeout.delays_ms.resize(static_cast<std::size_t>(draw.world(2)));
  for (int& delay : timeout.delays_ms) delay = draw.between(0, 20);
  timeout.missing_rank = draw.between(0, timeout.world() - 1);
  timeout.timeout_ms = draw.between(1, 20);
  timeout.is_of_call = draw.one_in(2);
  if (draw.one_in(2)) timeout.scheduler = sim::SchedulerKind::random;
  timeout.seed = draw.random.below(100);
  return timeout;
}

std::string to_text(const TimeoutCase& timeout) {
  return fmt::format(
      "world {}, rank {} never comes, the others after [{}] ms, timeout {} ms of the {}, {}",
      timeout.world(), timeout.missing_rank, fmt::join(timeout.delays_ms, ","), timeout.timeout_ms,
      timeout.is_of_call ? "call" : "gang", schedule_text(timeout.scheduler, timeout.seed));
}

std::vector<TimeoutCase> shrinks(const TimeoutCase& timeout) {
  SimplerCases simpler(timeout);
  if (timeout.world() > 2) {
    simpler.add([](TimeoutCase& one) {
      one.delays_ms.pop_back();
      one.missing_rank = std::min(one.missing_rank, one.world() - 1);
    });
  }
  for (std::size_t rank = 0; rank < timeout.delays_ms.size(); ++rank)
    for (const int delay : {0, timeout.delays_ms[rank] / 2, timeout.delays_ms[rank] - 1})
      if (delay >= 0) simpler.add([=](TimeoutCase& one) { one.delays_ms[rank] = delay; });
  simpler.lower(&TimeoutCase::missing_rank, 0);
  simpler.lower(&TimeoutCase::timeout_ms, 1);
  simpler.lower(&TimeoutCase::timeout_ms, timeout.timeout_ms / 2 + 1);
  simpler.lower(&TimeoutCase::is_of_call, false);
  simpler.lower(&TimeoutCase::scheduler, sim::SchedulerKind::round_robin);
  simpler.lower(&TimeoutCase::seed, 0);
  return simpler.take();
}

std::vector<Property> timeouts_fire_on_time(const Subject& subject) {
  return laws_of<TimeoutCase>(timeout_laws,
                              {.suite = "timeouts_fire_on_time", .generate = generate_timeout},
                              [subject](JudgeTimeout judge, const TimeoutCase& timeout) {
                                return judge(timeout, subject);
                              });
}

}  // namespace gang::properties
