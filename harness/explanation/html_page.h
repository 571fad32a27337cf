// The explanation of a run as one HTML file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "harness/run/decisive_choice.h"
#include "harness/run/runner.h"

namespace gang::harness {

// A page that needs nothing else: no network, no fonts, no other files. Verdict, what to do, where
// the ranks part, who waits for whom, a timeline, details on click. Texts of the program (labels,
// messages, paths) are shown as they are and never become markup. Without scripts it shows the text
// report. UTF-8; deterministic but for what the report says of wall time. `decisive`: what makes
// the failure one, if an exploration has found it.
std::string to_html(const RunResult& result, const std::optional<DecisiveChoice>& decisive = {});

// What the page shows, as JSON for its script: an object with the verdict, findings, grouped waits
// (`nodes`, `edges`) and timeline of a run, with all texts ready to be shown and ranks as ranges
// ("0-3,8"). Its size grows with what differs, not with the number of ranks.
nlohmann::json make_page_data(const RunResult& result,
                              const std::optional<DecisiveChoice>& decisive = {});

// The files of page/, as the build found them.
struct PageTemplate {
  std::string_view html;
  std::string_view style;
  std::string_view script;
};
const PageTemplate& page_template() noexcept;  // defined in the build tree

}  // namespace gang::harness
