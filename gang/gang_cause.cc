#include "gang/gang_cause.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/gang.h"
#include "gang/json_number.h"
#include "gang/store/store.h"

namespace gang {
namespace {

GangErrorKind kind_of(StoreErrorKind kind) noexcept {
  if (kind == StoreErrorKind::timeout) return GangErrorKind::timeout;
  if (kind == StoreErrorKind::corrupt || kind == StoreErrorKind::dialect)
    return GangErrorKind::corrupt;
  return GangErrorKind::connection;
}

}  // namespace

GangError error_for(const GangInfo& gang, int rank, const Collective& call, GangCause cause,
                    Duration elapsed) {
  return GangError({.kind = cause.kind,
                    .gang = label_of(gang),
                    .rank = rank,
                    .operation = call,
                    .elapsed = elapsed,
                    .ranks_at_fault = std::move(cause.ranks_at_fault),
                    .reason = std::move(cause.reason)});
}

Collective creation_of(int size) {
  return {.kind = OperationKind::create_gang, .count = size, .shape = Shape::vector(size)};
}

GangCause cause_of(const StoreError& error) {
  return {.kind = kind_of(error.kind()), .reason = error.what()};
}

GangCause aborted_by(int rank, std::string_view deed) {
  return {.kind = GangErrorKind::aborted, .reason = fmt::format("rank {} {}", rank, deed)};
}

GangCause gave_up(int rank) {
  return {.kind = GangErrorKind::peer_failed,
          .ranks_at_fault = {rank},
          .reason = fmt::format("rank {} gave up", rank)};
}

std::optional<GangCause> own_split_mismatch(const Operation& operation, int rank) {
  if (operation.extras->input_splits.empty()) return std::nullopt;
  const auto own = static_cast<std::size_t>(rank);
  const std::int64_t sent = operation.extras->input_splits[own];
  const std::int64_t expected = operation.extras->output_splits[own];
  if (sent == expected) return std::nullopt;
  return GangCause{.kind = GangErrorKind::mismatch,
                   .ranks_at_fault = {rank},
                   .reason = fmt::format("rank {} sends itself {} elements but expects {}", rank,
                                         sent, expected)};
}

GangCause object_count_mismatch(const Collective& call, int rank, std::int64_t sent) {
  return {.kind = GangErrorKind::mismatch,
          .ranks_at_fault = {rank},
          .reason = fmt::format("rank {} sends {} objects but rank {} expects {}", call.peer, sent,
                                rank, call.count)};
}

std::string to_note(const GangCause& cause) {
  return nlohmann::json{
      {"kind", to_string(cause.kind)}, {"ranks", cause.ranks_at_fault}, {"reason", cause.reason}}
      .dump();
}

std::optional<GangCause> parse_note(const std::string& note) {
  try {
    const nlohmann::json json = nlohmann::json::parse(note);
    const auto kind = parse_gang_error_kind(json.at("kind").get<std::string>());
    if (!kind) return std::nullopt;
    return GangCause{.kind = *kind,
                     .ranks_at_fault = numbers_from<int>(json.at("ranks")),
                     .reason = json.at("reason").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void leave_note(Store& store, const std::string& prefix, std::string_view text) noexcept {
  try {
    store.compare_set_text(prefix + "/note", "", text);
  } catch (const std::exception&) {
    // The other members see closed connections, or wait until their timeouts.
  }
}

std::optional<std::string> find_note(Store& store, const std::string& prefix) noexcept {
  try {
    return store.try_get_text(prefix + "/note");
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace gang
