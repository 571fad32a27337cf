// The options of `run` about the cost of a program.
#pragma once

#include <iosfwd>
#include <string>

#include "harness/commands/option.h"
#include "harness/cost/cost_report.h"

namespace gang::harness {

// Counts what a program calls if --cost or --cost-json asks for it.
class CostOptions {
 public:
  void add_to(std::vector<Option>& options);

  bool are_given() const noexcept { return prints_ || json_.is_given(); }

  // `program`, counted if asked for. Throws InvalidArgument for bad values.
  Program applied_to(const Program& program);

  // Reports a run of what `applied_to` has made of `program`: to `out` (--cost) and to the file
  // (--cost-json), if asked for.
  void report(const Program& program, const RunResult& result, std::ostream& out);

 private:
  CostModel model() const;

  bool prints_ = false;
  int ranks_per_node_ = CostModel{}.ranks_per_node;
  std::string intra_link_;
  std::string inter_link_;
  FileOption json_{"--cost-json"};
};

}  // namespace gang::harness
