#include "harness/training/model_specification.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"

namespace gang::harness::training {
namespace {

// The number of things that tp divides in a layer; 0 if it divides nothing.
int divided_size(const LayerSpecification& layer) {
  if (layer.kind == LayerKind::attention) return layer.heads;
  if (layer.split == Split::none) return 0;
  return layer.split == Split::outputs ? layer.outputs : layer.inputs;
}

std::string_view divided_word(const LayerSpecification& layer) {
  if (layer.kind == LayerKind::attention) return "heads";
  if (layer.kind == LayerKind::embedding) return "tokens of the vocabulary";
  return layer.split == Split::outputs ? "outputs" : "inputs";
}

}  // namespace

ModelSpecification mlp(const MlpSizes& sizes) {
  ModelSpecification model;
  for (int i = 0; i < sizes.linears; ++i) {
    const bool is_last = i == sizes.linears - 1;
    const bool is_first_of_pair = i % 2 == 0;
    LayerSpecification linear;
    linear.kind = LayerKind::linear;
    linear.name = fmt::format("linear{}", i);
    linear.inputs = i == 0 ? sizes.inputs : sizes.hidden;
    linear.outputs = is_last ? sizes.outputs : sizes.hidden;
    linear.split = !is_first_of_pair ? Split::inputs : is_last ? Split::none : Split::outputs;
    model.layers.push_back(linear);
    if (is_last) break;
    model.layers.push_back({.kind = LayerKind::relu,
                            .name = fmt::format("relu{}", i),
                            .inputs = sizes.hidden,
                            .outputs = sizes.hidden});
  }
  return model;
}

ModelSpecification transformer(const TransformerSizes& sizes) {
  ModelSpecification model{.layers = {},
                           .objective = Objective::cross_entropy,
                           .numbers = Numbers::real,
                           .sequence = sizes.sequence};
  const int width = sizes.width;
  const auto add = [&model](LayerKind kind, std::string name, int inputs, int outputs,
                            Split split) -> LayerSpecification& {
    model.layers.push_back({kind, std::move(name), inputs, outputs, split});
    return model.layers.back();
  };
  add(LayerKind::embedding, "embedding", sizes.vocabulary, width, Split::inputs);
  for (int i = 0; i < sizes.blocks; ++i) {
    LayerSpecification& attention =
        add(LayerKind::attention, fmt::format("attention{}", i), width, width, Split::outputs);
    attention.heads = sizes.heads;
    attention.sequence = sizes.sequence;
    add(LayerKind::layer_norm, fmt::format("norm{}", 2 * i), width, width, Split::none);
    add(LayerKind::linear, fmt::format("linear{}", 2 * i), width, 4 * width, Split::outputs);
    add(LayerKind::gelu, fmt::format("gelu{}", i), 4 * width, 4 * width, Split::none);
    add(LayerKind::linear, fmt::format("linear{}", 2 * i + 1), 4 * width, width, Split::inputs);
    add(LayerKind::layer_norm, fmt::format("norm{}", 2 * i + 1), width, width, Split::none);
  }
  add(LayerKind::linear, "head", width, sizes.vocabulary, Split::outputs);
  return model;
}

std::vector<std::span<const LayerSpecification>> split_evenly(
    std::span<const LayerSpecification> layers, int parts) {
  const auto count = static_cast<std::size_t>(std::max(parts, 0));
  if (count < 1 || count > layers.size())
    throw InvalidArgument(
        fmt::format("a model of {} layers cannot be split into {} parts; must be 1 to {}",
                    layers.size(), parts, layers.size()));
  std::vector<std::span<const LayerSpecification>> all;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = layers.size() / (count - i) + (layers.size() % (count - i) > 0);
    all.push_back(layers.first(size));
    layers = layers.subspan(size);
  }
  return all;
}

std::vector<int> possible_tp_sizes(std::span<const LayerSpecification> layers) {
  int smallest = 0;
  for (const LayerSpecification& layer : layers) {
    const int size = divided_size(layer);
    if (size > 0) smallest = smallest == 0 ? size : std::min(smallest, size);
  }
  std::vector<int> sizes;
  for (int tp = 1; tp <= std::max(1, smallest); ++tp) {
    const bool divides_all = std::ranges::all_of(
        layers, [tp](const LayerSpecification& layer) { return divided_size(layer) % tp == 0; });
    if (divides_all) sizes.push_back(tp);
  }
  return sizes;
}

void check_tp_size(std::span<const LayerSpecification> layers, int tp_size) {
  for (const LayerSpecification& layer : layers) {
    if (tp_size >= 1 && divided_size(layer) % tp_size == 0) continue;
    throw InvalidArgument(fmt::format("tp {} does not divide the {} {} of {}; must be one of: {}",
                                      tp_size, divided_size(layer), divided_word(layer), layer.name,
                                      fmt::join(possible_tp_sizes(layers), ", ")));
  }
}

}  // namespace gang::harness::training
