#include "harness/backends/rank_outcome.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/json_number.h"
#include "gang/message_pack.h"
#include "harness/backends/process_fault.h"
#include "sim/report/call_json.h"

namespace gang::harness {
namespace {

using nlohmann::json;

json to_json(const Output& output) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(output.data.data());
  return {{"name", output.name},
          {"type", to_string(output.type)},
          {"count", output.count},
          {"data", json::binary({data, data + output.data.size()})}};
}

Output output_from_json(const json& value) {
  const auto type = parse_data_type(value.at("type").get<std::string>());
  if (!type) throw InvalidArgument("an output has an unknown type");
  Output output{.name = value.at("name"),
                .type = *type,
                .count = number_from<std::int64_t>(value.at("count"))};
  const auto bytes = std::as_bytes(std::span(value.at("data").get_binary()));
  // Whoever records it reads so many elements.
  if (output.count < 0 || bytes.size() % size_bytes(*type) != 0 ||
      static_cast<std::uint64_t>(output.count) != bytes.size() / size_bytes(*type))
    throw InvalidArgument(fmt::format("output '{}' has {} bytes; must have {} elements of {}",
                                      output.name, bytes.size(), output.count, to_string(*type)));
  output.data.assign(bytes.begin(), bytes.end());
  return output;
}

json to_json(const RankOutcome::Failure& failure) {
  return {{"text", failure.text},
          {"kind", failure.kind ? json(static_cast<int>(*failure.kind)) : json(nullptr)},
          {"ranks", failure.ranks_at_fault},
          {"elapsed_ns", failure.elapsed.count()},
          {"injected", failure.is_injected},
          {"difference",
           failure.difference ? json(static_cast<int>(*failure.difference)) : json(nullptr)}};
}

// A number up to that of `last`.
template <typename Enum>
Enum enum_from_json(const json& value, Enum last) {
  const auto number = number_from<std::int64_t>(value);
  if (number < 0 || number > static_cast<std::int64_t>(last))
    throw InvalidArgument(fmt::format("a failure has the number {}; must be 0 to {}", number,
                                      static_cast<int>(last)));
  return static_cast<Enum>(number);
}

RankOutcome::Failure failure_from_json(const json& value) {
  RankOutcome::Failure failure{
      .text = value.at("text"),
      .ranks_at_fault = numbers_from<int>(value.at("ranks")),
      .elapsed = Duration(number_from<std::int64_t>(value.at("elapsed_ns"))),
      .is_injected = value.at("injected")};
  if (value.at("kind").is_number())
    failure.kind = enum_from_json(value.at("kind"), GangErrorKind::corrupt);
  if (value.at("difference").is_number())
    failure.difference = enum_from_json(value.at("difference"), CallDifference::label);
  return failure;
}

// The finding that a simulated run has where calls differ in this.
std::string_view mismatch_id(CallDifference difference) {
  namespace id = sim::finding_id;
  constexpr std::array ids = {
      id::mismatch_operation,        id::mismatch_data_type, id::mismatch_ranks, id::mismatch_count,
      id::mismatch_reduce_operation, id::mismatch_root,      id::mismatch_label};
  return ids.at(static_cast<std::size_t>(difference));
}

// How near to the cause an error is: the program's own exceptions before errors of a gang, and a
// gang that knows the cause before one that only lost a peer.
int distance(const RankOutcome::Failure& failure) {
  if (!failure.kind) return 0;
  switch (*failure.kind) {
    case GangErrorKind::mismatch:
    case GangErrorKind::corrupt:
      return 1;
    case GangErrorKind::timeout:
      return 2;
    case GangErrorKind::aborted:
      return 3;
    default:
      return 4;
  }
}

std::string id_of(const RankOutcome::Failure& failure) {
  if (failure.kind == GangErrorKind::mismatch)
    return std::string{mismatch_id(failure.difference.value_or(CallDifference::operation))};
  if (failure.kind == GangErrorKind::timeout) return std::string{sim::finding_id::timed_out};
  return std::string{sim::finding_id::rank_failed};
}

}  // namespace

RankOutcome::Failure failure_of(const std::exception& error) {
  RankOutcome::Failure failure{
      .text = error.what(), .is_injected = dynamic_cast<const InjectedFault*>(&error) != nullptr};
  if (const auto* gang_error = dynamic_cast<const GangError*>(&error)) {
    failure.kind = gang_error->kind();
    failure.ranks_at_fault = gang_error->ranks_at_fault();
    failure.elapsed = gang_error->elapsed();
    failure.difference = gang_error->difference();
  }
  return failure;
}

std::string to_bytes(const RankOutcome& outcome) {
  json value = {
      {"outputs", json::array()}, {"operations", outcome.operations}, {"struck", outcome.struck}};
  if (!outcome.note.empty())
    value["note"] = json::binary({outcome.note.begin(), outcome.note.end()});
  for (const Output& output : outcome.outputs) value["outputs"].push_back(to_json(output));
  if (outcome.wrong_result) {
    value["wrong_result"] = *outcome.wrong_result;
    value["wrong_result_location"] = sim::to_json(outcome.wrong_result_location);
  }
  if (outcome.failure) value["failure"] = to_json(*outcome.failure);
  std::string bytes;
  json::to_msgpack(value, bytes);
  return bytes;
}

RankOutcome rank_outcome_from_bytes(std::string_view bytes) {
  try {
    const std::optional<json> parsed = parse_message_pack(std::as_bytes(std::span(bytes)));
    if (!parsed) throw InvalidArgument("the outcome of a rank is damaged: it is not MessagePack");
    const json& value = *parsed;
    RankOutcome outcome{.operations = number_from<std::uint64_t>(value.at("operations")),
                        .struck = number_from<std::uint64_t>(value.at("struck"))};
    for (const json& output : value.at("outputs"))
      outcome.outputs.push_back(output_from_json(output));
    if (value.contains("note")) {
      const auto& note = value["note"].get_binary();
      outcome.note.assign(note.begin(), note.end());
    }
    if (value.contains("wrong_result")) {
      outcome.wrong_result = value["wrong_result"].get<std::string>();
      outcome.wrong_result_location =
          sim::source_location_from_json(value.at("wrong_result_location"));
    }
    if (value.contains("failure")) outcome.failure = failure_from_json(value["failure"]);
    return outcome;
  } catch (const json::exception& error) {
    throw InvalidArgument(fmt::format("the outcome of a rank is damaged: {}", error.what()));
  }
}

void record(const std::vector<RankOutcome>& outcomes, OutputRecorder& recorder) {
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    const int rank = static_cast<int>(index);
    recorder.begin_rank(rank);
    for (const Output& output : outcomes[index].outputs) {
      auto* data = const_cast<std::byte*>(output.data.data());  // read only
      recorder.record(rank, output.name,
                      TensorView(data, output.type, Shape::vector(output.count)));
    }
    if (!outcomes[index].note.empty()) recorder.record_note(rank, outcomes[index].note);
    if (outcomes[index].wrong_result)
      recorder.record_wrong_result(rank, *outcomes[index].wrong_result,
                                   outcomes[index].wrong_result_location);
  }
}

sim::Report report_of(const std::vector<RankOutcome>& outcomes) {
  sim::Report report;
  std::vector<std::pair<int, std::size_t>> failed;  // distance, rank
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank)
    if (outcomes[rank].failure) failed.emplace_back(distance(*outcomes[rank].failure), rank);
  if (failed.empty()) return report;
  report.outcome = sim::Outcome::failed;
  std::ranges::sort(failed);
  const RankOutcome::Failure& cause = *outcomes[failed.front().second].failure;
  sim::Finding finding{.id = id_of(cause)};
  finding.message = fmt::format("Rank {} failed: {}.", failed.front().second, cause.text);
  constexpr std::size_t most_consequences = 4;
  for (const auto& [far, rank] : failed) {
    if (far == failed.front().first)
      finding.ranks.push_back(static_cast<int>(rank));
    else if (finding.consequences.size() < most_consequences)
      finding.consequences.push_back(
          fmt::format("Rank {} failed: {}.", rank, outcomes[rank].failure->text));
  }
  report.findings.push_back(std::move(finding));
  return report;
}

}  // namespace gang::harness
