#include "harness/conductor/rank_output.h"

#include <sstream>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;

class RankOutputTest : public testing::Test {
 protected:
  static void write(const Descriptor& pipe, std::string_view text) {
    ASSERT_EQ(::write(pipe.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void read_all() {
    while (poller_.poll(0ms)) {
    }
  }

  Poller poller_;
  std::ostringstream out_;
  std::ostringstream err_;
  RankOutput output_{poller_, RankSelection("0-2"), out_, err_};
};

TEST_F(RankOutputTest, IsPassedOnLineByLineWithItsRank) {
  const RankOutput::Pipes pipes = output_.open(2);
  write(pipes.out, "epoch 1\nlo");
  read_all();
  EXPECT_EQ(out_.str(), "[2] epoch 1\n");
  write(pipes.out, "ss 0.25\n\n");
  write(pipes.err, "warning\n");
  read_all();
  EXPECT_EQ(out_.str(), "[2] epoch 1\n[2] loss 0.25\n[2] \n");
  EXPECT_EQ(err_.str(), "[2] warning\n");
}

TEST_F(RankOutputTest, ALastLineWithoutAnEndIsALine) {
  RankOutput::Pipes pipes = output_.open(0);
  write(pipes.out, "no newline");
  pipes.out.close();
  read_all();
  EXPECT_EQ(out_.str(), "[0] no newline\n");
}

TEST_F(RankOutputTest, OfOtherRanksIsReadAndNotPassedOn) {
  const RankOutput::Pipes pipes = output_.open(3);
  const std::string much(60'000, 'x');
  for (int i = 0; i < 4; ++i) {
    write(pipes.out, much);
    read_all();
  }
  EXPECT_EQ(out_.str(), "");
}

TEST_F(RankOutputTest, IsSilentOnceItIsToldTo) {
  const RankOutput::Pipes pipes = output_.open(1);
  write(pipes.out, "one\n");
  read_all();
  output_.silence();
  write(pipes.out, "two\n");
  read_all();
  EXPECT_EQ(out_.str(), "[1] one\n");
}

TEST_F(RankOutputTest, WhatWasPrintedBeforeItIsSilencedIsPassedOn) {
  RankOutput::Pipes ended = output_.open(0);
  const RankOutput::Pipes pipes = output_.open(1);
  write(ended.out, "the end");
  ended.out.close();
  write(pipes.out, "one\n");
  output_.silence();
  EXPECT_EQ(out_.str(), "[1] one\n[0] the end\n");
  write(pipes.out, "two\n");
  read_all();
  EXPECT_EQ(out_.str(), "[1] one\n[0] the end\n");
}

TEST_F(RankOutputTest, ARankMayBeStartedAgain) {
  {
    const RankOutput::Pipes pipes = output_.open(1);
  }
  read_all();
  const RankOutput::Pipes pipes = output_.open(1);
  write(pipes.out, "again\n");
  read_all();
  EXPECT_EQ(out_.str(), "[1] again\n");
}

TEST_F(RankOutputTest, LinesOfOtherRanksAreNotPassedOn) {
  const RankOutput::Pipes pipes = output_.open(3);
  write(pipes.out, "loss 0.25\n");
  read_all();
  EXPECT_EQ(out_.str(), "");
}

TEST_F(RankOutputTest, ALineMayComeInManyPieces) {
  const RankOutput::Pipes pipes = output_.open(1);
  for (const char* piece : {"lo", "ss ", "0.25", "\n"}) {
    write(pipes.out, piece);
    read_all();
  }
  EXPECT_EQ(out_.str(), "[1] loss 0.25\n");
}

}  // namespace
}  // namespace gang::harness
