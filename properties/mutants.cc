#include "properties/mutants.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/program/digest.h"
#include "properties/program_run.h"

namespace gang::properties {
namespace {

// Digests of what every step left in the outputs and inputs of every rank.
using Results = std::map<std::pair<int, int>, std::uint64_t>;  // by rank and id of the step

struct Ran {
  sim::Report report;
  Results results;
};

std::span<const std::byte> bytes_of(const Image& image, const Region& region, DataType type) {
  return std::span(image).subspan(region.offset,
                                  static_cast<std::size_t>(region.count) * size_bytes(type));
}

void add_results(const ProgramMemory& memory, int rank, const Image& image, Results& results) {
  const GangProgram& program = memory.program();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Place& place = memory.place(i, rank);
    if (!place.takes_part()) continue;
    harness::Digest digest;
    digest.add(bytes_of(image, place.input, data_type_of(program.steps[i])));
    digest.add(bytes_of(image, place.output, data_type_of(program.steps[i])));
    results[{rank, id_of(program, i)}] = digest.value();
  }
}

// Runs the program, except that one rank runs `mistaken` instead.
Ran run(const Mutant& mutant, const GangProgram& mistaken, const Subject& subject) {
  const int odd = mutant.rank % mutant.program.world;
  const ProgramMemory memory(mutant.program);
  const ProgramMemory own_memory(mistaken);
  Image image = memory.initial_image();
  Image own_image = own_memory.initial_image();
  Ran ran;
  ran.report = subject.simulate(options_of(mutant.program), [&](sim::SimulatedRank& rank) {
    if (rank.rank() == odd)
      run_rank(own_memory, rank.root(), subject, own_image);
    else
      run_rank(memory, rank.root(), subject, image);
  });
  if (!ran.report.findings.empty()) return ran;
  for (int rank = 0; rank < mutant.program.world; ++rank)
    add_results(rank == odd ? own_memory : memory, rank, rank == odd ? own_image : image,
                ran.results);
  return ran;
}

// -- What the report must say --

bool is_message(const std::string& place) { return place.find(" tag ") != std::string::npos; }

// How the calls of a rank that others see differ from the right ones.
struct Difference {
  std::vector<std::string> places;  // gangs and links in which they differ
  std::set<int> steps;              // ids: the mistaken ones, and the first that differ
};

void add_first_difference(const std::string& place, const std::vector<VisibleCall>& right,
                          const std::vector<VisibleCall>& wrong, Difference& difference) {
  std::size_t first = 0;
  while (first < right.size() && first < wrong.size() && right[first] == wrong[first]) ++first;
  if (first == right.size() && first == wrong.size()) return;
  difference.places.push_back(place);
  if (first < right.size()) difference.steps.insert(right[first].id);
  if (first < wrong.size()) difference.steps.insert(wrong[first].id);
}

Difference difference_of(const Mutant& mutant, const GangProgram& mistaken) {
  const int odd = mutant.rank % mutant.program.world;
  const VisibleCalls right = visible_calls(mutant.program, odd);
  const VisibleCalls wrong = visible_calls(mistaken, odd);
  Difference difference;
  const auto calls_in = [](const VisibleCalls& calls, const std::string& place) {
    const auto found = calls.find(place);
    return found == calls.end() ? std::vector<VisibleCall>{} : found->second;
  };
  std::set<std::string> places;
  for (const auto& [place, calls] : right) places.insert(place);
  for (const auto& [place, calls] : wrong) places.insert(place);
  for (const std::string& place : places)
    add_first_difference(place, calls_in(right, place), calls_in(wrong, place), difference);
  for (const int id : mistaken_steps(mutant)) difference.steps.insert(id);
  return difference;
}

const std::vector<int>& gang_of(const Mutant& mutant, const Membership& members, int node) {
  return *find_gang(members[static_cast<std::size_t>(node)], mutant.rank % mutant.program.world);
}

// Ranks that call both swapped steps as collectives.
std::size_t ranks_in_both(const Mutant& mutant) {
  const Membership members = members_of(mutant.program);
  const std::vector<int> ids = mistaken_steps(mutant);
  const auto is_collective = [&mutant](int id) {
    return !is_point_to_point(mutant.program.steps[static_cast<std::size_t>(id)].kind);
  };
  if (ids.size() < 2 || !std::ranges::all_of(ids, is_collective)) return 0;
  const auto gang_at = [&](int id) {
    std::vector<int> gang =
        gang_of(mutant, members, mutant.program.steps[static_cast<std::size_t>(id)].node);
    std::ranges::sort(gang);
    return gang;
  };
  std::vector<int> both;
  std::ranges::set_intersection(gang_at(ids[0]), gang_at(ids[1]), std::back_inserter(both));
  return both.size();
}

// Whether a blocked call is one of those that cause the deadlock.
bool is_cause(const sim::Report& report, const sim::BlockedCall& blocked) {
  return blocked.is_core ||
         std::ranges::none_of(report.blocked, [](const auto& other) { return other.is_core; });
}

// Whether the report names the rank as a possible culprit: among the odd ones out, the diverging
// calls, the near misses, the core of the blocked calls, or the ranks that those wait for.
bool names(const sim::Report& report, int rank) {
  const auto has = [rank](const std::vector<int>& ranks) {
    return std::ranges::count(ranks, rank) != 0;
  };
  const sim::Finding& finding = report.findings.front();
  if (has(finding.ranks)) return true;
  if (finding.divergence &&
      std::ranges::any_of(finding.divergence->next, has, &sim::CallSummary::ranks))
    return true;
  if (std::ranges::any_of(finding.near_misses, [&](const sim::NearMiss& near) {
        return has(near.first.ranks) || has(near.second.ranks);
      }))
    return true;
  return std::ranges::any_of(report.blocked, [&](const sim::BlockedCall& blocked) {
    if (!is_cause(report, blocked)) return false;
    const bool lists_all = blocked.waits_for.size() == blocked.waits_for_count;
    return blocked.rank == rank || has(blocked.waits_for) || !lists_all;
  });
}

bool names_a_step(const sim::Report& report, const std::set<int>& steps) {
  const sim::Finding& finding = report.findings.front();
  const auto is_one = [&steps](const SourceLocation& location) {
    return std::ranges::any_of(
        steps, [text = to_string(location)](int id) { return text == fmt::format("step:{}", id); });
  };
  if (is_one(finding.location)) return true;
  const std::string message = sim::full_message(finding);
  const auto is_in_text = [&message](int id) {
    const std::string site = fmt::format("step:{}", id);
    const std::size_t found = message.find(site);
    if (found == std::string::npos) return false;
    const std::size_t end = found + site.size();
    return end == message.size() || std::isdigit(message[end]) == 0;
  };
  if (std::ranges::any_of(steps, is_in_text)) return true;
  if (std::ranges::any_of(finding.near_misses, [&](const sim::NearMiss& near) {
        return is_one(near.first.location) || is_one(near.second.location);
      }))
    return true;
  if (finding.divergence &&
      std::ranges::any_of(finding.divergence->next, is_one, &sim::CallSummary::location))
    return true;
  return std::ranges::any_of(report.blocked, [&](const sim::BlockedCall& blocked) {
    return is_cause(report, blocked) &&
           (is_one(blocked.location) || (blocked.behind && is_one(blocked.behind->location)));
  });
}

// -- The verdict --

Verdict judge_detected(const Mutant& mutant, const GangProgram& mistaken, const sim::Report& report,
                       MutantFigures& figures) {
  const int odd = mutant.rank % mutant.program.world;
  const sim::Finding& finding = report.findings.front();
  ++figures.detected;
  if (!names(report, odd))
    return Verdict::violated(
        fmt::format("the report does not name rank {}\n{}", odd, to_string(report)));
  const Difference difference = difference_of(mutant, mistaken);
  if (!names_a_step(report, difference.steps))
    return Verdict::violated(fmt::format("the report names no call of step {}\n{}",
                                         fmt::join(difference.steps, " or "), to_string(report)));
  const bool is_alone = finding.ranks == std::vector<int>{odd};
  const bool is_own =
      mutant.mutation == Mutation::forgotten_wait || mutant.mutation == Mutation::early_reuse;
  if (is_own && !is_alone)
    return Verdict::violated("the finding also names other ranks\n" + to_string(report));
  if (is_own || !has_majority(mutant)) return Verdict::holds();
  ++figures.majorities;
  if (is_alone) ++figures.right_first;
  return Verdict::holds();
}

Verdict judge_mutant(const Mutant& mutant, const Subject& subject, MutantFigures& figures) {
  const auto mistaken = mistaken_program(mutant);
  if (!mistaken) return Verdict::not_applicable();
  const Ran wrong = run(mutant, *mistaken, subject);
  if (!wrong.report.findings.empty() &&
      wrong.report.findings.front().id == sim::finding_id::rank_failed)
    ++figures.noticed;
  if (!wrong.report.findings.empty())
    return judge_detected(mutant, *mistaken, wrong.report, figures);
  const Ran right = run(mutant, mutant.program, subject);
  if (!right.report.findings.empty())
    return Verdict::violated("the correct program has findings\n" + to_string(right.report));
  if (wrong.report.outcome == right.report.outcome && wrong.results == right.results) {
    ++figures.equivalent;
    return Verdict::holds();
  }
  if (difference_of(mutant, *mistaken).places.empty()) {
    ++figures.same_calls;
    return Verdict::holds();
  }
  return Verdict::violated("the results differ, but there is no finding");
}

void add_figures(const MutantFigures& figures, CheckResult& result) {
  result.figures = to_string(figures);
  const double share = static_cast<double>(figures.right_first) /
                       static_cast<double>(std::max<std::uint64_t>(1, figures.majorities));
  constexpr std::uint64_t enough = 100;
  if (result.held() && figures.majorities >= enough && share < least_right_first)
    result.gave_up = fmt::format(
        "only the mistaken rank is named in {:.2f} % of the cases with a majority, expected {:.0f} "
        "% "
        "or more",
        100 * share, 100 * least_right_first);
}

}  // namespace

std::string to_string(const MutantFigures& figures) {
  const std::uint64_t detected = figures.detected;
  const std::uint64_t majorities = figures.majorities;
  const std::uint64_t right_first = figures.right_first;
  return fmt::format(
      "{} detected ({} by the program itself), {} equivalent, {} with the same calls\n"
      "only the mistaken rank is named in {} of {} cases with a majority ({:.2f} %)",
      detected, figures.noticed.load(), figures.equivalent.load(), figures.same_calls.load(),
      right_first, majorities,
      100.0 * static_cast<double>(right_first) /
          static_cast<double>(std::max<std::uint64_t>(1, majorities)));
}

bool has_majority(const Mutant& mutant) {
  const auto mistaken = mistaken_program(mutant);
  if (!mistaken) return false;
  constexpr std::size_t fewest = 3;
  const Difference difference = difference_of(mutant, *mistaken);
  if (difference.places.empty()) return ranks_in_both(mutant) >= fewest;
  const Membership members = members_of(mutant.program);
  return std::ranges::all_of(difference.places, [&](const std::string& place) {
    if (is_message(place)) return false;
    const int node = std::stoi(place.substr(std::string_view("gang ").size()));
    return gang_of(mutant, members, node).size() >= fewest;
  });
}

std::vector<Property> mutants(const Subject& subject) {
  Law<Mutant> law{
      .suite = "mutants",
      .name = "a_mistake_is_laid_at_its_ranks_door",
      .description = "One wrong call in a correct program gives a finding with rank and call.",
      .generate = generate_mutant};
  Property property = to_property(law);
  property.check = [subject, law](const Settings& settings) {
    MutantFigures figures;
    Law<Mutant> counting = law;
    counting.verdict = [&](const Mutant& mutant) { return judge_mutant(mutant, subject, figures); };
    CheckResult result = to_property(counting).check(settings);
    add_figures(figures, result);
    return result;
  };
  return {property};
}

}  // namespace gang::properties
