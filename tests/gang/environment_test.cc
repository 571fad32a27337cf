#include "gang/environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::message_of;

// What torchrun sets for the second worker of the second host of two.
const EnvironmentVariables torchrun = {{"RANK", "3"},
                                       {"WORLD_SIZE", "4"},
                                       {"LOCAL_RANK", "1"},
                                       {"LOCAL_WORLD_SIZE", "2"},
                                       {"GROUP_RANK", "1"},
                                       {"MASTER_ADDR", "node03"},
                                       {"MASTER_PORT", "29500"},
                                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                       {"TORCHELASTIC_RESTART_COUNT", "1"},
                                       {"TORCHELASTIC_MAX_RESTARTS", "3"},
                                       {"TORCHELASTIC_RUN_ID", "none"},
                                       {"TORCHELASTIC_ERROR_FILE", "/logs/0/error.json"},
                                       {"HOME", "/root"}};

EnvironmentVariables with(EnvironmentVariables variables, const std::string& name,
                          const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(Environment, ReadsWhatTorchrunSets) {
  const Environment expected{.rank = 3,
                             .world_size = 4,
                             .local_rank = 1,
                             .local_world_size = 2,
                             .master_address = "node03",
                             .master_port = 29500,
                             .use_agent_store = true,
                             .restart_count = 1,
                             .max_restarts = 3,
                             .run_id = "none",
                             .error_file = "/logs/0/error.json"};
  EXPECT_EQ(parse_environment(torchrun), expected);
}

TEST(Environment, RankAndWorldSizeAreEnough) {
  const Environment expected{.rank = 1, .world_size = 2};
  EXPECT_EQ(parse_environment({{"RANK", "1"}, {"WORLD_SIZE", "2"}}), expected);
}

TEST(Environment, SaysWhereToRecord) {
  EXPECT_EQ(parse_environment({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"GANGSIM_RECORD", "dumps"}})
                ->record_folder,
            "dumps");
}

TEST(Environment, WithoutThemThereIsNone) {
  EXPECT_EQ(parse_environment({}), std::nullopt);
  EXPECT_EQ(parse_environment({{"HOME", "/root"}, {"MASTER_PORT", "nonsense"}}), std::nullopt);
  EXPECT_EQ(parse_environment({{"SLURM_NTASKS", "4"}}), std::nullopt)
      << "a batch script, which is not a task";
}

TEST(Environment, ALocalRankAloneImpliesAsManyLocalProcesses) {
  const auto environment =
      parse_environment({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}});
  EXPECT_EQ(environment->local_rank, 2);
  EXPECT_EQ(environment->local_world_size, 3);
}

struct Malformed {
  std::string name;
  std::string value;
  std::string expected;
};

class MalformedEnvironment : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedEnvironment, IsRefusedWithTheNameAndTheValue) {
  const auto& [name, value, expected] = GetParam();
  const std::string message =
      message_of<InvalidArgument>([&] { parse_environment(with(torchrun, name, value)); });
  EXPECT_EQ(message, name + " is '" + value + "'; must be " + expected);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedEnvironment,
    testing::Values(
        Malformed{"RANK", "", "0 to 2147483647"}, Malformed{"RANK", "-1", "0 to 2147483647"},
        Malformed{"RANK", "+1", "0 to 2147483647"}, Malformed{"RANK", " 1", "0 to 2147483647"},
        Malformed{"RANK", "1 ", "0 to 2147483647"}, Malformed{"RANK", "1.0", "0 to 2147483647"},
        Malformed{"RANK", "0x1", "0 to 2147483647"}, Malformed{"RANK", "one", "0 to 2147483647"},
        Malformed{"RANK", "99999999999", "0 to 2147483647"},
        Malformed{"RANK", "4", "less than WORLD_SIZE, which is '4'"},
        Malformed{"WORLD_SIZE", "0", "1 to 2147483647"},
        Malformed{"WORLD_SIZE", "four", "1 to 2147483647"},
        Malformed{"LOCAL_RANK", "2", "less than LOCAL_WORLD_SIZE, which is '2'"},
        Malformed{"LOCAL_RANK", "-1", "0 to 2147483646"},
        Malformed{"LOCAL_WORLD_SIZE", "0", "1 to 2147483647"},
        Malformed{"MASTER_ADDR", "", "a host name or address"},
        Malformed{"MASTER_PORT", "65536", "1 to 65535"},
        Malformed{"MASTER_PORT", "0", "1 to 65535"}, Malformed{"MASTER_PORT", "http", "1 to 65535"},
        Malformed{"TORCHELASTIC_USE_AGENT_STORE", "true", "True or False"},
        Malformed{"TORCHELASTIC_USE_AGENT_STORE", "1", "True or False"},
        Malformed{"TORCHELASTIC_RESTART_COUNT", "-1", "0 to 2147483647"},
        Malformed{"TORCHELASTIC_MAX_RESTARTS", "many", "0 to 2147483647"}));

TEST(Environment, HalfADescriptionIsAContradiction) {
  EXPECT_EQ(message_of<InvalidArgument>([] { parse_environment({{"RANK", "1"}}); }),
            "RANK is '1' but WORLD_SIZE is not set; set both or neither");
  EXPECT_EQ(message_of<InvalidArgument>([] { parse_environment({{"WORLD_SIZE", "2"}}); }),
            "WORLD_SIZE is '2' but RANK is not set; set both or neither");
  EXPECT_EQ(message_of<InvalidArgument>([] { parse_environment({{"SLURM_PROCID", "0"}}); }),
            "SLURM_PROCID is '0' but SLURM_NTASKS is not set; set both or neither");
}

TEST(Environment, MoreProcessesOnAHostThanInTheWorldAreAContradiction) {
  EXPECT_EQ(message_of<InvalidArgument>(
                [] { parse_environment(with(torchrun, "LOCAL_WORLD_SIZE", "5")); }),
            "LOCAL_WORLD_SIZE implies 5 processes on this host, but WORLD_SIZE is '4'");
  EXPECT_THROW(parse_environment({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}),
               InvalidArgument);
}

const EnvironmentVariables slurm = {{"SLURM_PROCID", "3"},
                                    {"SLURM_NTASKS", "4"},
                                    {"SLURM_LOCALID", "1"},
                                    {"SLURM_NTASKS_PER_NODE", "2"},
                                    {"SLURM_JOB_NODELIST", "node[03-05,7],other"}};

TEST(Environment, SlurmIsTheFallback) {
  const Environment expected{.rank = 3,
                             .world_size = 4,
                             .local_rank = 1,
                             .local_world_size = 2,
                             .master_address = "node03"};
  EXPECT_EQ(parse_environment(slurm), expected);
  EnvironmentVariables both = torchrun;
  both.insert(slurm.begin(), slurm.end());
  EXPECT_EQ(parse_environment(both), parse_environment(torchrun));
}

TEST(Environment, TorchrunsMeetingPointIsNotThatOfTheSlurmJobItRunsIn) {
  EnvironmentVariables both = torchrun;
  both.insert(slurm.begin(), slurm.end());
  both.erase("MASTER_ADDR");
  EXPECT_EQ(parse_environment(both)->master_address, "");
}

TEST(Environment, TheUserChoosesSlurmsMeetingPoint) {
  const auto environment =
      parse_environment(with(with(slurm, "MASTER_PORT", "1234"), "MASTER_ADDR", "10.0.0.1"));
  EXPECT_EQ(environment->master_address, "10.0.0.1");
  EXPECT_EQ(environment->master_port, 1234);
}

TEST(Environment, AStepMayHaveFewerTasksThanItsJobHasPerNode) {
  const auto environment = parse_environment(with(slurm, "SLURM_NTASKS_PER_NODE", "8"));
  EXPECT_EQ(environment->local_world_size, 4);
}

TEST(Environment, SlurmsFirstHostIsTheMeetingPoint) {
  const auto host = [](const std::string& hosts) {
    return parse_environment(with(slurm, "SLURM_JOB_NODELIST", hosts))->master_address;
  };
  EXPECT_EQ(host("alone"), "alone");
  EXPECT_EQ(host("first,second"), "first");
  EXPECT_EQ(host("node[12,14]"), "node12");
  EXPECT_EQ(host("node[001-128]-ib,gpu[1-2]"), "node001-ib");
  EXPECT_EQ(host("node[1-2]x[3-4]"), "node1x3");
  EXPECT_EQ(host("r[1,2]c[03]n[5-6]-ib,other[7]"), "r1c03n5-ib");
  EXPECT_EQ(host(""), "");
  EXPECT_THROW(host("node[12"), InvalidArgument);
  EXPECT_THROW(host("node[]"), InvalidArgument);
  EXPECT_THROW(host("node[1]x[2"), InvalidArgument);
}

TEST(ProcessEnvironment, HoldsTheVariablesOfThisProcess) {
  ::setenv("GANGSIM_TEST_VARIABLE", "a=b", 1);
  const EnvironmentVariables variables = process_environment();
  ::unsetenv("GANGSIM_TEST_VARIABLE");
  EXPECT_EQ(variables.at("GANGSIM_TEST_VARIABLE"), "a=b");
  EXPECT_FALSE(process_environment().contains("GANGSIM_TEST_VARIABLE"));
}

}  // namespace
}  // namespace gang
