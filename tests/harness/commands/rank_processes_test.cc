#include "harness/commands/rank_processes.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// With options as on a command line, "--world" aside: "--python=python3", "--free", "train.py".
class Chosen {
 public:
  explicit Chosen(const std::vector<std::string>& words, bool with_torch = true)
      : ranks(with_torch) {
    std::vector<Option> options = {ranks.program_option()};
    ranks.add_to(options);
    for (const std::string& word : words) set(options, word);
  }

  RankProcesses ranks;

 private:
  static void set(std::vector<Option>& options, const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    for (Option& option : options)
      if (option.name == name)
        return option.set(word == name ? "true" : word.substr(name.size() + 1));
    options.front().set(word);
  }
};

TEST(RankProcesses, CanRepeatOnlyWhatGangsimStarts) {
  EXPECT_TRUE(Chosen({"train.py"}).ranks.can_repeat());
  EXPECT_TRUE(Chosen({"--spawn", "-m", "train"}).ranks.can_repeat());
  EXPECT_FALSE(Chosen({"--threads", "train.py"}).ranks.can_repeat());
  EXPECT_FALSE(Chosen({"--attach=socket"}).ranks.can_repeat());
  EXPECT_FALSE(Chosen({"--", "torchrun", "train.py"}).ranks.can_repeat());
}

TEST(RankProcesses, AreNamedByTheirProgram) {
  EXPECT_EQ(Chosen({"train.py", "--epochs"}).ranks.program_name(), "train.py");
  EXPECT_EQ(Chosen({"-m", "package.train"}).ranks.program_name(), "package.train");
  EXPECT_EQ(Chosen({"--", "torchrun", "train.py", "a.py"}).ranks.program_name(), "train.py");
  EXPECT_EQ(Chosen({"--", "mpirun", "-np", "2"}).ranks.program_name(), "mpirun");
  EXPECT_EQ(Chosen({}).ranks.program_name(), "attached ranks");
}

TEST(RankProcesses, RepeatWhatTheyWereGiven) {
  const Chosen chosen({"--python=/usr/bin/python3", "--spawn", "--cuda-as-cpu", "train.py", "a b"});
  EXPECT_EQ(chosen.ranks.options_text(), " --spawn --cuda-as-cpu --python /usr/bin/python3");
  EXPECT_EQ(chosen.ranks.words_text(), " train.py 'a b'");
  EXPECT_EQ(Chosen({"--free", "train.py"}).ranks.options_text(), " --free");
  EXPECT_TRUE(Chosen({"--free", "train.py"}).ranks.are_free());
  EXPECT_EQ(Chosen({"--stall-limit=90s", "train.py"}).ranks.options_text(), " --stall-limit 90s");
}

TEST(RankProcesses, HaveAWorldUnlessACommandSaysIt) {
  EXPECT_EQ(Chosen({"train.py"}).ranks.conductor_options({}).world_size, 2);
  EXPECT_EQ(Chosen({"train.py"}).ranks.conductor_options({.world_size = 5}).world_size, 5);
  EXPECT_EQ(Chosen({"--", "torchrun"}).ranks.conductor_options({}).world_size, std::nullopt);
  EXPECT_EQ(Chosen({"--attach=here"}).ranks.conductor_options({.world_size = 3}).socket, "here");
  EXPECT_TRUE(Chosen({"--free", "train.py"}).ranks.conductor_options({}).turns.is_free);
}

TEST(RankProcesses, MayBeIdleForAsLongAsIsSaid) {
  const TurnOptions usual = Chosen({"train.py"}).ranks.conductor_options({}).turns;
  EXPECT_EQ(usual.stall_limit, std::chrono::seconds(5));
  EXPECT_EQ(usual.sleep_limit, std::chrono::seconds(30));
  const TurnOptions given =
      Chosen({"--stall-limit=90s", "train.py"}).ranks.conductor_options({}).turns;
  for (const Duration limit : {given.stall_limit, given.sleep_limit, given.silent_threads_limit})
    EXPECT_EQ(limit, std::chrono::seconds(90));
  for (const char* wrong : {"0s", "soon", "5"})
    EXPECT_THAT([&] { Chosen({std::string("--stall-limit=") + wrong}); },
                ThrowsMessage<InvalidArgument>(HasSubstr("must be more than 0")));
}

TEST(RankProcesses, OptionsThatDoNotFitAreBadInput) {
  const auto check = [](const std::vector<std::string>& words, const RunSpecification& given = {}) {
    return [words, given] { Chosen(words).ranks.check(given); };
  };
  EXPECT_NO_THROW(check({"train.py"})());
  EXPECT_NO_THROW(check({"--attach=socket"}, {.world_size = 2})());
  EXPECT_THAT(check({}), ThrowsMessage<InvalidArgument>(HasSubstr("PROGRAM is missing")));
  EXPECT_THAT(check({"-m"}), ThrowsMessage<InvalidArgument>(HasSubstr("-m needs")));
  EXPECT_THAT(check({"--"}), ThrowsMessage<InvalidArgument>(HasSubstr("command is missing")));
  EXPECT_THAT(check({"--attach=socket"}), ThrowsMessage<InvalidArgument>(HasSubstr("--world")));
  EXPECT_THAT(check({"--attach=socket", "train.py"}, {.world_size = 2}),
              ThrowsMessage<InvalidArgument>(HasSubstr("PROGRAM is given")));
}

TEST(RankProcesses, OptionsBehindTheProgramAreItsOwn) {
  const auto noted = [](const std::vector<std::string>& words) {
    std::ostringstream err;
    Chosen(words).ranks.note_misplaced(err);
    return err.str();
  };
  EXPECT_THAT(noted({"train.py", "--explore", "9"}), HasSubstr("--explore"));
  EXPECT_EQ(noted({"train.py", "--epochs", "2"}), "");
  EXPECT_EQ(noted({"--", "train.sh", "--explore"}), "");
}

TEST(RankProcesses, DashesDirectlyBehindTheProgramAreNotPassedOn) {
  using Words = std::vector<std::string>;
  const auto words = [](const Words& given) { return Chosen(given).ranks.words_of_program(); };
  EXPECT_EQ(words({"train.py", "--", "--json", "--"}), (Words{"train.py", "--json", "--"}));
  EXPECT_EQ(words({"-m", "train", "--", "a"}), (Words{"-m", "train", "a"}));
  EXPECT_EQ(words({"train.py", "a", "--"}), (Words{"train.py", "a", "--"}));
  EXPECT_EQ(words({"-m", "train"}), (Words{"-m", "train"}));
  EXPECT_EQ(Chosen({"train.py", "--", "a"}).ranks.words_text(), " train.py -- a");
}

}  // namespace
}  // namespace gang::harness
