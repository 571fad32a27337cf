#include "sim/report/report.h"

#include <array>

#include <fmt/format.h>

namespace gang::sim {
namespace {

struct Fix {
  std::string_view id;
  std::string_view advice;
};

constexpr std::array fixes = {
    Fix{"participant_missing", "have every member call it, or none: agree on it first"},
    Fix{"mismatch_operation", "call the same operations in the same order on every member"},
    Fix{"mismatch_count", "pass the same number of elements on every member"},
    Fix{"mismatch_data_type", "pass the same data type on every member"},
    Fix{"mismatch_reduce_operation", "pass the same reduce operation on every member"},
    Fix{"mismatch_root", "pass the same root on every member"},
    Fix{"mismatch_tag", "use one tag on both sides"},
    Fix{"mismatch_label", "bring the members back into step: one is ahead of the others"},
    Fix{"mismatch_blocking", "use the blocking form on every member, or on none"},
    Fix{"mismatch_ranks", "pass the same ranks in the same order on every member"},
    Fix{"mismatch_gang", "use one gang for it on every member"},
    Fix{"group_creation_order", "create the gangs in one order on every rank"},
    Fix{"stream_order_inversion", "launch the operations in one order on every rank"},
    Fix{"device_synchronization",
        "create and close gangs only while no started operation is pending"},
    Fix{"blocking_launch", "launch on all ranks before hosts wait, or let launches return at once"},
    Fix{"one_thread_many_ranks", "give each rank its own thread or process"},
    Fix{"cross_gang_cycle", "call the gangs in one order on every rank"},
    Fix{"point_to_point_cycle", "let one side receive first, or use batch"},
    Fix{"buffering_hazard", "let the receiver post its receive first, or start the send"},
    Fix{"message_race", "name the source, or make the result independent of the order"},
    Fix{"uneven_iterations", "agree on the number of iterations before the loop"},
    Fix{"blocked_in_other_gang", "call the gangs in one order on every rank, or on none"},
    Fix{"unwaited_work", "wait for the Work; for NCCL's stream order: --execution stream_ordered"},
    Fix{"unreceived_message", "receive it, or do not send it"},
    Fix{"buffer_in_flight", "wait before touching the buffer"},
    Fix{"concurrent_use", "give each thread a gang of its own, or let one thread make the calls"},
    Fix{"use_after_close", "close the gang after its last use"},
    Fix{"gang_not_closed", "close or release the gang before the program ends"},
    Fix{"store_key_missing", "set the key on some rank before the others wait for it"},
    Fix{"thread_failed", "handle the exception in the thread, or end the rank with it"},
};

// Calls `f` with each certainty that does not say that it happens in every schedule.
template <typename F>
void for_each_open(Report& report, const F& f) {
  const auto visit = [&f](std::optional<Certainty>& certainty) {
    if (certainty && certainty->schedules != Schedules::every) f(*certainty);
  };
  visit(report.certainty);
  for (Finding& finding : report.findings) visit(finding.certainty);
}

}  // namespace

std::string_view fix_for(std::string_view finding_id) noexcept {
  for (const Fix& fix : fixes)
    if (fix.id == finding_id) return fix.advice;
  return "";
}

std::string_view to_string(Outcome outcome) noexcept { return name_of(outcome_names, outcome); }

std::optional<Outcome> parse_outcome(std::string_view text) noexcept {
  return parse_name(outcome_names, text);
}

std::string frame_text(const SourceLocation& frame) {
  return frame.file.empty() ? frame.function : frame.function + " at " + to_string(frame);
}

std::string full_message(const Finding& finding) {
  return finding.detail.empty() ? finding.message : finding.message + " " + finding.detail;
}

const Certainty* certainty_of(const Report& report) noexcept {
  const std::optional<Certainty>& certainty = !report.certainty && !report.findings.empty()
                                                  ? report.findings.front().certainty
                                                  : report.certainty;
  return certainty ? &*certainty : nullptr;
}

void note_uncontested(Report& report) noexcept {
  for_each_open(report, [](Certainty& certainty) {
    certainty.schedules = Schedules::every;
    certainty.is_uncontested = true;
  });
}

void note_avoided(Report& report) noexcept {
  for_each_open(report, [](Certainty& certainty) { certainty.is_avoided = true; });
}

}  // namespace gang::sim
