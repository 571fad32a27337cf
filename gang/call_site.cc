#include "gang/call_site.h"

#include <string_view>

namespace gang {

std::string to_string(const CallSite& call_site) {
  const std::string_view file = call_site.file == nullptr ? "" : call_site.file;
  if (file.empty()) return "unknown";
  const std::size_t slash = file.find_last_of('/');
  const std::string_view name = slash == std::string_view::npos ? file : file.substr(slash + 1);
  return std::string(name) + ":" + std::to_string(call_site.line);
}

}  // namespace gang
