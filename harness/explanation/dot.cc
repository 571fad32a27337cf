#include <fmt/format.h>

#include "harness/explanation/grouped_waits.h"

namespace gang::harness {
namespace {

// The inside of a quoted string.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character == '"' || character == '\\') result += '\\';
    if (character == '\n' || character == '\r')
      result += ' ';
    else if (static_cast<unsigned char>(character) >= 0x20)
      result += character;
  }
  return result;
}

std::string label_of(const WaitNode& node) {
  std::string label =
      (node.ranks.size() == 1 ? "rank " : "ranks ") + sim::to_rank_ranges(node.ranks, 8);
  if (!node.is_blocked()) return label + "\\n" + escaped(node.note);
  const sim::CallGroup& group = *node.group;
  const std::string gang = group.gang_text();
  if (!group.first().context.empty()) label += " / " + escaped(group.first().context);
  label += "\\n" + escaped(gang) + (gang.empty() ? "" : "  ") + escaped(to_string(group.call));
  if (!group.first().location.empty()) label += "\\n" + escaped(to_string(group.first().location));
  if (group.behind)
    label += fmt::format("\\nbehind {}  {}\\n{}", escaped(to_string(group.behind->gang)),
                         escaped(to_string(group.behind->call)),
                         escaped(to_string(group.behind->location)));
  return label;
}

std::string style_of(const WaitNode& node) {
  if (!node.is_blocked()) return ", style=dotted";
  std::string style = node.group->first().waits_for_any ? ", shape=ellipse" : "";
  if (node.is_core()) style += ", color=\"#a8201a\", penwidth=2.5";
  return style;
}

}  // namespace

std::string to_dot(const sim::Report& report) {
  const GroupedWaits waits = group_waits(report);
  std::string text =
      "digraph wait_for {\n"
      "  graph [rankdir=TB, fontname=\"sans-serif\"];\n"
      "  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  if (waits.nodes.empty()) text += "  nobody [label=\"nobody waits\", shape=plaintext];\n";
  for (std::size_t i = 0; i < waits.nodes.size(); ++i)
    text += fmt::format("  n{} [label=\"{}\"{}];\n", i, label_of(waits.nodes[i]),
                        style_of(waits.nodes[i]));
  for (const WaitEdge& edge : waits.edges) {
    const WaitNode& from = waits.nodes[edge.from];
    const bool is_core =
        from.is_core() && (waits.nodes[edge.to].is_core() || !waits.nodes[edge.to].is_blocked());
    std::string style = from.group->first().waits_for_any ? "style=dashed, label=\"any\"" : "";
    if (is_core) style += std::string(style.empty() ? "" : ", ") + "color=\"#a8201a\", penwidth=2";
    text += fmt::format("  n{} -> n{}{};\n", edge.from, edge.to,
                        style.empty() ? "" : fmt::format(" [{}]", style));
  }
  return text + "}\n";
}

}  // namespace gang::harness
