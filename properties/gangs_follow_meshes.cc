#include "properties/gangs_follow_meshes.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/generators/gang_program.h"
#include "properties/generators/layout_case.h"
#include "properties/rank_check.h"

namespace gang::properties {
namespace {

std::string check_field(const Gangs& gangs, const GangLayout& layout, const char* name, int rank) {
  const std::shared_ptr<Gang>& gang = gangs.at(name);
  if (!gang) return fmt::format("has no {} gang", name);
  const std::vector<int>* found = find_gang(layout.gangs.at(name), rank);
  if (found == nullptr) return fmt::format("no {} gang of the layout holds rank {}", name, rank);
  const std::vector<int>& members = *found;
  const auto place = std::ranges::find(members, rank) - members.begin();
  if (gang->size() != static_cast<int>(members.size()) || gang->rank() != place)
    return fmt::format("is rank {} of {} in {}, expected rank {} of [{}]", gang->rank(),
                       gang->size(), name, place, fmt::join(members, ","));
  if (rank == 0 && gang->rank() != 0) return fmt::format("rank 0 is not rank 0 of {}", name);
  std::int32_t own = rank;
  std::vector<std::int32_t> gathered(members.size());
  gang->all_gather(view(gathered), view_of(own));
  if (!std::ranges::equal(gathered, members))
    return fmt::format("{} is [{}], expected [{}]", name, fmt::join(gathered, ","),
                       fmt::join(members, ","));
  return {};
}

Verdict judge_members(const LayoutCase& wanted, const GangsFunction& make, const Subject& subject) {
  const GangLayout layout = layout_of(wanted.world(), wanted.sizes(), wanted.intra_node_size);
  const sim::SimulationOptions options{.world_size = wanted.world()};
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) {
    const Gangs gangs = make(rank.root(), wanted.sizes(), wanted.intra_node_size);
    for (const char* name : {"root", "dp", "rdp", "sdp", "tp", "pp"}) {
      std::string complaint = check_field(gangs, layout, name, rank.rank());
      if (!complaint.empty()) return complaint;
    }
    return std::string();
  });
}

// An axis of size 1 needs no communication, an axis of the root's size is the root itself.
Verdict judge_trivial_axes(const LayoutCase& wanted, const GangsFunction& make,
                           const Subject& subject) {
  const sim::SimulationOptions options{.world_size = wanted.world()};
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) -> std::string {
    const Gangs gangs = make(rank.root(), wanted.sizes(), wanted.intra_node_size);
    const std::pair<const char*, int> axes[] = {
        {"dp", wanted.dp}, {"tp", wanted.tp}, {"pp", wanted.pp}};
    for (const auto& [name, size] : axes) {
      const std::shared_ptr<Gang>& gang = gangs.at(name);
      const bool is_root = size == wanted.world() && size > 1;
      if (is_root && gang != gangs.root) return fmt::format("{} is not the root itself", name);
      if (size == 1 && gang->size() != 1) return fmt::format("{} is not of size 1", name);
    }
    return {};
  });
}

// Sums of root ranks over dp, tp and pp in any order are the sum over the root.
Verdict judge_reduction_by_axes(const LayoutCase& wanted, const GangsFunction& make,
                                const Subject& subject) {
  const sim::SimulationOptions options{.world_size = wanted.world(),
                                       .scheduler = sim::SchedulerKind::random};
  return judge_ranks(options, subject, [&](sim::SimulatedRank& rank) {
    const Gangs gangs = make(rank.root(), wanted.sizes(), wanted.intra_node_size);
    std::int64_t sum = rank.rank();
    for (const char* name : {"tp", "sdp", "rdp", "pp"}) {
      if (name == std::string_view("rdp") && !wanted.intra_node_size) continue;
      gangs.at(name)->all_reduce(view_of(sum), ReduceOperation::sum);
    }
    if (!wanted.intra_node_size) gangs.dp->all_reduce(view_of(sum), ReduceOperation::sum);
    const std::int64_t world = wanted.world();
    const std::int64_t expected = world * (world - 1) / 2;
    return sum == expected ? std::string()
                           : fmt::format("sums to {} over the axes, expected {}", sum, expected);
  });
}

using JudgeLayout = Verdict (*)(const LayoutCase&, const GangsFunction&, const Subject&);

constexpr LawRow<JudgeLayout> layout_laws[] = {
    {"all_ranks_agree_on_the_gangs_of_a_layout",
     "Every rank's gangs have the members, order and rank that the layout says.", judge_members},
    {"trivial_axes_need_no_communication",
     "An axis of size 1 is a gang of one; an axis of the root's size is the root.",
     judge_trivial_axes},
    {"reducing_over_the_axes_reduces_the_root",
     "tp, dp (or sdp and rdp) and pp together cover every rank once.", judge_reduction_by_axes},
};

}  // namespace

Gangs make_layout_gangs(const std::shared_ptr<Gang>& root, const ParallelSizes& sizes,
                        std::optional<int> intra_node_size) {
  Gangs gangs = create_parallel_gangs(root, sizes);
  return intra_node_size ? create_fsdp_gangs(gangs, intra_node_size) : gangs;
}

std::vector<Property> gangs_follow_meshes(const GangsFunction& make, const Subject& subject) {
  return laws_of<LayoutCase>(layout_laws,
                             {.suite = "gangs_follow_meshes", .enumerate = all_layouts},
                             [make, subject](JudgeLayout judge, const LayoutCase& layout) {
                               return judge(layout, make, subject);
                             });
}

}  // namespace gang::properties
