#include "gang/call_site.h"

#include <charconv>
#include <system_error>

namespace gang {
namespace {

constexpr std::string_view unknown = "unknown";

std::string_view last_component(std::string_view file) { return file.substr(file.rfind('/') + 1); }

}  // namespace

std::string to_string(const CallSite& call_site) {
  const std::string_view file = call_site.file();
  if (file.empty()) return std::string(unknown);
  return std::string(last_component(file)) + ":" + std::to_string(call_site.line());
}

SourceLocation location_of(const CallSite& call_site) {
  const std::string_view file = call_site.file();
  if (file.empty()) return {.file = std::string(unknown)};
  return {.file = std::string(file), .line = call_site.line(), .function = call_site.function()};
}

std::string to_string(const SourceLocation& location) {
  std::string text(last_component(location.file));
  if (!text.empty() && text != unknown) text += ":" + std::to_string(location.line);
  return text;
}

SourceLocation parse_source_location(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::uint32_t line = 0;
  if (colon != std::string_view::npos && colon != 0) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, line);
    if (error == std::errc{} && stop == end && stop != text.data() + colon + 1)
      return {.file = std::string(text.substr(0, colon)), .line = line};
  }
  return {.file = std::string(text)};
}

bool is_same_line(const SourceLocation& a, const SourceLocation& b) noexcept {
  return a.line == b.line && a.file == b.file;
}

}  // namespace gang
