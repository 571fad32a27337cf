// Version 1 kept calls, gangs and certainties as the texts that people read. This file, and no
// other, takes such texts apart; it knows the wording of that version, which no longer changes, and
// can go once nobody keeps such files.
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "gang/collective.h"
#include "harness/run/run_file.h"
#include "sim/report/call_json.h"
#include "sim/report/report.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::Certainty;
using sim::Dependence;
using sim::field;

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return number;
}

// What stands behind `words` in `text`, up to the end; empty where they do not occur.
std::string_view behind(std::string_view text, std::string_view words) {
  const std::size_t place = text.find(words);
  return place == std::string_view::npos ? std::string_view() : text.substr(place + words.size());
}

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

void append(std::string& text, std::string_view word) {
  if (!text.empty() && !word.empty()) text += ' ';
  text += word;
}

// "rank 3", "any rank", "one rank each".
std::optional<int> take_peer(std::string_view& text) {
  const std::string_view first = take_word(text);
  const std::string_view second = take_word(text);
  if (first == "rank") return number_in<int>(second);
  if (first == "any") return any_rank;
  take_word(text);
  return std::nullopt;
}

// "f32[4] to rank 1 tag 7 \"label\"".
void read_arguments(std::string_view text, CallText& call) {
  const std::size_t quote = std::min(text.find('"'), text.size());
  const std::string_view label = text.substr(quote);
  text = text.substr(0, quote);
  while (!text.empty() && call.direction == CallText::Direction::none) {
    const std::string_view word = take_word(text);
    if (word == "to") call.direction = CallText::Direction::to;
    if (word == "from") call.direction = CallText::Direction::from;
    if (call.direction == CallText::Direction::none)
      append(call.payload, word);
    else
      call.peer = take_peer(text);
  }
  while (!text.empty()) append(call.qualifiers, take_word(text));
  append(call.qualifiers, label);
}

// "all_reduce #3 sum f32[1024]"; what is no operation has its kind only: "join of loader".
CallText call_of(std::string_view text) {
  std::string_view rest = text;
  CallText call{.kind = std::string(take_word(rest))};
  if (!parse_operation_kind(call.kind) && call.kind != to_string(OperationKind::shrink))
    return {.kind = std::string(text)};
  if (rest.starts_with('#')) call.sequence = number_in<std::uint64_t>(take_word(rest).substr(1));
  read_arguments(rest, call);
  return call;
}

// "dp[0,2]".
GangLabel gang_of(const std::string& text) {
  const std::size_t bracket = text.rfind('[');
  if (bracket == std::string::npos || !text.ends_with(']')) return {text, ""};
  return {text.substr(0, bracket), text.substr(bracket + 1, text.size() - bracket - 2)};
}

// "in every schedule but only with rendezvous sends: with buffered sends it completes".
std::optional<Certainty> certainty_of(std::string_view text) {
  if (text.empty() || text.starts_with("seen in another run")) return std::nullopt;
  Certainty certainty;
  const auto has = [text](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  };
  const std::string_view other = behind(text, "ends in ");
  certainty.otherwise = other.substr(0, other.find(' '));
  if (has("only because of")) certainty.faults = Dependence::needed;
  if (has("with the faults") || has("without the faults"))
    certainty.faults = Dependence::not_needed;
  if (has("ends otherwise")) certainty.otherwise = "another outcome";
  if (text.starts_with("in every schedule")) certainty.schedules = sim::Schedules::every;
  const auto decided = [&has](bool is_needed, std::string_view without) {
    if (is_needed) return Dependence::needed;
    return has(without) ? Dependence::not_needed : Dependence::open;
  };
  if (has("under stream order"))
    certainty.streams = decided(has("but only under stream order"), "without streams it ");
  if (has("with rendezvous sends") || has("bytes of buffer")) {
    const bool is_needed = has("but only with ") || has("but only under stream order with ");
    certainty.sends = decided(is_needed, "with buffered sends it ");
  }
  if (has("bytes of buffer"))
    certainty.buffered_bytes =
        number_in<std::uint64_t>(text.substr(text.rfind("with ", text.find(" bytes of")) + 5));
  certainty.resident_kernels = number_in<int>(behind(text, "on devices that run "));
  return certainty;
}

void upgrade_certainty(json& from) {
  if (!from.contains("certainty")) return;
  const std::optional<Certainty> certainty = certainty_of(field<std::string>(from, "certainty"));
  if (certainty)
    from["certainty"] = sim::to_json(*certainty, {});
  else
    from.erase("certainty");
}

// A call of a finding or of a blocked context.
void upgrade_call(json& from) {
  from["call"] = sim::to_json(call_of(field<std::string>(from, "operation")));
  from["gang"] = sim::to_json(gang_of(field<std::string>(from, "gang")));
}

// "tp[0,1]  send f32[4] to rank 1", and its place beside it.
void upgrade_behind(json& from) {
  if (!from.contains("behind")) return;
  const auto text = field<std::string>(from, "behind");
  const std::size_t gap = std::min(text.find("  "), text.size());
  json ahead = {{"operation", text.substr(std::min(gap + 2, text.size()))},
                {"gang", text.substr(0, gap)},
                {"location", from.value("behind_location", "")}};
  upgrade_call(ahead);
  from["behind"] = std::move(ahead);
}

// Ends the first sentence where the next begins: after a full stop, with a capital letter.
void upgrade_message(json& from) {
  auto message = field<std::string>(from, "message");
  from["detail"] = "";
  for (std::size_t end = message.find(". "); end != std::string::npos;
       end = message.find(". ", end + 1)) {
    if (std::isupper(static_cast<unsigned char>(message[end + 2])) == 0) continue;
    from["detail"] = message.substr(end + 2);
    from["message"] = message.substr(0, end + 1);
    return;
  }
}

void for_each(json& from, const char* name, void (*upgrade)(json&)) {
  sim::read_elements(from, name, [](const json&) {});  // it is an array
  for (json& element : from[name]) upgrade(element);
}

void upgrade_near_miss(json& from) {
  upgrade_call(from["first"]);
  upgrade_call(from["second"]);
}

void upgrade_finding(json& from) {
  upgrade_call(from);
  upgrade_message(from);
  upgrade_certainty(from);
  if (from.contains("near_misses")) for_each(from, "near_misses", upgrade_near_miss);
  if (!from.contains("divergence")) return;
  upgrade_call(from["divergence"]["last_common"]);
  for_each(from["divergence"], "next", upgrade_call);
}

void upgrade_blocked(json& from) {
  upgrade_call(from);
  upgrade_behind(from);
}

void upgrade_timeline_call(json& from) {
  CallText call{.kind = field<std::string>(from, "operation")};
  read_arguments(field<std::string>(from, "arguments"), call);
  from["call"] = sim::to_json(call);
}

void upgrade_gang(json& from) { from = sim::to_json(gang_of(from.get<std::string>())); }

}  // namespace

json upgraded_from_v1(json run) try {
  for_each(run, "findings", upgrade_finding);
  for_each(run, "blocked", upgrade_blocked);
  upgrade_certainty(run);
  if (!run.contains("timeline")) return run;
  field<std::vector<std::string>>(run["timeline"], "gangs");  // that they are texts
  for_each(run["timeline"], "gangs", upgrade_gang);
  for_each(run["timeline"], "calls", upgrade_timeline_call);
  return run;
} catch (const json::exception& error) {
  throw InvalidArgument(
      fmt::format("a file of version 1 that is not as expected: {}", error.what()));
}

}  // namespace gang::harness
