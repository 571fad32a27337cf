#include "gang/gang_cause.h"

#include <nlohmann/json.hpp>

#include "gang/store/store.h"

namespace gang {
namespace {

std::optional<GangErrorKind> parse_kind(std::string_view text) {
  using enum GangErrorKind;
  for (const GangErrorKind kind : {timeout, peer_failed, mismatch, aborted, connection, corrupt})
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

GangErrorKind kind_of(StoreErrorKind kind) noexcept {
  if (kind == StoreErrorKind::timeout) return GangErrorKind::timeout;
  if (kind == StoreErrorKind::corrupt || kind == StoreErrorKind::dialect)
    return GangErrorKind::corrupt;
  return GangErrorKind::connection;
}

}  // namespace

GangCause cause_of(const StoreError& error) {
  return {.kind = kind_of(error.kind()), .reason = error.what()};
}

std::string to_note(const GangCause& cause) {
  return nlohmann::json{
      {"kind", to_string(cause.kind)}, {"ranks", cause.ranks_at_fault}, {"reason", cause.reason}}
      .dump();
}

std::optional<GangCause> parse_note(const std::string& note) {
  try {
    const nlohmann::json json = nlohmann::json::parse(note);
    const auto kind = parse_kind(json.at("kind").get<std::string>());
    if (!kind) return std::nullopt;
    return GangCause{.kind = *kind,
                     .ranks_at_fault = json.at("ranks").get<std::vector<int>>(),
                     .reason = json.at("reason").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace gang
