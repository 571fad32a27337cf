#include "harness/pipeline/stage_split.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

using training::LayerKind;
using training::LayerSpecification;
using training::Split;

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t comma = text.find(',');
    names.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

std::size_t place_of(StageLayers layers, const std::string& name) {
  const auto place = std::ranges::find(layers, name, &LayerSpecification::name);
  if (place != layers.end()) return static_cast<std::size_t>(place - layers.begin());
  std::vector<std::string> names;
  for (const LayerSpecification& layer : layers) names.push_back(layer.name);
  throw InvalidArgument("split: layer " + unknown_name(name, names));
}

// Where each stage begins, followed by the number of layers.
std::vector<std::size_t> named_cuts(StageLayers layers, int stages, std::string_view text) {
  const std::vector<std::string> names = names_in(text);
  if (names.size() != static_cast<std::size_t>(stages) - 1)
    throw InvalidArgument(
        fmt::format("split '{}' names {} layers; must name {}, the first layers of stages 1 to {}",
                    text, names.size(), stages - 1, stages - 1));
  std::vector<std::size_t> cuts{0};
  for (const std::string& name : names) {
    const std::size_t place = place_of(layers, name);
    if (place <= cuts.back())
      throw InvalidArgument(fmt::format(
          "split '{}' leaves stage {} empty, since {} does not come after {}; must name layers in "
          "order, from {} on",
          text, cuts.size() - 1, name, layers[cuts.back()].name, layers[1].name));
    cuts.push_back(place);
  }
  cuts.push_back(layers.size());
  return cuts;
}

int parts_of(Split split, Split divided, int tp_size) { return split == divided ? tp_size : 1; }

std::int64_t elements_of(const LayerSpecification& layer, int tp_size) {
  const auto inputs = std::int64_t{layer.inputs};
  const auto outputs = std::int64_t{layer.outputs};
  switch (layer.kind) {
    case LayerKind::relu:
    case LayerKind::gelu:
      return 0;
    case LayerKind::layer_norm:
      return 2 * outputs;
    case LayerKind::embedding:
      return outputs * inputs / parts_of(layer.split, Split::inputs, tp_size);
    case LayerKind::attention:
      return 4 * inputs * outputs / tp_size;
    case LayerKind::linear:
      break;
  }
  const int column_parts = parts_of(layer.split, Split::inputs, tp_size);
  const int row_parts = parts_of(layer.split, Split::outputs, tp_size);
  return outputs / row_parts * (inputs / column_parts) + outputs / row_parts;
}

bool reduces_forward(const LayerSpecification& layer) {
  return layer.kind == LayerKind::attention ||
         (layer.split == Split::inputs &&
          (layer.kind == LayerKind::linear || layer.kind == LayerKind::embedding));
}

bool reduces_backward(const LayerSpecification& layer) {
  return layer.kind == LayerKind::attention ||
         (layer.kind == LayerKind::linear && layer.split == Split::outputs);
}

}  // namespace

std::vector<StageLayers> split_stages(StageLayers layers, int stages,
                                      std::string_view specification) {
  std::vector<StageLayers> parts = training::split_evenly(layers, stages);
  if (specification.empty()) return parts;
  const std::vector<std::size_t> cuts = named_cuts(layers, stages, specification);
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = layers.subspan(cuts[i], cuts[i + 1] - cuts[i]);
  return parts;
}

std::int64_t boundary_rows(StageLayers layers, int tp_size) {
  bool is_part = false;
  for (const LayerSpecification& layer : layers) {
    if (layer.kind == LayerKind::relu || layer.kind == LayerKind::gelu) continue;
    is_part = layer.kind == LayerKind::linear && layer.split == Split::outputs;
  }
  return layers.back().outputs / (is_part ? tp_size : 1);
}

std::int64_t parameter_elements(StageLayers layers, int tp_size) {
  std::int64_t elements = 0;
  for (const LayerSpecification& layer : layers) elements += elements_of(layer, tp_size);
  return elements;
}

std::vector<TensorParallelCall> forward_calls(StageLayers layers, std::int64_t columns) {
  std::vector<TensorParallelCall> calls;
  for (const LayerSpecification& layer : layers)
    if (reduces_forward(layer)) calls.push_back({layer.name, layer.outputs * columns});
  return calls;
}

std::vector<TensorParallelCall> backward_calls(StageLayers layers, std::int64_t columns) {
  std::vector<TensorParallelCall> calls;
  for (std::size_t i = layers.size(); i-- > 0;)
    if (reduces_backward(layers[i])) calls.push_back({layers[i].name, layers[i].inputs * columns});
  return calls;
}

}  // namespace gang::harness
