#include "properties/generators/hybrid_case.h"

#include <algorithm>
#include <array>

#include "gang/error.h"

namespace gang::properties {
namespace {

using harness::HybridOptions;

constexpr std::string_view interleaved = "interleaved_1f1b";

bool accepts(const HybridOptions& options) {
  try {
    make_hybrid_plan(options);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

void add_if_accepted(HybridCase simpler, const HybridCase& one, std::vector<HybridCase>& all) {
  if (simpler != one && accepts(simpler.options)) all.push_back(std::move(simpler));
}

}  // namespace

HybridCase generate_hybrid(Draw& draw) {
  constexpr std::array schedules = {"gpipe", "1f1b", "interleaved_1f1b", "zero_bubble_h1"};
  constexpr std::array tp_sizes = {1, 1, 2, 4};
  HybridOptions options;
  options.pp = draw.between(1, 1 + draw.size / 34);
  options.tp = draw.any_of(tp_sizes);
  const int room = std::max(1, draw.max_world / (options.pp * options.tp));
  const int dp = draw.between(1, std::min(4, room));
  options.world_size = options.pp * options.tp * dp;
  if (dp > 1 && draw.one_in(2)) options.intra_node = dp == 4 && draw.one_in(2) ? 2 : dp;
  options.schedule = draw.any_of(schedules);
  const bool interleaves = options.schedule == interleaved;
  options.stages_per_rank = interleaves ? draw.between(1, 3) : 1;
  options.microbatches =
      interleaves ? options.pp * draw.between(1, 3) : options.pp + draw.between(0, 4);
  const int stages = options.pp * options.stages_per_rank;
  options.model = draw.one_in(4) ? "transformer" : "mlp";
  options.hidden = 4 * draw.between(1, 3);
  options.layers = options.model == "mlp" ? std::max(2, stages / 2 + 1 + draw.between(0, 3))
                                          : draw.between(1, 2);
  options.samples = draw.between(1, 3);
  options.steps = draw.between(1, 2);
  options.data_seed = draw.random.below(1000);
  while (!accepts(options)) ++options.layers;
  return {.options = options, .seed = draw.random.below(1000)};
}

std::string to_text(const HybridCase& one) {
  return to_command_line(specification_of(one), "gangsim");
}

std::vector<HybridCase> shrinks(const HybridCase& one) {
  std::vector<HybridCase> all;
  const auto add = [&](auto change) {
    HybridCase simpler = one;
    change(simpler.options);
    add_if_accepted(std::move(simpler), one, all);
  };
  add([](HybridOptions& o) { o.model = "mlp"; });
  add([](HybridOptions& o) { o.intra_node = 0; });
  add([](HybridOptions& o) { o.world_size /= o.tp, o.tp = 1; });
  add([](HybridOptions& o) { o.world_size = o.tp * o.pp, o.intra_node = 0; });
  add([](HybridOptions& o) {
    o.world_size = std::min(o.world_size, 2 * o.tp * o.pp), o.intra_node = 0;
  });
  add([](HybridOptions& o) { o.world_size /= o.pp, o.pp = 1; });
  add([](HybridOptions& o) { o.stages_per_rank = 1; });
  add([](HybridOptions& o) { o.schedule = "gpipe"; });
  add([](HybridOptions& o) { o.microbatches = o.pp; });
  add([](HybridOptions& o) { o.layers = std::min(o.layers, o.model == "mlp" ? 2 : 1); });
  add([](HybridOptions& o) { o.samples = 1; });
  add([](HybridOptions& o) { o.steps = 1; });
  add([](HybridOptions& o) { o.hidden = 4; });
  HybridCase in_order = one;
  in_order.seed = 0;
  add_if_accepted(in_order, one, all);
  return all;
}

harness::RunSpecification specification_of(const HybridCase& one) {
  const HybridOptions& options = one.options;
  harness::RunSpecification specification{.program = "hybrid", .world_size = options.world_size};
  specification.parameters = {{"pp", std::to_string(options.pp)},
                              {"tp", std::to_string(options.tp)},
                              {"intra_node", std::to_string(options.intra_node)},
                              {"schedule", options.schedule},
                              {"stages_per_rank", std::to_string(options.stages_per_rank)},
                              {"microbatches", std::to_string(options.microbatches)},
                              {"model", options.model},
                              {"hidden", std::to_string(options.hidden)},
                              {"layers", std::to_string(options.layers)},
                              {"samples", std::to_string(options.samples)},
                              {"steps", std::to_string(options.steps)},
                              {"data_seed", std::to_string(options.data_seed)}};
  if (one.seed != 0) {
    specification.schedule = harness::ScheduleChoice::random;
    specification.options.seed = one.seed;
  }
  return specification;
}

}  // namespace gang::properties
