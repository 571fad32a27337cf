#include "gang/gloo/gloo_groups.h"

#include "gang/agreement.h"
#include "gang/gangs.h"
#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using test::on_gloo_ranks;
using test::run_gloo_ranks;

TEST(GlooGroups, KeepTheOrderOfTheList) {
  on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    const int ranks[] = {3, 0, 2};
    const auto child = gang->create_gang(ranks, {.name = "odd"});
    if (gang->rank() == 1) {
      EXPECT_EQ(child, nullptr);
      return;
    }
    const int expected[] = {1, -1, 2, 0};
    EXPECT_EQ(child->rank(), expected[gang->rank()]);
    EXPECT_EQ(label_of(child->info()), "odd[3,0,2]");
    std::vector<std::int32_t> all(3);
    std::vector<std::int32_t> own = {gang->rank()};
    child->all_gather(view(all), view(own));
    EXPECT_EQ(all, (std::vector<std::int32_t>{3, 0, 2}));
  });
}

TEST(GlooGroups, SplitByColorAndOrderByKeyAtAnyDepth) {
  on_gloo_ranks({.size = 6}, [](std::shared_ptr<Gang>& gang) {
    const int me = gang->rank();
    const auto half = gang->split({.color = me % 2, .key = -me}, {.timeout = 9000ms});
    EXPECT_EQ(half->size(), 3);
    EXPECT_EQ(half->rank(), 2 - me / 2);
    EXPECT_EQ(half->timeout(), Duration(9000ms));
    EXPECT_EQ(all_sum(*half, me), me % 2 == 0 ? 6 : 9);
    const auto pair = half->split({.color = half->rank() == 2 ? no_color : 0});
    if (half->rank() == 2) {
      EXPECT_EQ(pair, nullptr);
      return;
    }
    EXPECT_EQ(all_sum(*pair, 1), 2);
    EXPECT_EQ(pair->name(), "root.0.0");
    EXPECT_EQ(pair->timeout(), Duration(9000ms));
  });
}

TEST(GlooGroups, OfTheSameRanksAreIndependent) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    const int both[] = {0, 1};
    for (int i = 0; i < 5; ++i) {
      const auto child = gang->create_gang(both);
      EXPECT_EQ(all_sum(*child, i), 2 * i);
      if (i % 2 == 0) child->close();
    }
  });
}

TEST(GlooGroups, OfALayoutAreMade) {
  on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    Gangs gangs = create_parallel_gangs(gang, {.tp_size = 2});
    EXPECT_EQ(all_sum(*gangs.tp, gang->rank()), gang->rank() < 2 ? 1 : 5);
    EXPECT_EQ(all_sum(*gangs.dp, gang->rank()), gang->rank() % 2 == 0 ? 2 : 4);
    gangs.close();
  });
}

TEST(GlooGroups, DifferentListsAreAMismatchOnEveryRank) {
  const auto errors = run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    const std::vector<int> ranks =
        gang->rank() == 2 ? std::vector<int>{0, 1, 2} : std::vector<int>{0, 1};
    gang->create_gang(ranks);
  });
  for (const auto& error : errors) {
    EXPECT_EQ(error.kind, "mismatch") << error.text;
    EXPECT_EQ(error.ranks_at_fault, std::vector<int>{2});
  }
}

TEST(GlooGroups, ARootWhoseMembersDoNotComeIsATimeout) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const std::shared_ptr<Store> store = make_memory_store(*runtime);
  const auto error = test::error_of([&] {
    make_gloo_gang({.connector = make_store_connector(test::loopback_device(), store, runtime),
                    .runtime = runtime,
                    .rank = 1,
                    .size = 2,
                    .timeout = 100ms});
  });
  EXPECT_EQ(error.kind, "timeout") << error.text;
  EXPECT_NE(error.text.find("rank 1 of root[0,1] failed in create_gang"), std::string::npos)
      << error.text;
}

// Connects root gangs only.
class FailingConnector final : public GlooConnector {
 public:
  explicit FailingConnector(std::shared_ptr<GlooConnector> inner) : inner_(std::move(inner)) {}

  std::shared_ptr<gloo::transport::Context> connect(const GlooMembership& membership,
                                                    Duration timeout) override {
    if (membership.parent != nullptr) throw std::runtime_error("no file is left");
    return inner_->connect(membership, timeout);
  }
  std::shared_ptr<gloo::transport::Context> watched(
      std::shared_ptr<gloo::transport::Context> transport, const std::string& prefix) override {
    return inner_->watched(std::move(transport), prefix);
  }
  void close(gloo::transport::Context& transport) noexcept override { inner_->close(transport); }
  void leave_note(const std::string& prefix, std::string_view text) noexcept override {
    inner_->leave_note(prefix, text);
  }
  std::optional<std::string> find_note(const std::string& prefix) noexcept override {
    return inner_->find_note(prefix);
  }

 private:
  std::shared_ptr<GlooConnector> inner_;
};

TEST(GlooGroups, AMemberThatCannotConnectIsNotWaitedFor) {
  const auto wrap = [](int rank, std::shared_ptr<GlooConnector> connector) {
    return std::shared_ptr<GlooConnector>(
        rank == 1 ? std::make_shared<FailingConnector>(std::move(connector)) : connector);
  };
  const auto errors = run_gloo_ranks({.size = 3, .wrap = wrap}, [](std::shared_ptr<Gang>& gang) {
    const int all[] = {0, 1, 2};
    gang->create_gang(all);
  });
  for (const auto& error : errors) {
    EXPECT_EQ(error.kind, "connection") << error.text;
    EXPECT_NE(error.text.find("no file is left"), std::string::npos) << error.text;
    EXPECT_LT(error.elapsed, std::chrono::seconds(10));
  }
}

}  // namespace
}  // namespace gang
