#include "harness/run/real_time.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/report/call_json.h"
#include "sim/report/rank_text.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::field;
using sim::optional_field;

// To the tenth of a second.
std::string real_time_text(Duration time) {
  return gang::to_string(Duration(std::chrono::floor<std::chrono::milliseconds>(time) / 100 * 100));
}

std::string long_waits_text(const std::vector<LongWait>& waits) {
  std::string text = to_string(waits.front());
  if (waits.size() > 1) text += fmt::format(" And {} more such.", waits.size() - 1);
  return text;
}

json wait_to_json(const LongWait& wait) {
  json to = {{"ranks", wait.ranks},
             {"call", wait.call},
             {"waited_ns", wait.waited.count()},
             {"timeout_ns", wait.timeout.count()},
             {"late_rank", wait.late_rank},
             {"late_location", sim::to_json(wait.late_location)}};
  sim::add_location(to, wait.location);
  return to;
}

LongWait wait_from_json(const json& from) {
  return {
      .ranks = field<std::vector<int>>(from, "ranks"),
      .call = field<std::string>(from, "call"),
      .location = sim::location_field(from),
      .waited = Duration(field<Duration::rep>(from, "waited_ns")),
      .timeout = Duration(field<Duration::rep>(from, "timeout_ns")),
      .late_rank = field<int>(from, "late_rank"),
      .late_location = sim::source_location_from_json(sim::object_field(from, "late_location"))};
}

}  // namespace

std::string to_string(const LongWait& wait) {
  return fmt::format(
      "{} waited {} in {} at {} for rank {}, which was outside of calls until it came to {}; the "
      "timeout is {}. The clock of a simulated run stands meanwhile; a real one would have timed "
      "out.",
      sim::capitalised(sim::ranks_text(wait.ranks)), real_time_text(wait.waited), wait.call,
      to_string(wait.location), wait.late_rank, to_string(wait.late_location),
      gang::to_string(wait.timeout));
}

std::vector<Advice> advice_on(const RealTime& time) {
  std::vector<Advice> advice;
  if (!time.stuck_ranks.empty()) {
    const std::string ranks = sim::ranks_do(time.stuck_ranks, "is", "are");
    if (time.was_interrupted)
      advice.push_back({"Interrupted", ranks + " outside of any call, and might have gone on"});
    else
      advice.push_back({"Probable", ranks + " outside of any call and idle; nothing more is known; "
                                            "--stall-limit TIME waits longer"});
  }
  if (!time.irreproducible.empty())
    advice.push_back({"Note", "not reproducible: " + time.irreproducible});
  if (!time.long_waits.empty()) advice.push_back({"Suspect", long_waits_text(time.long_waits)});
  return advice;
}

json to_json(const RealTime& time) {
  json to = json::object();
  if (!time.stuck_ranks.empty()) to["stuck_ranks"] = time.stuck_ranks;
  if (time.was_interrupted) to["was_interrupted"] = true;
  if (!time.irreproducible.empty()) to["irreproducible"] = time.irreproducible;
  if (!time.long_waits.empty())
    to["long_waits"] = sim::array_of<LongWait>(time.long_waits, wait_to_json);
  return to;
}

RealTime real_time_from_json(const json& from) {
  RealTime time;
  time.stuck_ranks =
      optional_field<std::vector<int>>(from, "stuck_ranks").value_or(std::vector<int>());
  time.was_interrupted = optional_field<bool>(from, "was_interrupted").value_or(false);
  time.irreproducible = optional_field<std::string>(from, "irreproducible").value_or("");
  if (from.contains("long_waits"))
    time.long_waits = sim::elements_field(from, "long_waits", wait_from_json);
  return time;
}

}  // namespace gang::harness
