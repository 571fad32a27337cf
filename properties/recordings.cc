#include "properties/recordings.h"

#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/recording/dump_writer.h"
#include "gang/recording/recording_gang.h"
#include "harness/program_file/document.h"
#include "harness/program_file/retold_program.h"
#include "harness/recording/explained_recording.h"
#include "properties/culprits.h"
#include "properties/generators/culprit_program.h"

namespace gang::properties {
namespace {

// The dumps of the ranks of a run; of further runs of the same program, which settle what one
// leaves open, nothing is kept.
class Recorders {
 public:
  explicit Recorders(int world)
      : rings_(static_cast<std::size_t>(world)),
        ends_(static_cast<std::size_t>(world), ProgramEnd::none) {}

  void run(const CulpritCase& one, sim::SimulatedRank& rank) {
    const auto index = static_cast<std::size_t>(rank.rank());
    if (rings_[index] != nullptr) return run_rank(one, rank);
    rings_[index] = std::make_shared<CallRing>(CallRing::Options{.rank = rank.rank()});
    const auto root = std::make_shared<RecordingGang>(rank.root(), rings_[index]);
    try {
      run_rank(one, root);
      ends_[index] = ProgramEnd::returned;
    } catch (const std::exception&) {
      ends_[index] = ProgramEnd::failed;
      throw;
    }
  }

  // By way of the bytes of the files.
  harness::Recording recall() const {
    CallTable calls;
    std::vector<harness::NamedDump> dumps;
    for (std::size_t rank = 0; rank < rings_.size(); ++rank) {
      CallTable own;
      const Dump dump = rings_[rank]->dump(own, ends_[rank]);
      const std::string bytes = to_pickle(dump, own);
      dumps.push_back({.file = fmt::format("rank_{}", rank),
                       .rank = static_cast<int>(rank),
                       .dump = harness::read_dump(bytes, calls)});
    }
    return join_dumps(std::move(dumps), std::move(calls));
  }

 private:
  std::vector<std::shared_ptr<CallRing>> rings_;  // by rank
  std::vector<ProgramEnd> ends_;
};

double share(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
}

// Exceptions of a program leave no calls behind, and are no matter of its calls.
bool throws(const CulpritCase& one) {
  return std::ranges::any_of(one.culprits,
                             [](const Culprit& culprit) { return culprit.slip == Slip::throws; });
}

// Whether `again` lays what `report` found at the same ranks' door; counts how well it does.
Verdict compared(const CulpritCase& one, const sim::Report& report, const sim::Report& again,
                 const std::string& both, RecordingFigures& figures) {
  if (report.findings.empty() != again.findings.empty())
    return Verdict::violated("only one of the two has a finding\n" + both);
  if (report.findings.empty()) {
    ++figures.held;
    return Verdict::holds();
  }
  ++figures.found;
  const sim::Finding& finding = report.findings.front();
  const sim::Finding& same = again.findings.front();
  const bool shares_rank = std::ranges::any_of(
      finding.ranks, [&same](int rank) { return std::ranges::binary_search(same.ranks, rank); });
  if (one.culprits.size() == 1 && !shares_rank)
    return Verdict::violated("they name different ranks\n" + both);
  if (finding.ranks == same.ranks) {
    ++figures.same;
    if (finding.id == same.id) ++figures.same_cause;
  }
  return Verdict::holds();
}

Verdict judge(const CulpritCase& one, const Subject& subject, RecordingFigures& figures) {
  if (throws(one)) return Verdict::not_applicable();
  Recorders recorders(one.world());
  const sim::Report report = subject.simulate(
      options_of(one), [&](sim::SimulatedRank& rank) { recorders.run(one, rank); });
  const sim::Report recalled = harness::explain(recorders.recall(), "a run", "").report;
  const std::string both = to_string(report) + "\nrecalled\n\n" + to_string(recalled);
  return compared(one, report, recalled, both, figures);
}

// The run of what was recorded, written as a file and read again.
sim::Report run_retold(const CulpritCase& one, const Subject& subject,
                       const harness::Recording& recording, std::string& toml) {
  namespace file = harness::program_file;
  toml = file::retell(recording, "dumps").toml;
  const file::Document document = file::parse_document("again.toml", toml);
  file::validate(*document.program_file, one.world());
  harness::OutputRecorder recorder(one.world(), harness::KeepOutputs::digest_only);
  const harness::ParameterValues parameters;
  const harness::RunContext context{.parameters = parameters, .recorder = recorder};
  return subject.simulate(options_of(one), [&](sim::SimulatedRank& simulated) {
    harness::Rank rank(simulated, context);
    file::interpret(*document.program_file, rank);
  });
}

Verdict judge_retold(const CulpritCase& one, RecordingFigures& figures, const Subject& subject) {
  if (throws(one)) return Verdict::not_applicable();
  Recorders recorders(one.world());
  const sim::Report report = settling_subject().simulate(
      options_of(one), [&](sim::SimulatedRank& rank) { recorders.run(one, rank); });
  const harness::Recording recording = recorders.recall();
  const bool has_calls = std::ranges::any_of(
      recording.ranks, [](const harness::RankRecording& rank) { return !rank.calls.empty(); });
  if (!has_calls) return Verdict::not_applicable();
  std::string toml;
  const sim::Report again = run_retold(one, subject, recording, toml);
  const std::string both = to_string(report) + "\nretold\n\n" + to_string(again) + "\n" + toml;
  return compared(one, report, again, both, figures);
}

constexpr std::uint64_t enough = 300;  // for a share that is close to all

void add_figures(const RecordingFigures& figures, double least_same, CheckResult& result) {
  result.figures = to_string(figures);
  if (!result.held() || figures.found < enough) return;
  if (share(figures.same, figures.found) < least_same)
    result.gave_up = fmt::format("the same ranks are named in {:.2f} %, expected {:.1f} % or more",
                                 100 * share(figures.same, figures.found), 100 * least_same);
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

namespace {

using Judge = std::function<Verdict(const CulpritCase&, RecordingFigures&)>;

Property counting(const Law<CulpritCase>& law, const Judge& judge, double least_same) {
  Property property = to_property(law);
  property.check = [law, judge, least_same](const Settings& settings) {
    RecordingFigures figures;
    Law<CulpritCase> counted = law;
    counted.verdict = [&](const CulpritCase& one) { return judge(one, figures); };
    CheckResult result = to_property(counted).check(settings);
    add_figures(figures, least_same, result);
    return result;
  };
  return property;
}

}  // namespace

std::vector<Property> recordings(const Subject& subject) {
  const Law<CulpritCase> dumps{.suite = "recordings",
                               .name = "dumps_say_what_the_run_said",
                               .description =
                                   "Where a rank leaves a program that all share, the dumps of "
                                   "the ranks name it as the run does.",
                               .cost = 32,
                               .generate = generate_culprit};
  const Law<CulpritCase> programs{
      .suite = "recordings",
      .name = "a_recording_is_a_program",
      .description =
          "What the dumps of a run tell, folded and written as a program file, runs into the same "
          "finding.",
      .cost = 64,
      .generate = generate_culprit};
  return {counting(
              dumps,
              [subject](const CulpritCase& one, RecordingFigures& figures) {
                return judge(one, subject, figures);
              },
              least_same_ranks),
          counting(
              programs,
              [subject](const CulpritCase& one, RecordingFigures& figures) {
                return judge_retold(one, figures, subject);
              },
              least_same_retold)};
}

}  // namespace gang::properties
