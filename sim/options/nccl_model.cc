#include "sim/options/nccl_model.h"

#include <charconv>

#include <fmt/format.h>

namespace gang::sim {
namespace {

// Whether `part` is known and its value accepted.
bool set_part(NcclModel& model, std::string_view part) noexcept {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = part.substr(equals + 1);
  if (name == "order" && (value == "host" || value == "any")) {
    model.order = value == "host" ? LaunchOrder::host : LaunchOrder::any;
    return true;
  }
  if (name == "links" && (value == "device" || value == "sockets")) {
    model.links = value == "device" ? PeerLinks::device : PeerLinks::sockets;
    return true;
  }
  if (name == "launch" && (value == "async" || value == "blocking")) {
    model.launch = value == "async" ? HostLaunch::asynchronous : HostLaunch::blocking;
    return true;
  }
  if (name != "resident") return false;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, model.resident);
  return error == std::errc{} && stop == end && model.resident >= 1;
}

}  // namespace

std::string to_string(const NcclModel& model) {
  return fmt::format("resident={},order={},links={},launch={}", model.resident,
                     model.order == LaunchOrder::host ? "host" : "any",
                     model.links == PeerLinks::device ? "device" : "sockets",
                     model.launch == HostLaunch::asynchronous ? "async" : "blocking");
}

std::optional<NcclModel> parse_nccl_model(std::string_view text) noexcept {
  NcclModel model;
  while (true) {
    const std::size_t comma = text.find(',');
    if (!set_part(model, text.substr(0, comma))) return std::nullopt;
    if (comma == std::string_view::npos) return model;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace gang::sim
