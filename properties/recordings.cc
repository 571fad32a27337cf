#include "properties/recordings.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/recording/dump_writer.h"
#include "harness/recording/explained_recording.h"
#include "harness/recording/recording_gang.h"
#include "properties/generators/culprit_program.h"

namespace gang::properties {
namespace {

using harness::CallRing;

// The dumps of the ranks of a run; of further runs of the same program, which settle what one
// leaves open, nothing is kept.
class Recorders {
 public:
  explicit Recorders(int world)
      : rings_(static_cast<std::size_t>(world)),
        ends_(static_cast<std::size_t>(world), sim::LaneEnd::none) {}

  void run(const CulpritCase& one, sim::SimulatedRank& rank) {
    const auto index = static_cast<std::size_t>(rank.rank());
    if (rings_[index] != nullptr) return run_rank(one, rank);
    rings_[index] = std::make_shared<CallRing>(CallRing::Options{.rank = rank.rank()});
    const auto root = std::make_shared<harness::RecordingGang>(rank.root(), rings_[index]);
    try {
      run_rank(one, root);
      ends_[index] = sim::LaneEnd::returned;
    } catch (const std::exception&) {
      ends_[index] = sim::LaneEnd::failed;
      throw;
    }
  }

  // By way of the bytes of the files.
  harness::Recording recall() const {
    harness::CallTable calls;
    std::vector<harness::NamedDump> dumps;
    for (std::size_t rank = 0; rank < rings_.size(); ++rank) {
      harness::CallTable own;
      const harness::Dump dump = rings_[rank]->dump(own, ends_[rank]);
      const std::string bytes = harness::to_pickle(dump, own);
      dumps.push_back({.file = fmt::format("rank_{}", rank),
                       .rank = static_cast<int>(rank),
                       .dump = harness::read_dump(bytes, calls)});
    }
    return join_dumps(std::move(dumps), std::move(calls));
  }

 private:
  std::vector<std::shared_ptr<CallRing>> rings_;  // by rank
  std::vector<sim::LaneEnd> ends_;
};

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
}

// Exceptions of a program leave no calls behind, and are no matter of its calls.
bool throws(const CulpritCase& one) {
  return std::ranges::any_of(one.culprits,
                             [](const Culprit& culprit) { return culprit.slip == Slip::throws; });
}

Verdict judge(const CulpritCase& one, const Subject& subject, RecordingFigures& figures) {
  if (throws(one)) return Verdict::not_applicable();
  Recorders recorders(one.world());
  const sim::Report report = subject.simulate(
      options_of(one), [&](sim::SimulatedRank& rank) { recorders.run(one, rank); });
  const sim::Report recalled = harness::explain(recorders.recall(), "a run", "").report;
  const std::string both = to_string(report) + "\nrecalled\n\n" + to_string(recalled);
  if (report.findings.empty() != recalled.findings.empty())
    return Verdict::violated("only one of the two has a finding\n" + both);
  if (report.findings.empty()) {
    ++figures.held;
    return Verdict::holds();
  }
  ++figures.found;
  const sim::Finding& finding = report.findings.front();
  const sim::Finding& again = recalled.findings.front();
  const bool shares_rank = std::ranges::any_of(
      finding.ranks, [&again](int rank) { return std::ranges::binary_search(again.ranks, rank); });
  if (one.culprits.size() == 1 && !shares_rank)
    return Verdict::violated("they name different ranks\n" + both);
  if (finding.ranks == again.ranks) {
    ++figures.same;
    if (finding.id == again.id) ++figures.same_cause;
  }
  return Verdict::holds();
}

constexpr std::uint64_t enough = 300;  // for a share that is close to all

void add_figures(const RecordingFigures& figures, CheckResult& result) {
  result.figures = to_string(figures);
  if (!result.held() || figures.found < enough) return;
  if (share(figures.same, figures.found) < least_same_ranks)
    result.gave_up = fmt::format("the same ranks are named in {:.2f} %, expected {:.1f} % or more",
                                 100 * share(figures.same, figures.found), 100 * least_same_ranks);
  else if (share(figures.same_cause, figures.same) < least_same_cause)
    result.gave_up =
        fmt::format("the same finding names them in {:.2f} %, expected {:.1f} % or more",
                    100 * share(figures.same_cause, figures.same), 100 * least_same_cause);
}

}  // namespace

std::string to_string(const RecordingFigures& figures) {
  const std::uint64_t found = figures.found;
  const std::uint64_t same = figures.same;
  return fmt::format(
      "the same ranks are named in {} of {} ({:.2f} %), by the same finding in {} ({:.2f} %); "
      "{} without effect",
      same, found, 100 * share(same, found), figures.same_cause.load(),
      100 * share(figures.same_cause, same), figures.held.load());
}

std::vector<Property> recordings(const Subject& subject) {
  Law<CulpritCase> law{.suite = "recordings",
                       .name = "dumps_say_what_the_run_said",
                       .description =
                           "Where a rank leaves a program that all share, the dumps of "
                           "the ranks name it as the run does.",
                       .cost = 32,
                       .generate = generate_culprit};
  Property property = to_property(law);
  property.check = [subject, law](const Settings& settings) {
    RecordingFigures figures;
    Law<CulpritCase> counting = law;
    counting.verdict = [&](const CulpritCase& one) { return judge(one, subject, figures); };
    CheckResult result = to_property(counting).check(settings);
    add_figures(figures, result);
    return result;
  };
  return {property};
}

}  // namespace gang::properties
