#include "harness/program_file/document.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/program_file/block_reader.h"
#include "harness/program_file/toml_nodes.h"
#include "harness/run/fault_file.h"
#include "harness/run/fault_table.h"
#include "harness/text/output_file.h"
#include "harness/text/suggestion.h"
#include "sim/report/report.h"

namespace gang::harness::program_file {
namespace {

class DocumentReader {
 public:
  DocumentReader(const std::string& path, std::string source)
      : file_(std::make_shared<ProgramFile>()), nodes_(file_->path.c_str()) {
    file_->path = path;
    nodes_ = TomlNodes{file_->path.c_str()};
    document_.source = std::move(source);
    document_.specification.program = path;
  }

  Document read() && {
    const toml::table root = parse();
    nodes_.check_keys(root, {"program", "world", "data", "layout", "gangs", "do", "options", "set",
                             "faults", "expect"});
    if (const toml::node* program = root.get("program"))
      read_scenario(root, *program);
    else
      read_program(root);
    if (const toml::node* world = root.get("world"))
      document_.specification.world_size = static_cast<int>(
          nodes_.integer(*world, "world", 1, sim::SimulationOptions::max_world_size));
    if (const toml::node* options = root.get("options")) read_options(*options);
    if (const toml::node* parameters = root.get("set")) read_parameters(*parameters);
    if (const toml::node* faults = root.get("faults")) read_faults(*faults);
    if (const toml::node* expect = root.get("expect")) read_expectation(*expect);
    return std::move(document_);
  }

 private:
  toml::table parse() const {
    try {
      return toml::parse(std::string_view{document_.source}, file_->path);
    } catch (const toml::parse_error& error) {
      const toml::source_position begin = error.source().begin;
      fail_at({file_->path.c_str(), begin.line, begin.column}, error.description());
    }
  }

  void read_scenario(const toml::table& root, const toml::node& program) {
    document_.program_name = nodes_.text(program, "program").get();
    for (const char* key : {"layout", "gangs", "do", "data"})
      if (const toml::node* node = root.get(key))
        nodes_.fail(*node, fmt::format("{} belongs to a program file; this is a scenario of "
                                       "program {}",
                                       key, document_.program_name));
  }

  void read_program(const toml::table& root) {
    const toml::node* blocks = root.get("do");
    if (blocks == nullptr)
      throw InvalidArgument(fmt::format(
          "{}: neither 'program' (a scenario) nor '[[do]]' (a program file)", file_->path));
    if (root.get("world") == nullptr)
      throw InvalidArgument(fmt::format("{}: a program file says 'world = N'", file_->path));
    if (const toml::node* data = root.get("data")) file_->has_data = nodes_.flag(*data, "data");
    if (const toml::node* layout = root.get("layout")) read_layout(*layout);
    if (const toml::node* gangs = root.get("gangs")) read_gangs(*gangs);
    file_->blocks = read_blocks(nodes_, *blocks);
    document_.program_file = file_;
  }

  void read_layout(const toml::node& node) {
    const toml::table& table = nodes_.table(node, "layout");
    nodes_.check_keys(table, {"tp", "pp", "intra_node"});
    const auto size_of = [&](const char* key, int otherwise) {
      const toml::node* size = table.get(key);
      if (size == nullptr) return otherwise;
      return static_cast<int>(
          nodes_.integer(*size, key, 1, sim::SimulationOptions::max_world_size));
    };
    Layout layout{.place = nodes_.place_of(node)};
    layout.sizes = {.tp_size = size_of("tp", 1), .pp_size = size_of("pp", 1)};
    if (table.contains("intra_node")) layout.intra_node_size = size_of("intra_node", 1);
    file_->layout = layout;
  }

  void read_gangs(const toml::node& node) {
    for (const auto& [key, lists] : nodes_.table(node, "gangs")) {
      DeclaredGang gang{.name = std::string{key.str()}, .place = nodes_.place_of(lists)};
      if (gang.name == "root") nodes_.fail(lists, "root is always there; accepted: other names");
      const toml::array& array = nodes_.array(lists, "a gang");
      if (array.empty()) nodes_.fail(lists, "a gang has at least one rank");
      if (array.front().is_array()) {
        for (const toml::node& ranks : array)
          gang.rank_lists.push_back(nodes_.ranks(ranks, "a gang's ranks"));
      } else {
        gang.rank_lists.push_back(nodes_.ranks(lists, "a gang's ranks"));
      }
      check_unique(lists, gang);
      file_->gangs.push_back(std::move(gang));
    }
    // As they stand in the file; a TOML table has no order.
    std::ranges::sort(file_->gangs, {}, [](const DeclaredGang& gang) {
      return std::pair{gang.place.line, gang.place.column};
    });
  }

  void check_unique(const toml::node& node, const DeclaredGang& gang) const {
    std::set<int> seen;
    for (const std::vector<int>& ranks : gang.rank_lists)
      for (const int rank : ranks)
        if (!seen.insert(rank).second)
          nodes_.fail(node, fmt::format("rank {} is in {} twice", rank, gang.name));
  }

  void read_options(const toml::node& node) {
    for (const auto& [key, value] : nodes_.table(node, "options")) {
      try {
        set_option(document_.specification, key.str(), nodes_.scalar(value, key.str()));
      } catch (const InvalidArgument& error) {
        nodes_.fail(value, error.what());
      }
    }
  }

  void read_parameters(const toml::node& node) {
    for (const auto& [key, value] : nodes_.table(node, "set"))
      document_.specification.parameters[std::string{key.str()}] = nodes_.scalar(value, key.str());
  }

  void read_faults(const toml::node& node) {
    if (const auto* name = node.as_string()) {
      try {
        document_.specification.faults = load_faults(name->get());
      } catch (const InvalidArgument& error) {
        nodes_.fail(node, error.what());
      }
    } else if (const toml::table& table = nodes_.table(node, "faults"); !table.empty()) {
      document_.specification.faults = faults_of(table, file_->path);
    }
  }

  void read_expectation(const toml::node& node) {
    const toml::table& table = nodes_.table(node, "expect");
    nodes_.check_keys(table, {"outcome", "findings", "ranks", "at"});
    if (const toml::node* outcome = table.get("outcome")) {
      const std::string& text = nodes_.text(*outcome, "outcome").get();
      const std::vector<std::string> accepted = {"completed", "deadlock", "failed", "step_limit"};
      if (std::ranges::find(accepted, text) == accepted.end())
        nodes_.fail(*outcome, "outcome " + unknown_name(text, accepted));
      document_.expectation.outcome = text;
    }
    if (const toml::node* findings = table.get("findings"))
      document_.expectation.findings = texts(*findings, "findings", "a finding");
    if (const toml::node* at = table.get("at"))
      document_.expectation.at = texts(*at, "at", "a place \"FILE:LINE\"");
    if (const toml::node* ranks = table.get("ranks")) {
      document_.expectation.ranks = nodes_.ranks(*ranks, "ranks");
      std::ranges::sort(*document_.expectation.ranks);
    }
  }

  std::vector<std::string> texts(const toml::node& node, std::string_view name,
                                 std::string_view one) const {
    std::vector<std::string> texts;
    for (const toml::node& text : nodes_.array(node, name))
      texts.push_back(nodes_.text(text, one).get());
    return texts;
  }

  std::shared_ptr<ProgramFile> file_;
  TomlNodes nodes_;
  Document document_;
};

}  // namespace

Document read_document(const std::string& path) {
  return parse_document(path, read_file("program file", path));
}

Document parse_document(const std::string& path, std::string source) {
  return DocumentReader{path, std::move(source)}.read();
}

}  // namespace gang::harness::program_file
