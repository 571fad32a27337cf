#include "harness/conductor/launcher.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/conductor/interrupt.h"
#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Launchers : public testing::Test {
 protected:
  // What is told of the ranks' processes.
  RankLauncher::Events events() {
    return {.started = [this](int rank, pid_t process) { started_.emplace_back(rank, process); },
            .ended = [this](pid_t process, int status) { ended_.emplace_back(process, status); }};
  }

  template <typename Condition>
  bool poll_until(const Condition& condition) {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (!condition() && std::chrono::steady_clock::now() < limit) poller_.poll(50ms);
    return condition();
  }

  // A shell script in the place of Python's zygote.py, and a program for it.
  static PythonProgram program_of(const std::string& name, const std::string& script) {
    const std::string packages = gang::test::temporary_directory() + name;
    std::filesystem::create_directories(packages + "/gangsim");
    std::ofstream(packages + "/gangsim/zygote.py") << script;
    return {.python = "/bin/sh", .packages = packages, .words = {"train.py", "--epochs", "1"}};
  }

  Poller poller_;
  std::ostringstream out_;
  RankOutput output_{poller_, RankSelection("all"), out_, out_};
  std::vector<std::pair<int, pid_t>> started_;
  std::vector<std::pair<pid_t, int>> ended_;
};

// -- A command --

TEST_F(Launchers, ACommandGetsTheEnvironment) {
  const std::string file = gang::test::temporary_directory() + "environment";
  ::setenv("GANGSIM_TEST", "of this process", 1);
  CommandLauncher launcher(poller_, {"/bin/sh", "-c", "echo $GANGSIM_TEST > " + file},
                           {{"GANGSIM_TEST", "a b"}});
  EXPECT_FALSE(launcher.launches());
  EXPECT_TRUE(launcher.await_end(20s));
  ::unsetenv("GANGSIM_TEST");
  EXPECT_EQ(read_file("file", file), "a b\n");
}

TEST_F(Launchers, ACommandThatHasEndedStartsNoRanks) {
  CommandLauncher launcher(poller_, {"/bin/sh", "-c", "sleep 0.05; exit 3"}, {});
  EXPECT_EQ(launcher.why_none_can_come(), "");
  EXPECT_TRUE(poll_until([&] { return !launcher.why_none_can_come().empty(); }));
  EXPECT_EQ(launcher.why_none_can_come(), "/bin/sh exited with status 3");
  EXPECT_FALSE(launcher.await_end(20s));
  CommandLauncher killed(poller_, {"/bin/sh", "-c", "kill -9 $$"}, {});
  EXPECT_FALSE(killed.await_end(20s));
  EXPECT_EQ(killed.why_none_can_come(), "/bin/sh was killed by signal 9");
}

TEST_F(Launchers, ACommandMustExist) {
  EXPECT_THAT([&] { CommandLauncher(poller_, {"/absent/torchrun"}, {}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("/absent/torchrun")));
}

TEST_F(Launchers, ACommandEndsWithItsLauncher) {
  const std::string file = gang::test::temporary_directory() + "process";
  {
    const CommandLauncher launcher(
        poller_,
        {"/bin/sh", "-c",
         "echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 1000"},
        {});
    EXPECT_TRUE(poll_until([&] { return std::filesystem::exists(file); }));
  }
  EXPECT_EQ(::kill(std::stoi(read_file("file", file)), 0), -1);
}

TEST_F(Launchers, ACommandMayOutlastTheWaitForIt) {
  CommandLauncher launcher(poller_, {"/bin/sh", "-c", "exec sleep 1000"}, {});
  EXPECT_FALSE(launcher.await_end(50ms));
}

// -- Interpreters --

TEST_F(Launchers, AnInterpreterForEachRank) {
  const std::string script =
      "echo \"$1 $2 $3 $4 $5 rank $RANK of $SIZE\"; echo bad >&2; exit $RANK";
  SpawnLauncher launcher(poller_, program_of("spawn", script), {{"SIZE", "2"}}, events());
  EXPECT_TRUE(launcher.launches());
  for (const int rank : {0, 1})
    launcher.launch(rank, {{"RANK", std::to_string(rank)}}, output_.open(rank));
  ASSERT_EQ(started_.size(), 2U);
  EXPECT_EQ(started_[0].first, 0);
  EXPECT_EQ(started_[1].first, 1);
  EXPECT_TRUE(poll_until([&] { return ended_.size() == 2; }));
  for (const auto& [process, status] : ended_)
    EXPECT_EQ(WEXITSTATUS(status), process == started_[1].second ? 1 : 0);
  while (poller_.poll(0ms)) {
  }
  for (const char* line : {"[0] --rank -- train.py --epochs 1 rank 0 of 2\n", "[0] bad\n",
                           "[1] --rank -- train.py --epochs 1 rank 1 of 2\n", "[1] bad\n"})
    EXPECT_THAT(out_.str(), HasSubstr(line));
}

TEST_F(Launchers, InterpretersEndWithTheirLauncher) {
  {
    SpawnLauncher launcher(poller_, program_of("sleeping", "exec sleep 1000"), {}, events());
    launcher.launch(0, {}, output_.open(0));
  }
  ASSERT_EQ(started_.size(), 1U);
  EXPECT_EQ(::kill(started_[0].second, 0), -1);
}

// -- Forks --

TEST_F(Launchers, AnInterpreterOutlivesTheThreadThatStartedIt) {
  SpawnLauncher launcher(poller_, program_of("outliving", "sleep 0.2; exit 3"), {}, events());
  std::thread([&] { launcher.launch(0, {}, output_.open(0)); }).join();
  ASSERT_TRUE(poll_until([&] { return !ended_.empty(); }));
  const int status = ended_.front().second;
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(Launchers, ForksAreThoseOfAProcessThatIsReady) {
  // It answers one request as if it had forked, and tells of the end.
  const std::string script = R"(
[ "$1" = --control ] || exit 9
printf '{"ready": true}' >&$2
request=$(dd bs=65536 count=1 <&$2 2>/dev/null)
case "$request" in
  *'"RANK":"3"'*'"fork":3'*) printf '{"forked": 3, "pid": 77}' >&$2 ;;
esac
printf '{"exited": 77, "status": 256}' >&$2
exec sleep 1000
)";
  ForkLauncher launcher(poller_, program_of("fork", script), {}, events());
  EXPECT_TRUE(launcher.launches());
  EXPECT_EQ(launcher.why_none_can_come(), "");
  launcher.launch(3, {{"RANK", "3"}}, output_.open(3));
  EXPECT_TRUE(poll_until([&] { return !ended_.empty(); }));
  EXPECT_THAT(started_, ElementsAre(std::pair(3, pid_t{77})));
  EXPECT_THAT(ended_, ElementsAre(std::pair(pid_t{77}, 256)));
}

TEST_F(Launchers, AForkOfARunThatIsOverIsKilled) {
  // It answers the first request only when the next run has asked for the same rank.
  const std::string script = R"(
printf '{"ready": true}' >&$2
dd bs=65536 count=1 <&$2 >/dev/null 2>&1
dd bs=65536 count=1 <&$2 >/dev/null 2>&1
sleep 1000 & first=$!
printf '{"forked": 3, "pid": %d}' $first >&$2
printf '{"forked": 3, "pid": 77}' >&$2
wait $first
printf '{"exited": %d, "status": %d}' $first $(($? - 128)) >&$2
exec sleep 1000
)";
  ForkLauncher launcher(poller_, program_of("late", script), {}, events());
  for (int run = 0; run < 2; ++run) {
    launcher.begin_run();
    launcher.launch(3, {}, output_.open(3));
  }
  EXPECT_FALSE(launcher.is_of_earlier_run(3, 77));
  EXPECT_TRUE(poll_until([&] { return !ended_.empty(); }));
  EXPECT_THAT(started_, ElementsAre(std::pair(3, pid_t{77})));
  ASSERT_EQ(ended_.size(), 1U);
  EXPECT_TRUE(launcher.is_of_earlier_run(3, ended_[0].first));
  launcher.begin_run();
  EXPECT_TRUE(launcher.is_of_earlier_run(3, 77));
  EXPECT_EQ(ended_[0].second, SIGKILL);
}

TEST_F(Launchers, ForksOfAllRunsThatAreOverAreKilled) {
  // It answers three requests, each of another run, when all have come.
  const std::string script = R"(
printf '{"ready": true}' >&$2
for i in 1 2 3; do dd bs=65536 count=1 <&$2 >/dev/null 2>&1; done
for i in 1 2; do sleep 1000 & printf '{"forked": 3, "pid": %d}' $! >&$2; done
printf '{"forked": 3, "pid": 77}' >&$2
exec sleep 1000
)";
  ForkLauncher launcher(poller_, program_of("later", script), {}, events());
  for (int run = 0; run < 3; ++run) {
    launcher.begin_run();
    launcher.launch(3, {}, output_.open(3));
  }
  EXPECT_TRUE(poll_until([&] { return !started_.empty(); }));
  EXPECT_THAT(started_, ElementsAre(std::pair(3, pid_t{77})));
}

TEST_F(Launchers, ANumberMayComeBackAsThatOfAnotherFork) {
  const std::string script = R"(
printf '{"ready": true}' >&$2
for i in 1 2; do
  dd bs=65536 count=1 <&$2 >/dev/null 2>&1
  printf '{"forked": 3, "pid": 77}' >&$2
  printf '{"exited": 77, "status": 0}' >&$2
done
exec sleep 1000
)";
  ForkLauncher launcher(poller_, program_of("again", script), {}, events());
  for (std::size_t run = 1; run <= 2; ++run) {
    launcher.begin_run();
    launcher.launch(3, {}, output_.open(3));
    EXPECT_TRUE(poll_until([&] { return ended_.size() == run; }));
    EXPECT_FALSE(launcher.is_of_earlier_run(3, 77));
  }
}

TEST_F(Launchers, RanksEndWithTheProcessThatForkedThem) {
  const std::string script = R"(
printf '{"ready": true}' >&$2
dd bs=65536 count=1 <&$2 >/dev/null 2>&1
printf '{"forked": 3, "pid": 77}' >&$2
)";
  ForkLauncher launcher(poller_, program_of("ends", script), {}, events());
  launcher.launch(3, {}, output_.open(3));
  EXPECT_TRUE(poll_until([&] { return !ended_.empty(); }));
  EXPECT_THAT(ended_, ElementsAre(std::pair(pid_t{77}, SIGKILL)));
}

TEST_F(Launchers, AnInterpreterHasItsErrorsApartAndIsOutOfReachOfTheTerminal) {
  const PythonProgram program{.python = "/bin/sh",
                              .is_plain = true,
                              .words = {"-c", "echo to out; echo to err >&2; exec sleep 1000"}};
  std::ostringstream err;
  RankOutput output(poller_, RankSelection("all"), out_, err);
  SpawnLauncher launcher(poller_, program, {}, events());
  launcher.launch(0, {}, output.open(0));
  EXPECT_TRUE(poll_until([&] { return !out_.str().empty() && !err.str().empty(); }));
  EXPECT_EQ(out_.str(), "[0] to out\n");
  EXPECT_EQ(err.str(), "[0] to err\n");
  ASSERT_EQ(started_.size(), 1U);
  EXPECT_EQ(::getpgid(started_[0].second), started_[0].second);
}

TEST_F(Launchers, AProgramThatCannotBeReadIsBadInput) {
  const std::string script = R"(printf '{"error": "no such file: train.py"}' >&$2; exit 1)";
  EXPECT_THAT([&] { ForkLauncher(poller_, program_of("error", script), {}, events()); },
              ThrowsMessage<InvalidArgument>("no such file: train.py"));
  EXPECT_THROW(ForkLauncher(poller_, program_of("silent", "exit 1"), {}, events()),
               InvalidArgument);
}

TEST_F(Launchers, NoneCanComeOnceTheForkingProcessIsGone) {
  const std::string script = R"(printf '{"ready": true}' >&$2; sleep 0.05)";
  const ForkLauncher launcher(poller_, program_of("gone", script), {}, events());
  EXPECT_TRUE(poll_until([&] { return !launcher.why_none_can_come().empty(); }));
}

TEST_F(Launchers, NobodyStartsAttachedRanks) {
  NoLauncher launcher;
  EXPECT_FALSE(launcher.launches());
  EXPECT_EQ(launcher.why_none_can_come(), "");
  EXPECT_TRUE(launcher.await_end(1s));
}

TEST_F(Launchers, AForkGetsThePipesOfItsOutputAndItsErrors) {
  std::ostringstream err;
  RankOutput output(poller_, RankSelection("all"), out_, err);
  PythonProgram program = program_of("pipes", R"(
import os, socket, sys
control = socket.socket(fileno=int(sys.argv[2]))
control.send(b'{"ready": true}')
request, pipes, flags, address = socket.recv_fds(control, 65536, 2)
os.write(pipes[0], b"to out\n")
os.write(pipes[1], b"to err\n")
control.recv(1)
)");
  program.python = "python3";
  ForkLauncher launcher(poller_, program, {}, events());
  launcher.launch(2, {}, output.open(2));
  EXPECT_TRUE(poll_until([&] { return !out_.str().empty() && !err.str().empty(); }));
  EXPECT_EQ(out_.str(), "[2] to out\n");
  EXPECT_EQ(err.str(), "[2] to err\n");
}

TEST_F(Launchers, AnInterruptSaysWhoseImportsItCutShort) {
  const auto waited_for = [this](std::vector<std::string> words) {
    PythonProgram program = program_of("slow", "exec sleep 1000");
    program.words = std::move(words);
    const std::string said = gang::test::temporary_directory() + "interrupted";
    const pid_t process = ::fork();
    if (process == 0) {
      std::signal(SIGINT, SIG_DFL);
      const Interrupt interrupt;
      ::raise(SIGINT);
      try {
        Poller poller;
        const ForkLauncher launcher(poller, program, {}, {});
      } catch (const Interrupted& interrupted) {
        std::ofstream(said) << interrupted.what();
      }
      ::_exit(0);
    }
    ::waitpid(process, nullptr, 0);
    return read_file("what was waited for", said);
  };
  EXPECT_EQ(waited_for({"train.py", "--epochs", "1"}), "the imports of train.py");
  EXPECT_EQ(waited_for({"-m", "pkg.train", "1"}), "the imports of pkg.train");
}

TEST(WordsForThreads, NameTheWorldTheImportsAndTheProgram) {
  PythonProgram program{.python = "python3", .packages = "/lib/gangsim", .words = {"a.py", "-v"}};
  EXPECT_THAT(words_for_threads(program, 4),
              ElementsAre("python3", "/lib/gangsim/gangsim/zygote.py", "--threads", "4", "--",
                          "a.py", "-v"));
  program.with_torch = true;
  EXPECT_THAT(words_for_threads(program, 4),
              ElementsAre("python3", "/lib/gangsim/gangsim/zygote.py", "--threads", "4", "--torch",
                          "--", "a.py", "-v"));
}

}  // namespace
}  // namespace gang::harness
