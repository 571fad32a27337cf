#include "harness/comparison/conformance.h"

#include <filesystem>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/root_gang.h"
#include "gang/runtime.h"
#include "gang/store/memory_store.h"
#include "harness/programs/all_programs.h"
#include "harness/recording/dump_files.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""s;
using testing::HasSubstr;

class Conformance : public testing::Test {
 protected:
  void SetUp() override {
    if (!gloo_availability().is_available)
      GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  }

  static ConformanceCase make_case(Program program) {
    ConformanceCase one{.program = std::move(program)};
    one.specification.program = one.program.name;
    one.specification.options.timeout = 20s;
    return one;
  }

  // What each of three ranks, one thread each, learns, or the error's text.
  std::vector<std::string> run_ranks(
      const std::function<std::vector<ConformanceCase>(int rank)>& cases) {
    const std::shared_ptr<Runtime> runtime = make_real_runtime();
    const std::shared_ptr<Store> store = make_memory_store(*runtime);
    std::vector<std::string> texts(3);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.emplace_back([&, rank] {
        const Environment environment{.rank = rank,
                                      .world_size = 3,
                                      .master_address = "127.0.0.1",
                                      .master_port = 1,
                                      .record_folder = record_folder_};
        auto& text = texts[static_cast<std::size_t>(rank)];
        try {
          text = to_string(
              run_conformance(cases(rank), BackendKind::gloo, environment, store->new_client()));
        } catch (const Error& error) {
          text = error.what();
        }
      });
    }
    ranks.clear();
    return texts;
  }

  std::string record_folder_;
};

TEST_F(Conformance, EveryRankLearnsThatAllAgree) {
  const auto texts = run_ranks([](int) {
    return std::vector{make_case(every_collective_program()), make_case(ring_program())};
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("CONFORMS  gloo against sim, world 3, seed 1"));
    EXPECT_THAT(text, HasSubstr("✓  every_collective"));
  }
  EXPECT_EQ(texts[0], texts[2]);
}

TEST_F(Conformance, FaultsOfARankAreContained) {
  const auto texts = run_ranks([](int) {
    std::vector<ConformanceCase> cases;
    for (const ProcessFaultKind kind : {ProcessFaultKind::exception, ProcessFaultKind::delay}) {
      for (std::uint64_t index = 0; index < 2; ++index) {
        cases.push_back(make_case(ring_program()));
        cases.back().specification.options.timeout = 2s;
        cases.back().fault = kind;
        cases.back().fault_index = index;
      }
    }
    return cases;
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("CONFORMS"));
    EXPECT_THAT(text, HasSubstr("✓  ring, exception 1"));
    EXPECT_THAT(text, HasSubstr("✓  ring, delay 0"));
  }
}

TEST_F(Conformance, AProgramThatFailsByItselfIsNotBlamedOnAFault) {
  const Program broken{"broken", "fails", [](Rank& rank) {
                         if (rank.rank() == 0) throw std::runtime_error("out of paper");
                         rank.root()->barrier();
                       }};
  const auto texts = run_ranks([&broken](int) {
    std::vector cases = {make_case(broken)};
    cases[0].specification.options.timeout = 2s;
    cases[0].fault = ProcessFaultKind::delay;
    return cases;
  });
  for (const std::string& text : texts) {
    EXPECT_THAT(text, HasSubstr("DIFFERS"));
    EXPECT_THAT(text, HasSubstr("rank 0 fails without any fault: out of paper"));
  }
}

TEST_F(Conformance, EveryRankLearnsOfADifferenceOnOneRank) {
  const Program odd{"odd", "differs on real gangs", [](Rank& rank) {
                      const bool is_real = rank.root()->info().backend == "gloo";
                      rank.output("value", is_real && rank.rank() == 1 ? 2.0F : 1.0F);
                      rank.root()->barrier();
                    }};
  for (const std::string& text : run_ranks([&odd](int) { return std::vector{make_case(odd)}; })) {
    EXPECT_THAT(text, HasSubstr("DIFFERS"));
    EXPECT_THAT(text, HasSubstr("rank 1, value[0]: 1 on sim, 2 on gloo"));
  }
}

TEST_F(Conformance, MisuseIsTheSameMismatchOnBoth) {
  const Program wrong{"wrong", "counts differ", [](Rank& rank) {
                        std::vector<float> values(rank.rank() == 2 ? 3 : 4);
                        rank.root()->all_reduce(view(values), ReduceOperation::sum);
                      }};
  for (const auto& text : run_ranks([&wrong](int) { return std::vector{make_case(wrong)}; }))
    EXPECT_THAT(text, HasSubstr("CONFORMS"));
}

TEST_F(Conformance, OtherCasesOnOneRankAreBadInputForAll) {
  for (const std::string& text : run_ranks([](int rank) {
         auto one = make_case(ring_program());
         one.specification.options.seed = rank == 1 ? 7 : 1;
         return std::vector{one};
       }))
    EXPECT_THAT(text, HasSubstr("rank 1 runs other cases than rank 0"));
}

TEST_F(Conformance, AnotherVersionOfAProgramIsBadInputForAll) {
  for (const std::string& text : run_ranks([](int rank) {
         auto one = make_case(ring_program());
         one.program.source = rank == 2 ? "newer" : "";
         return std::vector{one};
       }))
    EXPECT_THAT(text, HasSubstr("rank 2 runs other cases than rank 0, or another version"));
}

TEST_F(Conformance, AnotherFaultOnOneRankIsBadInputForAll) {
  for (const std::string& text : run_ranks([](int rank) {
         auto one = make_case(ring_program());
         one.fault = ProcessFaultKind::delay;
         one.fault_index = rank == 1 ? 7 : 1;
         return std::vector{one};
       }))
    EXPECT_THAT(text, HasSubstr("rank 1 runs other cases than rank 0"));
}

TEST_F(Conformance, ACaseTakesAsLongAsItsSlowestRank) {
  const Program slow{"slow", "one rank is slow on real gangs", [](Rank& rank) {
                       rank.root()->barrier();
                       if (rank.root()->info().backend == "gloo" && rank.rank() == 2)
                         std::this_thread::sleep_for(1s);
                     }};
  for (const std::string& text : run_ranks([&slow](int) { return std::vector{make_case(slow)}; }))
    EXPECT_THAT(text, testing::ContainsRegex("slow +[1-9][0-9]*\\.[0-9]+ s"));
}

// The timeout of the second case is over before rank 1 comes.
TEST_F(Conformance, ARankIsAwaitedAsLongAsTheLongestCaseMayTake) {
  const auto texts = run_ranks([](int rank) {
    if (rank == 1) std::this_thread::sleep_for(1500ms);
    std::vector cases = {make_case(ring_program()), make_case(ring_program())};
    cases[1].specification.options.timeout = 1s;
    return cases;
  });
  for (const std::string& text : texts) EXPECT_THAT(text, HasSubstr("CONFORMS"));
}

TEST_F(Conformance, WhatIsStuckInTheSimulatorIsNotAwaitedForLong) {
  const Program stuck{"stuck", "all receive first", [](Rank& rank) {
                        float value = 0;
                        rank.root()->recv(view_of(value), (rank.rank() + 1) % rank.world_size());
                      }};
  const auto begun = std::chrono::steady_clock::now();
  for (const std::string& text : run_ranks([&stuck](int) { return std::vector{make_case(stuck)}; }))
    EXPECT_THAT(text, HasSubstr("CONFORMS"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);  // its timeout is 20 s
}

TEST_F(Conformance, AWrongResultOnARealGangIsADifference) {
  const Program wrong{"wrong", "is wrong on real gangs", [](Rank& rank) {
                        rank.root()->barrier();
                        if (rank.root()->info().backend == "gloo" && rank.rank() == 1)
                          rank.wrong_result("5 is not 6");
                      }};
  for (const std::string& text : run_ranks([&wrong](int) { return std::vector{make_case(wrong)}; }))
    EXPECT_THAT(text, testing::AllOf(HasSubstr("DIFFERS"), HasSubstr("wrong_result on gloo")));
}

TEST_F(Conformance, EachOfSeveralCasesIsRecordedInItsOwnFolder) {
  record_folder_ = test::temporary_directory() + "conformance";
  std::filesystem::remove_all(record_folder_);
  run_ranks([](int) { return std::vector{make_case(ring_program()), make_case(mesh_program())}; });
  EXPECT_TRUE(has_dumps(record_folder_ + "/0_ring"));
  EXPECT_TRUE(has_dumps(record_folder_ + "/1_mesh"));
  EXPECT_FALSE(has_dumps(record_folder_));
}

TEST_F(Conformance, TheOnlyCaseIsRecordedInTheFolderItself) {
  record_folder_ = test::temporary_directory() + "conformance_of_one";
  std::filesystem::remove_all(record_folder_);
  run_ranks([](int) { return std::vector{make_case(ring_program())}; });
  EXPECT_TRUE(has_dumps(record_folder_));
  EXPECT_FALSE(std::filesystem::exists(record_folder_ + "/0_ring"));
}

TEST_F(Conformance, AProgramIsTheIncarnationThatItsLauncherSays) {
  int seen = -1;
  const Program program{"program", "is started again", [&seen](Rank& rank) {
                          if (rank.root()->info().backend == "gloo") seen = rank.incarnation();
                        }};
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const Environment environment{.rank = 0, .world_size = 1, .restart_count = 2};
  EXPECT_TRUE(run_conformance({make_case(program)}, BackendKind::gloo, environment,
                              make_memory_store(*runtime))
                  .holds());
  EXPECT_EQ(seen, 2);
}

TEST(ConformanceReport, IsWrittenForPeopleAndMachines) {
  const ConformanceReport report{
      .backend = BackendKind::gloo,
      .world_size = 4,
      .seed = 3,
      .cases = {{"ring", true, "", 250'000'000ns}, {"odd<&\">", false, "it is \"so\"", 1s}}};
  EXPECT_FALSE(report.holds());
  EXPECT_EQ(to_string(report),
            "DIFFERS  gloo against sim, world 4, seed 3\n\n"
            "  ✓  ring                        0.25 s\n"
            "  ✗  odd<&\">                     1.00 s\n"
            "       it is \"so\"\n");
  const JunitSuite suite = to_junit(report);
  EXPECT_EQ(suite.name, "conform gloo");
  ASSERT_EQ(suite.cases.size(), 2U);
  EXPECT_FALSE(suite.cases[0].failure);
  EXPECT_EQ(suite.cases[1].name, "odd<&\">");
  ASSERT_TRUE(suite.cases[1].failure);
  EXPECT_EQ(suite.cases[1].failure->message, "it is \"so\"");
  EXPECT_EQ(to_json(report)["format"], "gangsim conformance");
  EXPECT_EQ(to_json(report)["version"], 1);
  EXPECT_EQ(to_json(report)["cases"][1]["text"], "it is \"so\"");
}

TEST(RunConformance, OfABackendThatCannotBeCheckedIsNotSupported) {
  EXPECT_THROW(run_conformance({}, BackendKind::sim, {}, nullptr), NotSupported);
}

TEST(RunConformance, WithNcclNoProcessIsForked) {
  ConformanceCase killed{.program = ring_program()};
  killed.fault = ProcessFaultKind::kill;
  EXPECT_THAT([&killed] { run_conformance({killed}, BackendKind::nccl, {}, nullptr); },
              testing::ThrowsMessage<NotSupported>(HasSubstr("faults of processes")));
}

TEST(ConformanceReport, AsSarifHasOnlyWhatDiffers) {
  const ConformanceReport report{.backend = BackendKind::gloo,
                                 .cases = {{"ring", true, "", 1s}, {"odd", false, "it is", 1s}}};
  const std::vector<SarifResult> results = to_sarif(report);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].rule, "differs_on_gloo");
  EXPECT_EQ(results[0].identity, "odd");
}

}  // namespace
}  // namespace gang::harness
