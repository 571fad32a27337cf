#include "properties/generators/layout_case.h"

#include <fmt/format.h>

#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> divisors;
  for (int divisor = 1; divisor <= number; ++divisor)
    if (number % divisor == 0) divisors.push_back(divisor);
  return divisors;
}

void add_layouts(int pp, int dp, int tp, std::vector<LayoutCase>& layouts) {
  layouts.push_back({pp, dp, tp, std::nullopt});
  for (const int node : divisors_of(dp))
    if (node > 1) layouts.push_back({pp, dp, tp, node});
}

// `layout` with one axis changed, and without nodes if they no longer fit.
LayoutCase with(LayoutCase layout, int LayoutCase::* axis, int size) {
  layout.*axis = size;
  if (layout.intra_node_size && layout.dp % *layout.intra_node_size != 0)
    layout.intra_node_size.reset();
  return layout;
}

}  // namespace

std::vector<LayoutCase> all_layouts(int max_world) {
  std::vector<LayoutCase> layouts;
  for (int world = 1; world <= max_world; ++world)
    for (const int pp : divisors_of(world))
      for (const int tp : divisors_of(world / pp)) add_layouts(pp, world / pp / tp, tp, layouts);
  return layouts;
}

std::string to_text(const LayoutCase& layout) {
  std::string text =
      fmt::format("world {}, pp {}, dp {}, tp {}", layout.world(), layout.pp, layout.dp, layout.tp);
  if (layout.intra_node_size) text += fmt::format(", intra-node {}", *layout.intra_node_size);
  return text;
}

std::vector<LayoutCase> shrinks(const LayoutCase& layout) {
  SimplerCases simpler(layout);
  for (const auto axis : {&LayoutCase::pp, &LayoutCase::tp, &LayoutCase::dp}) {
    for (const int size : {1, layout.*axis / 2, layout.*axis - 1}) {
      if (size < 1 || size >= layout.*axis) continue;
      simpler.add([axis, size](LayoutCase& one) { one = with(one, axis, size); });
    }
  }
  simpler.reset(&LayoutCase::intra_node_size);
  for (const int node : divisors_of(layout.intra_node_size.value_or(1)))
    if (node > 1) simpler.add([node](LayoutCase& one) { one.intra_node_size = node; });
  return simpler.take();
}

}  // namespace gang::properties
