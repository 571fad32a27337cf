#include "harness/program_file/program_source.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "harness/recording/recorded_program.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

// Every file must come out as its [expect] says, under any schedule; each has one.
void expect_all_as_expected(const std::string& folder, int fewest_files) {
  int files = 0;
  std::vector<Program> programs = all_programs();
  for (const FaultyProgram& faulty : all_faulty_programs()) programs.push_back(to_program(faulty));
  for (const auto& entry : std::filesystem::directory_iterator{GANGSIM_SOURCE_DIR + folder}) {
    if (entry.path().extension() != ".toml") continue;
    SCOPED_TRACE(entry.path().filename());
    ++files;
    const ProgramSource source = find_program_source(programs, entry.path().string());
    EXPECT_TRUE(source.expectation.outcome && source.expectation.findings) << "has no [expect]";
    for (const ScheduleChoice schedule : {ScheduleChoice::round_robin, ScheduleChoice::random}) {
      RunSpecification specification = source.specification;
      specification.schedule = schedule;
      const RunResult result = run(source.program, specification);
      EXPECT_EQ(unmet_expectation(source.expectation, result), "") << to_string(result);
    }
  }
  EXPECT_GE(files, fewest_files);
}

TEST(ProgramFiles, AllComeOutAsExpected) { expect_all_as_expected("/tests/programs", 12); }

// Other backends may find less, or something else, but whatever does not complete is explained.
TEST(ProgramFiles, AllComeToAVerdictOnOtherBackends) {
  for (const auto& entry :
       std::filesystem::directory_iterator{GANGSIM_SOURCE_DIR "/tests/programs"}) {
    if (entry.path().extension() != ".toml") continue;
    for (const BackendKind backend : {BackendKind::sim_gloo, BackendKind::sim_nccl}) {
      SCOPED_TRACE(entry.path().filename().string() + " on " + std::string(to_string(backend)));
      const ProgramSource source = find_program_source(all_programs(), entry.path().string());
      RunSpecification specification = source.specification;
      specification.backend = backend;
      const RunResult result = run(source.program, specification);
      const bool has_completed = result.report.outcome == sim::Outcome::completed;
      EXPECT_TRUE(has_completed || !result.report.findings.empty()) << to_string(result);
    }
  }
}

TEST(Scenarios, AllComeOutAsExpected) { expect_all_as_expected("/tests/scenarios", 22); }

TEST(Scenarios, MayBeOfAProgramFileOrOfAnotherScenario) {
  const std::string folder = test::temporary_directory();
  std::ofstream(folder + "inner.toml") << "world = 2\n[[do]]\ncalls = [\"root barrier\"]\n";
  std::ofstream(folder + "middle.toml") << "program = \"inner.toml\"\n";
  std::ofstream(folder + "outer.toml") << "program = \"middle.toml\"\nworld = 3\n";
  std::ofstream(folder + "endless.toml") << "program = \"endless.toml\"\n";
  const ProgramSource source = find_program_source({}, folder + "outer.toml");
  EXPECT_EQ(source.program.name, "inner.toml");
  EXPECT_TRUE(run(source.program, source.specification).holds());
  EXPECT_THROW(find_program_source({}, folder + "endless.toml"), InvalidArgument);
}

TEST(Scenarios, MayNameTheirProgramFileByItsWholePath) {
  const std::string folder = test::temporary_directory();
  std::filesystem::create_directories(folder + "elsewhere");
  std::ofstream(folder + "whole.toml") << "world = 2\n[[do]]\ncalls = [\"root barrier\"]\n";
  std::ofstream(folder + "elsewhere/of_it.toml") << "program = \"" << folder << "whole.toml\"\n";
  EXPECT_EQ(find_program_source({}, folder + "elsewhere/of_it.toml").program.name, "whole.toml");
}

TEST(FindProgramSource, PrefersNamesAndReadsTomlFiles) {
  EXPECT_EQ(find_program_source(all_programs(), "ring").specification.program, "ring");
  const std::string path = GANGSIM_SOURCE_DIR "/tests/programs/tp_dp_deadlock.toml";
  const ProgramSource source = find_program_source({}, path);
  EXPECT_EQ(source.program.name, "tp_dp_deadlock.toml");
  EXPECT_EQ(source.specification.program, path);
  EXPECT_EQ(source.specification.world_size, 4);
}

TEST(FindProgramSource, TheOptionsOfAProgramAreThereUnlessAScenarioHasItsOwn) {
  const std::string path = test::temporary_directory() + "options.toml";
  std::ofstream(path) << "program = \"steps\"\n[options]\nstep-limit = 77\n";
  const std::vector<Program> programs = {
      {.name = "steps",
       .description = "",
       .run = [](Rank&) {},
       .options = {{"execution", "stream_ordered"}, {"step-limit", "55"}}}};
  const RunSpecification own = find_program_source(programs, "steps").specification;
  EXPECT_EQ(own.options.step_limit, 55U);
  const RunSpecification scenario = find_program_source(programs, path).specification;
  EXPECT_EQ(scenario.options.step_limit, 77U);
  EXPECT_EQ(scenario.options.execution, sim::ExecutionModel::stream_ordered);
}

TEST(FindProgramSource, DumpsAreAProgramThatRunsAsItWasRecorded) {
  const Program program{"rec", "", [](Rank& rank) { rank.root()->barrier(); }};
  RunSpecification specification{.program = "rec", .world_size = 3};
  specification.options.execution = sim::ExecutionModel::stream_ordered;
  const std::string folder = test::temporary_directory() + "stream_dumps";
  std::filesystem::remove_all(folder);
  write_dumps(run(recorded(program, true), specification), folder);
  const RunSpecification found = find_program_source({}, folder + "//").specification;
  EXPECT_EQ(found.program, folder);
  EXPECT_EQ(found.world_size, 3);
  EXPECT_EQ(found.options.execution, sim::ExecutionModel::stream_ordered);
}

TEST(FindProgramSource, ListsWhatThereIs) {
  EXPECT_THAT([] { find_program_source(all_programs(), "rong"); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("did you mean 'ring'")));
  EXPECT_THROW(find_program_source({}, "absent.toml"), InvalidArgument);
}

TEST(UnmetExpectation, SaysWhatIsDifferent) {
  RunResult result;
  EXPECT_EQ(unmet_expectation({}, result), "");
  EXPECT_EQ(unmet_expectation({.outcome = "deadlock"}, result),
            "the outcome is completed; expected: deadlock");
  result.report.findings = {{.id = "wrong_result"}, {.id = "deadlock"}};
  EXPECT_EQ(unmet_expectation({.findings = {{"deadlock", "wrong_result"}}}, result), "");
  EXPECT_EQ(unmet_expectation({.findings = std::vector<std::string>{}}, result),
            "the findings are deadlock, wrong_result; expected: none");
  result.report.findings = {{.id = "deadlock", .ranks = {2}, .location = {"a.toml", 5}},
                            {.id = "deadlock", .ranks = {0, 2}}};
  EXPECT_EQ(unmet_expectation({.ranks = {{0, 2}}, .at = {{"a.toml:5"}}}, result), "");
  EXPECT_EQ(unmet_expectation({.ranks = {{2}}}, result),
            "the findings name ranks [0, 2]; expected: [2]");
  EXPECT_EQ(unmet_expectation({.at = {{"a.toml:6"}}}, result),
            "the findings point at a.toml:5; expected: a.toml:6");
}

}  // namespace
}  // namespace gang::harness
