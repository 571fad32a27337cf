// The options of `run` about the cost of a program.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "harness/cost/cost_report.h"
#include "harness/text/output_file.h"

namespace CLI {
class App;
}

namespace gang::harness {

// Counts what a program calls where --cost or --cost-json ask for it.
class CostOptions {
 public:
  void add_to(CLI::App& app);

  bool are_given() const noexcept { return prints_ || !json_path_.empty(); }

  // `program`, counted where asked for. Throws InvalidArgument for bad values.
  Program applied_to(const Program& program);

  // The report of a run of what `applied_to` has made of `program`: to `out` (--cost) and to the
  // file (--cost-json). Nothing where not asked for.
  void report(const Program& program, const RunResult& result, std::ostream& out);

 private:
  CostModel model() const;

  bool prints_ = false;
  std::string json_path_;
  int ranks_per_node_ = CostModel{}.ranks_per_node;
  std::string intra_link_;
  std::string inter_link_;
  std::optional<OutputFile> json_;
};

}  // namespace gang::harness
