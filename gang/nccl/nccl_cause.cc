#include "gang/nccl/nccl_cause.h"

#include <nlohmann/json.hpp>

namespace gang {
namespace {

std::optional<GangErrorKind> parse_kind(std::string_view text) {
  using enum GangErrorKind;
  for (const GangErrorKind kind : {timeout, peer_failed, mismatch, aborted, connection, corrupt})
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

}  // namespace

std::string to_note(const NcclCause& cause) {
  return nlohmann::json{
      {"kind", to_string(cause.kind)}, {"ranks", cause.ranks_at_fault}, {"reason", cause.reason}}
      .dump();
}

std::optional<NcclCause> parse_nccl_note(const std::string& note) {
  try {
    const nlohmann::json json = nlohmann::json::parse(note);
    const auto kind = parse_kind(json.at("kind").get<std::string>());
    if (!kind) return std::nullopt;
    return NcclCause{*kind, json.at("ranks").get<std::vector<int>>(),
                     json.at("reason").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace gang
