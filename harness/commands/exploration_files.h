// The files that an exploration can be written to.
#pragma once

#include <vector>

#include "harness/commands/option.h"
#include "harness/run/exploration_record.h"

namespace gang::harness {

// --json, --junit and --sarif of an exploration.
class ExplorationFiles {
 public:
  void add_to(std::vector<Option>& options);
  void open();
  void write(const ExplorationRecord& record);  // those that were given

 private:
  FileOption json_{"--json"};
  FileOption junit_{"--junit"};
  FileOption sarif_{"--sarif"};
};

}  // namespace gang::harness
