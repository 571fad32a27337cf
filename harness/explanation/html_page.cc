#include "harness/explanation/html_page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/text/markup.h"

namespace gang::harness {
namespace {

// JSON that no HTML parser takes for markup, wherever it stands in a page.
std::string embedded(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char character : text) {
    switch (character) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += character;
    }
  }
  return safe;
}

// `text` with each mark, "@TITLE@", replaced. What is filled in is not looked through again.
std::string filled(std::string_view text,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> marks) {
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t nearest = text.size();
    std::pair<std::string_view, std::string_view> found;
    for (const auto& mark : marks) {
      const std::size_t place = text.find(mark.first, begin);
      if (place >= nearest) continue;
      nearest = place;
      found = mark;
    }
    result += text.substr(begin, nearest - begin);
    result += found.second;
    begin = nearest + found.first.size();
  }
  return result;
}

std::string title_of(const RunResult& result) {
  const std::string& program = result.specification.program;
  const std::string name = program.substr(program.rfind('/') + 1);
  const auto& findings = result.report.findings;
  return fmt::format("{}: {}", name,
                     findings.empty() ? to_string(result.report.outcome) : findings.front().id);
}

}  // namespace

std::string to_html(const RunResult& result, const std::optional<DecisiveChoice>& decisive) {
  const PageTemplate& page = page_template();
  const std::string title = markup_escaped(title_of(result));
  const std::string text = markup_escaped(to_text(decisive) + to_string(result));
  const std::string data = embedded(make_page_data(result, decisive));
  return filled(page.html, {{"@TITLE@", title},
                            {"@STYLE@", page.style},
                            {"@TEXT@", text},
                            {"@DATA@", data},
                            {"@SCRIPT@", page.script}});
}

}  // namespace gang::harness
