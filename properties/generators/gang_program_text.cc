// How a gang program reads.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/enum_names.h"
#include "properties/case_text.h"
#include "properties/generators/gang_program.h"

namespace gang::properties {
namespace {

constexpr auto form_texts =
    names_in_order<Form>("", ", started and waited for", ", started and polled",
                         ", started, waited for after the next step", ", started, never waited for",
                         ", started, its buffer written, then waited for");

std::string run_text(const RunChoices& run) {
  return fmt::format("{}, {}, {} sends", schedule_text(run.scheduler, run.seed),
                     to_string(run.execution), to_string(run.sends));
}

std::string data_text(const Step& step) {
  return fmt::format("{}[{}{}]", to_string(step.data_type), step.stacked ? "1," : "", step.count);
}

std::string what_text(const Step& step) {
  const std::string data = data_text(step);
  const std::string_view kind = to_string(step.kind);
  if (step.kind == OperationKind::send)
    return fmt::format("send {} from rank {} to rank {}", data, step.root, step.peer);
  if (step.kind == OperationKind::recv)
    return fmt::format("recv {} on rank {} from every other rank, any source", data, step.root);
  if (step.kind == OperationKind::batch) return fmt::format("ring {} by {}", data, step.peer);
  if (step.kind == OperationKind::barrier || step.kind == OperationKind::monitored_barrier)
    return std::string(kind);
  std::string text = fmt::format("{} ", kind);
  if (reduces(step.kind)) text += fmt::format("{} ", to_string(step.reduce_operation));
  text += data;
  if (has_root(step.kind)) text += fmt::format(" root {}", step.root);
  if (step.kind == OperationKind::all_reduce || step.kind == OperationKind::reduce ||
      is_scan(step.kind))
    text += step.in_place ? " in place" : " out of place";
  if (step.kind == OperationKind::all_to_all && step.uneven) text += " with split sizes";
  if (step.kind == OperationKind::all_gather && step.uneven) text += " with counts";
  return text;
}

}  // namespace

std::string to_text(const GangNode& node) {
  if (node.making == Making::create_gang)
    return fmt::format("create_gang([{}]) on gang {}", fmt::join(node.ranks, ","), node.parent);
  return fmt::format("split(color [{}], key [{}]) of gang {}", fmt::join(node.colors, ","),
                     fmt::join(node.keys, ","), node.parent);
}

std::string to_text(const Step& step) {
  return fmt::format("gang {}  {}{}", step.node, what_text(step), name_of(form_texts, step.form));
}

std::string to_text(const GangProgram& program) {
  std::string text =
      fmt::format("world {}, {}, {}, {}", program.world, counted(program.nodes.size(), "gang"),
                  counted(program.steps.size(), "step"), run_text(program.run));
  for (std::size_t i = 1; i < program.nodes.size(); ++i)
    text += fmt::format("\ngang {} = {}", i, to_text(program.nodes[i]));
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    text += fmt::format("\nstep {}  {}", i, to_text(program.steps[i]));
  return text;
}

}  // namespace gang::properties
