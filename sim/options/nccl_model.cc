#include "sim/options/nccl_model.h"

#include <charconv>

#include <fmt/format.h>

#include "gang/enum_names.h"

namespace gang::sim {
namespace {

constexpr auto orders = names_in_order<LaunchOrder>("host", "any");
constexpr auto links = names_in_order<PeerLinks>("device", "sockets");
constexpr auto launches = names_in_order<HostLaunch>("async", "blocking");

// Whether `text` is one of `names`; sets `choice` where it is.
template <typename Enum, std::size_t count>
bool set_choice(Enum& choice, const std::array<EnumName<Enum>, count>& names,
                std::string_view text) noexcept {
  const std::optional<Enum> value = parse_name(names, text);
  choice = value.value_or(choice);
  return value.has_value();
}

// Whether `part` is known and its value accepted.
bool set_part(NcclModel& model, std::string_view part) noexcept {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = part.substr(0, equals);
  const std::string_view value = part.substr(equals + 1);
  if (name == "order") return set_choice(model.order, orders, value);
  if (name == "links") return set_choice(model.links, links, value);
  if (name == "launch") return set_choice(model.launch, launches, value);
  if (name != "resident") return false;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, model.resident);
  return error == std::errc{} && stop == end && model.resident >= 1;
}

}  // namespace

std::string to_string(const NcclModel& model) {
  return fmt::format("resident={},order={},links={},launch={}", model.resident,
                     name_of(orders, model.order), name_of(links, model.links),
                     name_of(launches, model.launch));
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
