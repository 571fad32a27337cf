#include "sim/further_runs/contest_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gang/call_site.h"

namespace gang::sim {
namespace {

std::string place_of(const Access& access) {
  return access.site.line() == 0 ? "" : fmt::format(" ({})", gang::to_string(access.site));
}

// "rank 1", "'loader' of rank 1".
std::string context_of(const Access& access, const std::string& name) {
  return name.empty() ? fmt::format("rank {}", access.rank)
                      : fmt::format("'{}' of rank {}", name, access.rank);
}

// To a mutex or a condition.
std::string_view deed_of(AccessKind kind) noexcept {
  switch (kind) {
    case AccessKind::lock:
      return "locked";
    case AccessKind::try_lock:
      return "tried to lock";
    case AccessKind::unlock:
      return "unlocked";
    case AccessKind::wait:
      return "waited for";
    default:
      return "notified";
  }
}

// Whether what is looked at is the end of an operation that a thread of the gangs makes.
bool is_end(const Access& arrival, const Access& look) {
  return arrival.kind == AccessKind::arrival && arrival.rank == look.rank &&
         arrival.site == look.site;
}

// Of what a look could have seen.
std::string to_text_of_arrival(const Contest& contest) {
  if (is_end(contest.second, contest.first))
    return fmt::format("the operation of {}{} ended before it was tested",
                       context_of(contest.first, contest.first_context), place_of(contest.first));
  return fmt::format("{} made its call{} before the operation of {}{} was tested",
                     context_of(contest.second, contest.second_context), place_of(contest.second),
                     context_of(contest.first, contest.first_context), place_of(contest.first));
}

// Of a look, which could have seen more.
std::string to_text_of_look(const Contest& contest) {
  const Access& look = contest.second;
  const Access& seen = contest.first;
  const std::string tested = fmt::format("{} tested its operation{} before",
                                         context_of(look, contest.second_context), place_of(look));
  if (is_end(seen, look)) return tested + " that ended";
  if (seen.kind == AccessKind::device)
    return fmt::format("{} the device of rank {} started the one{}", tested, seen.rank,
                       place_of(seen));
  return fmt::format("{} {} made its call{}", tested, context_of(seen, contest.first_context),
                     place_of(seen));
}

}  // namespace

std::string to_text(const Contest& contest) {
  const Access& first = contest.second;  // in the run that decides it the other way
  const Access& second = contest.first;
  const std::string& first_name = contest.second_context;
  const std::string& second_name = contest.first_context;
  switch (first.kind) {
    case AccessKind::message:
      if (second.kind == AccessKind::look) return to_text_of_arrival(contest);
      if (contest.receive)
        return fmt::format(
            "the receive from any source on rank {} at {} took the message of {}{}, not that of "
            "{}{}",
            contest.receive->rank, gang::to_string(contest.receive->site),
            context_of(first, first_name), place_of(first), context_of(second, second_name),
            place_of(second));
      break;
    case AccessKind::lock:
    case AccessKind::try_lock:
    case AccessKind::unlock:
    case AccessKind::wait:
    case AccessKind::notification: {
      const bool is_of_condition =
          first.kind == AccessKind::wait || first.kind == AccessKind::notification;
      return fmt::format(
          "{} {} a {} before {} {}", context_of(first, first_name), deed_of(first.kind),
          is_of_condition ? "condition" : "mutex", context_of(second, second_name),
          first.kind == second.kind ? "did" : fmt::format("{} it", deed_of(second.kind)));
    }
    case AccessKind::arrival:
      if (second.kind == AccessKind::arrival)
        return fmt::format("{} called shrink{} before {} did{}, and so decided on its options",
                           context_of(first, first_name), place_of(first),
                           context_of(second, second_name), place_of(second));
      return to_text_of_arrival(contest);
    case AccessKind::look:
      return to_text_of_look(contest);
    case AccessKind::key:
    case AccessKind::presence:
      return fmt::format("{} used a key of the store{} before {} did{}",
                         context_of(first, first_name), place_of(first),
                         context_of(second, second_name), place_of(second));
    case AccessKind::device:
      if (second.kind == AccessKind::look)
        return fmt::format("the device of rank {} started the operation{} before {} tested its{}",
                           first.rank, place_of(first), context_of(second, second_name),
                           place_of(second));
      if (first_name != second_name)
        return fmt::format("{} launched its operation{} before {} launched its{}",
                           context_of(first, first_name), place_of(first),
                           context_of(second, second_name), place_of(second));
      return fmt::format("the device of rank {} started the operation{} before the one{}",
                         first.rank, place_of(first), place_of(second));
    case AccessKind::fault:
      return fmt::format("{} {} before {} {}", context_of(first, first_name),
                         first.mode == AccessMode::write ? "met its fault" : "went on",
                         context_of(second, second_name),
                         second.mode == AccessMode::write ? "met its fault" : "went on");
    case AccessKind::call:
      if (first.mode != second.mode && first.site.line() == 0)
        return fmt::format("{} broke the gang before the call of {}{}",
                           context_of(first, first_name), context_of(second, second_name),
                           place_of(second));
      if (first.mode != second.mode && second.site.line() == 0)
        return fmt::format("{} called the gang{} before {} broke it", context_of(first, first_name),
                           place_of(first), context_of(second, second_name));
      break;
  }
  return fmt::format("{}{} came before {}{}", context_of(first, first_name), place_of(first),
                     context_of(second, second_name), place_of(second));
}

std::string choice_text(const Contest& contest) {
  if (!decides_message(contest)) return "whether " + to_text(reversed(contest));
  return fmt::format(
      "which message the receive from any source on rank {} at {} took: that of {}{} or that of "
      "{}{}",
      contest.receive->rank, gang::to_string(contest.receive->site),
      context_of(contest.first, contest.first_context), place_of(contest.first),
      context_of(contest.second, contest.second_context), place_of(contest.second));
}

Contest reversed(Contest contest) {
  std::swap(contest.first, contest.second);
  std::swap(contest.first_context, contest.second_context);
  return contest;
}

Finding message_race(const Contest& contest, std::string_view difference) {
  const TakenByAny& receive = contest.receive.value();
  Finding finding;
  finding.id = finding_id::message_race;
  finding.ranks = {receive.rank, contest.first.rank, contest.second.rank};
  std::ranges::sort(finding.ranks);
  finding.ranks.erase(std::ranges::unique(finding.ranks).begin(), finding.ranks.end());
  finding.location = location_of(receive.site);
  finding.message = fmt::format(
      "Rank {} received from any source at {} and took the message of {}, sent at {}.",
      receive.rank, gang::to_string(receive.site), context_of(contest.first, contest.first_context),
      gang::to_string(contest.first.site));
  finding.detail =
      fmt::format("It could also take that of {}, sent at {}: in a run where it did, {}.",
                  context_of(contest.second, contest.second_context),
                  gang::to_string(contest.second.site), difference);
  return finding;
}

}  // namespace gang::sim
