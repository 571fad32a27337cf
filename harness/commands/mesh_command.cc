#include <array>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/gangs.h"
#include "harness/commands/commands.h"
#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

// In the order in which people read them, with what each is for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> gang_names = {{
    {"root", "all ranks"},
    {"dp", "data parallel"},
    {"rdp", "replicated data parallel"},
    {"sdp", "sharded data parallel"},
    {"tp", "tensor parallel"},
    {"pp", "pipeline parallel"},
}};

constexpr int most_drawn_ranks = 256;
constexpr std::size_t most_listed_gangs = 16;

struct Layout {
  int world_size = 8;
  ParallelSizes sizes;
  std::optional<int> intra_node_size;

  int dp_size() const { return world_size / sizes.tp_size / sizes.pp_size; }
};

// "[0-6:2]" for gangs of a regular stride, as ranges.
std::string to_text(const std::vector<int>& ranks) {
  return fmt::format("[{}]", ranks.size() <= 4 ? fmt::format("{}", fmt::join(ranks, ","))
                                               : sim::to_rank_ranges(ranks, 4));
}

std::string lines_of_gangs(std::string_view name, std::string_view purpose,
                           const std::vector<std::vector<int>>& gangs) {
  std::string text = fmt::format("\n  {:<5}{}: {} {} of {}\n", name, purpose, gangs.size(),
                                 gangs.size() == 1 ? "gang" : "gangs", gangs.front().size());
  constexpr std::string_view margin = "      ";
  std::string line{margin};
  const std::size_t listed = std::min(gangs.size(), most_listed_gangs);
  for (std::size_t i = 0; i < listed; ++i) {
    const std::string gang = " " + to_text(gangs[i]);
    if (line.size() + gang.size() > 80) {
      text += line + '\n';
      line = margin;
    }
    line += gang;
  }
  if (listed < gangs.size()) line += fmt::format(" ... {}", to_text(gangs.back()));
  return text + line + '\n';
}

// A table per pipeline stage: a row per dp rank, a column per tp rank; nodes are set apart.
std::string drawing(const Layout& layout) {
  const int tp_size = layout.sizes.tp_size;
  const int dp_size = layout.dp_size();
  std::string text;
  for (int stage = 0; stage < layout.sizes.pp_size; ++stage) {
    text += fmt::format("\n  pp {:<5}", stage);
    for (int column = 0; column < tp_size; ++column)
      text += fmt::format("{:>6}", fmt::format("tp{}", column));
    text += '\n';
    for (int row = 0; row < dp_size; ++row) {
      const bool begins_node =
          layout.intra_node_size && row > 0 && row % *layout.intra_node_size == 0;
      if (begins_node) text += fmt::format("          {:->{}}\n", "", 6 * tp_size);
      text += fmt::format("    dp {:<3}", row);
      for (int column = 0; column < tp_size; ++column)
        text += fmt::format("{:>6}", (stage * dp_size + row) * tp_size + column);
      text += '\n';
    }
  }
  return text;
}

std::string to_text(const Layout& layout, const GangLayout& gangs) {
  std::string text = fmt::format("world {} = pp {} x dp {} x tp {}", layout.world_size,
                                 layout.sizes.pp_size, layout.dp_size(), layout.sizes.tp_size);
  if (layout.intra_node_size)
    text += fmt::format(", {} dp ranks per node", *layout.intra_node_size);
  text += '\n';
  if (layout.world_size <= most_drawn_ranks && layout.sizes.tp_size <= 11) text += drawing(layout);
  for (const auto& [name, purpose] : gang_names)
    text += lines_of_gangs(name, purpose, gangs.gangs.at(std::string{name}));
  return text;
}

class MeshCommand final : public Command {
 public:
  std::string name() const override { return "mesh"; }
  std::string description() const override { return "draws the gangs of a parallel layout"; }
  std::vector<std::string> examples() const override {
    return {"mesh --world 8 --tp 2",
            "mesh --world 16 --tp 2 --pp 2 --intra-node 4 --json mesh.json"};
  }

  std::vector<Option> options() override {
    constexpr int most = sim::SimulationOptions::max_world_size;
    return {number_option("--world", "number of ranks [8]", layout_.world_size, 1, most),
            number_option("--tp", "tensor parallel ranks [1]", layout_.sizes.tp_size, 1, most),
            number_option("--pp", "pipeline parallel ranks [1]", layout_.sizes.pp_size, 1, most),
            number_option("--intra-node", "dp ranks per node, over which parameters are sharded",
                          layout_.intra_node_size, 1, most),
            json_.option("the gangs as JSON")};
  }

  int run(CommandContext& context) override {
    const GangLayout gangs = layout_of(layout_.world_size, layout_.sizes, layout_.intra_node_size);
    json_.write([&gangs] {
      return nlohmann::json{{"format", "gangsim mesh"},
                            {"version", 1},
                            {"world", gangs.world_size},
                            {"gangs", gangs.gangs}}
                 .dump() +
             "\n";
    });
    context.out << to_text(layout_, gangs);
    return exit_status::holds;
  }

 private:
  Layout layout_;
  FileOption json_{"--json"};
};

}  // namespace

std::unique_ptr<Command> make_mesh_command() { return std::make_unique<MeshCommand>(); }

}  // namespace gang::harness
