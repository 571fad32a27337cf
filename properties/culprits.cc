#include "properties/culprits.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/generators/culprit_program.h"
#include "sim/further_runs/settled_run.h"

namespace gang::properties {
namespace {

std::set<int> culprit_ranks(const CulpritCase& one) {
  std::set<int> ranks;
  for (const Culprit& culprit : one.culprits) ranks.insert(culprit.rank);
  return ranks;
}

bool is_at_own_line(const CulpritCase& one, const sim::Finding& finding) {
  return std::ranges::any_of(one.culprits, [&](const Culprit& culprit) {
    return std::ranges::any_of(lines_of(one, culprit), [&finding](int line) {
      return to_string(finding.location) == fmt::format("{}:{}", culprit_file, line);
    });
  });
}

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
}

Verdict judge(const CulpritCase& one, const Subject& subject, CulpritFigures& figures) {
  const sim::Report report =
      subject.simulate(options_of(one), [&one](sim::SimulatedRank& rank) { run_rank(one, rank); });
  if (report.findings.empty()) {
    ++figures.without_effect;
    return Verdict::holds();
  }
  ++figures.found;
  const std::set<int> culprits = culprit_ranks(one);
  std::set<int> named;
  for (const sim::Finding& finding : report.findings)
    named.insert(finding.ranks.begin(), finding.ranks.end());
  if (named.empty()) return Verdict::violated("no rank is named\n" + to_string(report));
  const bool is_one = one.culprits.size() == 1;
  const bool names_none =
      std::ranges::none_of(culprits, [&named](int culprit) { return named.contains(culprit); });
  if (is_one && names_none)
    return Verdict::violated(
        fmt::format("only innocents are named: {}\n{}", fmt::join(named, ","), to_string(report)));
  if (std::ranges::includes(culprits, named)) ++figures.alone;
  if (is_far_behind(one))
    ++figures.far_behind;
  else if (is_at_own_line(one, report.findings.front()))
    ++figures.own_line;
  return Verdict::holds();
}

CulpritCase generate_early_end(Draw& draw) {
  CulpritCase one = generate_culprit(draw);
  one.culprits.front().slip = draw.one_in(2) ? Slip::throws : Slip::returns;
  // Of a message, and of a call that few ranks make, either side may be to blame.
  for (SharedCall& call : one.calls) call.makers = Makers::all;
  for (SharedCall& call : one.calls)
    if (call.kind == SharedCallKind::ring || call.kind == SharedCallKind::pass_on)
      call.kind = SharedCallKind::barrier;
  return one;
}

// Whether it is one finding, counted by whether that names the rank.
Verdict judge_early_end(const CulpritCase& one, const Subject& subject, CulpritFigures& figures) {
  const sim::Report report =
      subject.simulate(options_of(one), [&one](sim::SimulatedRank& rank) { run_rank(one, rank); });
  if (report.findings.empty()) {
    ++figures.without_effect;
    return Verdict::holds();
  }
  ++figures.found;
  const int culprit = one.culprits.front().rank % one.world();
  if (std::ranges::count(report.findings.front().ranks, culprit) != 0) ++figures.alone;
  if (report.findings.size() == 1) return Verdict::holds();
  return Verdict::violated(
      fmt::format("expected one finding, of rank {}\n{}", culprit, to_string(report)));
}

constexpr std::uint64_t enough = 2000;  // for a share that is so close to all

void expect_share(std::string_view what, double share, double least, CheckResult& result) {
  if (share < least)
    result.gave_up = fmt::format("{} in {:.2f} % of the cases, expected {:.1f} % or more", what,
                                 100 * share, 100 * least);
}

void add_figures(const CulpritFigures& figures, double least, CheckResult& result) {
  result.figures = to_string(figures);
  if (!result.held() || figures.found < enough) return;
  expect_share("culprits alone are named", share(figures.alone, figures.found), least, result);
  expect_share("the place is a culprit's own",
               share(figures.own_line, figures.found - figures.far_behind), least_own_line, result);
}

Property property_of(const Subject& subject, Law<CulpritCase> law, double least) {
  Property property = to_property(law);
  property.check = [subject, law, least](const Settings& settings) {
    CulpritFigures figures;
    Law<CulpritCase> counting = law;
    counting.verdict = [&](const CulpritCase& one) { return judge(one, subject, figures); };
    CheckResult result = to_property(counting).check(settings);
    add_figures(figures, least, result);
    return result;
  };
  return property;
}

}  // namespace

std::string to_string(const CulpritFigures& figures) {
  const std::uint64_t found = figures.found;
  const std::uint64_t recorded = found - figures.far_behind;
  return fmt::format(
      "culprits alone are named in {} of {} ({:.2f} %); {} without effect\n"
      "the place is a culprit's own in {} of {} ({:.2f} %); {} no longer recorded",
      figures.alone.load(), found, 100 * share(figures.alone, found), figures.without_effect.load(),
      figures.own_line.load(), recorded, 100 * share(figures.own_line, recorded),
      figures.far_behind.load());
}

Subject settling_subject() {
  Subject subject;
  subject.simulate = [](const sim::SimulationOptions& options, const sim::RankProgram& program) {
    return sim::run_settled(options, program);
  };
  return subject;
}

std::vector<Property> early_ends(const Subject& subject) {
  const Law<CulpritCase> law{
      .suite = "culprits",
      .name = "who_ends_early_is_the_only_finding",
      .description =
          "A rank that throws or returns too early among collectives is named once; what "
          "others get from that is no finding.",
      .cost = 4,
      .generate = generate_early_end};
  Property property = to_property(law);
  property.check = [subject, law](const Settings& settings) {
    CulpritFigures figures;
    Law<CulpritCase> counting = law;
    counting.verdict = [&](const CulpritCase& one) {
      return judge_early_end(one, subject, figures);
    };
    CheckResult result = to_property(counting).check(settings);
    result.figures =
        fmt::format("who ended early is named in {} of {} ({:.2f} %)", figures.alone.load(),
                    figures.found.load(), 100 * share(figures.alone, figures.found));
    if (result.held() && figures.found >= enough)
      expect_share("who ended early is named", share(figures.alone, figures.found), least_alone,
                   result);
    return result;
  };
  return {property};
}

std::vector<Property> culprits(const Subject& subject) {
  return {property_of(subject,
                      {.suite = "culprits",
                       .name = "one_culprit_is_named_alone",
                       .description = "Of ranks that share a program, the one that leaves it is "
                                      "named, with its own line.",
                       .cost = 4,
                       .generate = generate_culprit},
                      least_alone),
          property_of(subject,
                      {.suite = "culprits",
                       .name = "of_two_culprits_no_innocent_is_named",
                       .description = "Where two ranks leave the program, one or both are named, "
                                      "and nobody else.",
                       .cost = 8,
                       .generate = generate_two_culprits},
                      least_without_innocents)};
}

}  // namespace gang::properties
