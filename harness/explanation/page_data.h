// What the HTML page of a run shows, as JSON for its script.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/run/runner.h"

namespace gang::harness {

// An object with the verdict, findings, grouped waits (`nodes`, `edges`) and timeline of a run,
// with all texts ready to be shown and ranks as ranges ("0-3,8"). Its size grows with what differs,
// not with the number of ranks. Read by page.js, graph.js, faults.js and timeline.js.
nlohmann::json make_page_data(const RunResult& result);

}  // namespace gang::harness
