#include "harness/commands/exploration_files.h"

#include <nlohmann/json.hpp>

#include "harness/explanation/html_page.h"
#include "harness/explanation/run_sarif.h"
#include "harness/run/run_file.h"

namespace gang::harness {

void ExplorationFiles::add_to(std::vector<Option>& options) {
  options.push_back(json_.option("verdict, coverage and failure as JSON, for merge"));
  options.push_back(report_.option("a failure's explanation as one HTML page"));
  options.push_back(junit_.option("the verdict as JUnit XML"));
  options.push_back(sarif_.option("the failure's findings as SARIF, for code review"));
}

void ExplorationFiles::open() {
  for (FileOption* file : {&json_, &report_, &junit_, &sarif_}) file->open();
}

void ExplorationFiles::write(const ExplorationRecord& record) {
  json_.write([&record] { return to_json_text(to_json(record)); });
  if (record.failure)
    report_.write([&record] { return to_html(*record.failure, record.decisive); });
  junit_.write([&record] { return to_junit_xml("gangsim explore", {to_junit(record)}); });
  sarif_.write([&record] {
    return record.failure ? to_sarif_text("gangsim explore", *record.failure)
                          : to_sarif_text("gangsim explore", std::vector<SarifResult>{});
  });
}

}  // namespace gang::harness
