#include "harness/run/decisive_choice.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "sim/further_runs/contest_text.h"
#include "sim/text/json_fields.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::field;

json to_json(const sim::Continuation& continuation) {
  json deeds = json::array();
  for (const auto& [context, did] : continuation.deeds)
    deeds.push_back({{"context", context}, {"did", did}});
  return {
      {"deeds", std::move(deeds)}, {"further", continuation.further}, {"end", continuation.end}};
}

sim::Continuation continuation_from_json(const json& from) {
  sim::Continuation continuation{.further = field<std::uint64_t>(from, "further"),
                                 .end = field<std::string>(from, "end")};
  for (const json& deed : sim::array_field(from, "deeds"))
    continuation.deeds.push_back(
        {field<std::string>(deed, "context"), field<std::string>(deed, "did")});
  return continuation;
}

}  // namespace

std::optional<DecisiveChoice> decisive_choice_of(const sim::EverySchedule& every) {
  if (!every.decisive) return std::nullopt;
  return DecisiveChoice{.text = sim::to_text(*every.decisive),
                        .holds_otherwise = every.holds_otherwise,
                        .continuations = every.continuations};
}

std::string_view otherwise_text(const DecisiveChoice& decisive) noexcept {
  if (!decisive.holds_otherwise) return "";
  return *decisive.holds_otherwise ? "Decided the other way, the run holds."
                                   : "Decided the other way, it fails, too.";
}

std::string to_text(const std::optional<DecisiveChoice>& decisive) {
  if (!decisive) return "";
  std::string text = sim::wrapped("Decisive: " + decisive->text + ".", "  ");
  if (const std::string_view otherwise = otherwise_text(*decisive); !otherwise.empty())
    text += sim::wrapped(std::string(otherwise), "  ");
  const std::string sides = decisive->continuations ? sim::to_text(*decisive->continuations) : "";
  return sides.empty() ? text : text + '\n' + sides;
}

json to_json(const DecisiveChoice& decisive) {
  json to = {
      {"text", decisive.text},
      {"holds_otherwise", decisive.holds_otherwise ? json(*decisive.holds_otherwise) : json()},
      {"found", nullptr},
      {"otherwise", nullptr}};
  if (!decisive.continuations) return to;
  to["found"] = to_json(decisive.continuations->found);
  to["otherwise"] = to_json(decisive.continuations->otherwise);
  return to;
}

DecisiveChoice decisive_choice_from_json(const json& from) {
  DecisiveChoice decisive{.text = field<std::string>(from, "text")};
  if (!sim::value_field(from, "holds_otherwise").is_null())
    decisive.holds_otherwise = field<bool>(from, "holds_otherwise");
  if (!sim::value_field(from, "found").is_null())
    decisive.continuations = {continuation_from_json(sim::object_field(from, "found")),
                              continuation_from_json(sim::object_field(from, "otherwise"))};
  return decisive;
}

}  // namespace gang::harness
