// The files that an exploration can be written to.
#pragma once

#include <vector>

#include "harness/commands/option.h"
#include "harness/run/exploration_record.h"

namespace gang::harness {

// --json, --report, --junit and --sarif of an exploration.
class ExplorationFiles {
 public:
  void add_to(std::vector<Option>& options);
  void open();
  // Those that were given; the page only of a failure.
  void write(const ExplorationRecord& record);

  // The page of the failure; it shows the timeline, if the failure has it.
  const FileOption& report() const noexcept { return report_; }

 private:
  FileOption json_{"--json"};
  FileOption report_{"--report"};
  FileOption junit_{"--junit"};
  FileOption sarif_{"--sarif"};
};

}  // namespace gang::harness
