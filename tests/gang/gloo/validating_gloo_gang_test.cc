// ValidatingGang on real connections: every rank gets an error where it would otherwise hang.
#include <gtest/gtest.h>

#include "gang/agreement.h"
#include "gang/validating_gang.h"
#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;

std::shared_ptr<Gang> validating(const std::shared_ptr<Gang>& gang,
                                 ValidatingGangOptions::MissingRanks missing_ranks = {}) {
  return make_validating_gang(gang,
                              {.runtime = make_real_runtime(), .missing_ranks = missing_ranks});
}

// Runs `call` on three validating ranks, the last of which is the odd one.
std::vector<test::RankError> run_mismatch(
    const std::function<void(Gang& gang, bool is_odd)>& call) {
  return test::run_gloo_ranks({.size = 3}, [&call](std::shared_ptr<Gang>& gang) {
    const auto validated = validating(gang);
    std::int32_t one = 1;
    validated->all_reduce(view_of(one), ReduceOperation::sum);
    EXPECT_EQ(one, 3);
    call(*validated, gang->rank() == 2);
  });
}

void expect_mismatch(const std::vector<test::RankError>& errors, const std::string& what) {
  for (const test::RankError& error : errors) {
    EXPECT_EQ(error.kind, "mismatch") << what << ": " << error.text;
    EXPECT_EQ(error.ranks_at_fault, std::vector<int>{2}) << what;
    EXPECT_NE(error.text.find("the " + what + " differ"), std::string::npos) << error.text;
    EXPECT_NE(error.text.find("validating_gloo_gang_test.cc"), std::string::npos) << error.text;
  }
}

TEST(ValidatingGlooGang, TellsEveryRankWhatDiffers) {
  const std::vector<std::pair<std::string, std::function<void(Gang&, bool)>>> cases = {
      {"operations",
       [](Gang& gang, bool odd) {
         std::vector<float> own(4);
         if (odd) return gang.barrier();
         gang.all_reduce(view(own), ReduceOperation::sum);
       }},
      {"numbers of elements",
       [](Gang& gang, bool odd) {
         std::vector<float> own(odd ? 5 : 4);
         gang.start_all_reduce(view(own), ReduceOperation::sum).wait();
       }},
      {"data types",
       [](Gang& gang, bool odd) {
         std::vector<float> own(4);
         std::vector<std::int32_t> whole(4);
         gang.all_reduce(odd ? view(whole) : view(own), ReduceOperation::sum);
       }},
      {"reduce operations",
       [](Gang& gang, bool odd) {
         std::vector<float> own(4);
         gang.all_reduce(view(own), odd ? ReduceOperation::max : ReduceOperation::sum);
       }},
      {"roots",
       [](Gang& gang, bool odd) {
         std::vector<float> own(4);
         gang.broadcast(view(own), odd ? 1 : 0);
       }},
      {"labels", [](Gang& gang, bool odd) { gang.barrier({.label = odd ? "after" : "before"}); }},
      {"ranks",
       [](Gang& gang, bool odd) {
         gang.create_gang(odd ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1});
       }},
  };
  for (const auto& [what, call] : cases) expect_mismatch(run_mismatch(call), what);
}

TEST(ValidatingGlooGang, GangsMadeFromItValidateToo) {
  const auto errors = run_mismatch([](Gang& gang, bool odd) {
    const auto child = gang.split({.color = 0});
    EXPECT_EQ(all_sum(*child, 2), 6);
    std::vector<float> values(odd ? 3 : 4);
    child->broadcast(view(values));
  });
  expect_mismatch(errors, "numbers of elements");
}

TEST(ValidatingGlooGang, NamesTheMissingRanks) {
  const auto errors =
      test::run_gloo_ranks({.size = 3, .timeout = 300ms}, [](std::shared_ptr<Gang>& gang) {
        const auto validated = validating(gang, ValidatingGangOptions::MissingRanks::named);
        validated->barrier();
        if (gang->rank() == 1)
          std::this_thread::sleep_for(700ms);
        else
          validated->barrier();
      });
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_EQ(errors[rank].kind, "timeout") << errors[rank].text;
    EXPECT_EQ(errors[rank].ranks_at_fault, std::vector<int>{1}) << errors[rank].text;
  }
}

TEST(ValidatingGlooGang, StartedOperationsContinueWhileTheProgramWaitsElsewhere) {
  test::on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    const auto validated = validating(gang);
    float value = 1;
    std::int32_t message = 5;
    if (gang->rank() == 0) {
      Work work = validated->start_all_reduce(view_of(value), ReduceOperation::sum);
      validated->recv(view_of(message), 1);
      work.wait();
    } else {
      validated->send(view_of(message), 0);
      validated->all_reduce(view_of(value), ReduceOperation::sum);
    }
    EXPECT_EQ(value, 2.0F);
  });
}

// Ranks 0 and 1 of three exchange messages while rank 2 waits for them.
std::vector<test::RankError> run_message_mismatch(const std::function<void(Gang& gang)>& sender,
                                                  const std::function<void(Gang& gang)>& receiver) {
  return test::run_gloo_ranks({.size = 3}, [&](std::shared_ptr<Gang>& gang) {
    const auto validated = validating(gang);
    float value = 1;
    if (gang->rank() == 0) validated->send(view_of(value), 1, 7);
    if (gang->rank() == 1) validated->recv(view_of(value), 0, 7);
    if (gang->rank() == 0) sender(*validated);
    if (gang->rank() == 1) receiver(*validated);
    if (gang->rank() == 2) validated->barrier();
  });
}

void expect_message_mismatch(const std::vector<test::RankError>& errors, const std::string& what) {
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(errors[rank].kind, "mismatch") << what << ": " << errors[rank].text;
    EXPECT_EQ(errors[rank].ranks_at_fault, (std::vector{0, 1})) << what;
    EXPECT_NE(errors[rank].text.find("the " + what + " differ: rank 0 calls send"),
              std::string::npos)
        << errors[rank].text;
  }
  EXPECT_NE(errors[2].kind, "") << what;
  EXPECT_LT(errors[2].elapsed, 10'000ms) << what;
}

TEST(ValidatingGlooGang, TellsBothSidesOfAMessageWhatDiffers) {
  std::vector<float> four(4);
  std::vector<float> five(5);
  std::vector<std::int32_t> whole(4);
  expect_message_mismatch(run_message_mismatch([&](Gang& gang) { gang.send(view(four), 1); },
                                               [&](Gang& gang) { gang.recv(view(five), 0); }),
                          "numbers of elements");
  expect_message_mismatch(
      run_message_mismatch([&](Gang& gang) { gang.start_send(view(four), 1).wait(); },
                           [&](Gang& gang) { gang.recv(view(whole)); }),
      "data types");
  expect_message_mismatch(
      run_message_mismatch([&](Gang& gang) { gang.send(view(four), 1, 0, {.label = "even"}); },
                           [&](Gang& gang) {
                             const PointToPoint batch[] = {{OperationKind::recv, view(five), 0, 0}};
                             gang.batch(batch, {.label = "odd"});
                           }),
      "numbers of elements");
  expect_message_mismatch(
      run_message_mismatch(
          [&](Gang& gang) { gang.send(view(four), 1, 0, {.label = "even"}); },
          [&](Gang& gang) { gang.start_recv(view(four), any_rank, 0, {.label = "odd"}).wait(); }),
      "labels");
}

TEST(ValidatingGlooGang, MessagesOfAnyOrderAndSourceStillArrive) {
  test::on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    const auto validated = validating(gang);
    std::int32_t out = gang->rank() * 10;
    if (gang->rank() != 0) {
      // The receives are in a different order.
      validated->send(view_of(out), 0, 2);
      Work later = validated->start_send(view_of(out), 0, 1);
      validated->barrier();
      later.wait();
      return;
    }
    std::int32_t got[4] = {};
    Work works[] = {validated->start_recv(view_of(got[0]), any_rank, 1),
                    validated->start_recv(view_of(got[1]), any_rank, 1),
                    validated->start_recv(view_of(got[2]), any_rank, 2)};
    const PointToPoint batch[] = {{OperationKind::recv, view_of(got[3]), any_rank, 2}};
    validated->batch(batch);
    validated->barrier();
    Work::wait_all(works);
    EXPECT_EQ(got[0] + got[1], 30);
    EXPECT_EQ(got[2] + got[3], 30);
    EXPECT_EQ(got[0], works[0].received().source_rank * 10);
  });
}

TEST(ValidatingGlooGang, MessagesToTheSameRankAreValidatedToo) {
  const auto errors = test::run_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    const auto validated = validating(gang);
    std::vector<float> out = {1, 2};
    std::vector<float> in(2);
    Work send = validated->start_send(view(out), gang->rank());
    validated->recv(view(in), gang->rank());
    send.wait();
    EXPECT_EQ(in, out);
    Work wrong = validated->start_send(view(out), gang->rank());
    in.resize(3);
    validated->recv(view(in), gang->rank());
  });
  for (int rank = 0; rank < 2; ++rank) {
    const test::RankError& error = errors[static_cast<std::size_t>(rank)];
    EXPECT_EQ(error.kind, "mismatch") << error.text;
    EXPECT_EQ(error.ranks_at_fault, std::vector<int>{rank});
  }
}

}  // namespace
}  // namespace gang
