// Our stores and PyTorch's: the client of one with the server of the other.
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error_file.h"
#include "gang/store/tcp_store.h"
#include "gang/store/tcp_store_server.h"
#include "tests/gang/store/python_process.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class PyTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (python_.torch_version().empty()) GTEST_SKIP() << PythonProcess::how_to_get_it;
  }
  bool is_1() const { return python_.torch_version().starts_with("1."); }

  PythonProcess python_;
};

TEST_F(PyTorch, OurClientAndItsServer) {
  const std::string port = python_.evaluate("names.update(s=store(0, True)) or s.port");
  ASSERT_NE(std::atoi(port.c_str()), 0) << port;
  const auto number = static_cast<std::uint16_t>(std::atoi(port.c_str()));
  EXPECT_THAT(
      [&] {
        make_tcp_store(
            {.port = number,
             .dialect = is_1() ? TcpStoreDialect::pytorch_2 : TcpStoreDialect::pytorch_1_13,
             .timeout = 2s});
      },
      testing::Throws<StoreError>())
      << "the other dialect";
  const auto store = make_tcp_store({.port = number, .timeout = 10s});
  const auto other = store->new_client();

  store->set_text("a", "value");
  EXPECT_EQ(python_.evaluate("s.get('a')"), "b'value'");
  EXPECT_EQ(python_.evaluate("s.set('b', 'theirs')"), "None");
  EXPECT_EQ(store->get_text("b", 5s), "theirs");
  EXPECT_EQ(other->try_get_text("a"), "value");
  EXPECT_EQ(store->try_get("missing"), std::nullopt);
  EXPECT_EQ(store->add("n", 5), 5);
  EXPECT_EQ(python_.evaluate("s.add('n', -7)"), "-2");
  EXPECT_EQ(store->compare_set_text("c", "", "first"), "first");
  EXPECT_EQ(store->compare_set_text("c", "wrong", "second"), "first");
  EXPECT_EQ(store->compare_set_text("c", "first", "second"), "second");
  EXPECT_EQ(store->compare_set_text("missing", "e", "x"), "e");
  const std::vector<std::string> keys = {"a", "b"};
  EXPECT_TRUE(store->check(keys));
  EXPECT_TRUE(store->check({}));
  EXPECT_EQ(store->num_keys(), 4);
  EXPECT_TRUE(store->delete_key("a"));
  EXPECT_FALSE(store->check(keys));
  if (is_1()) {
    EXPECT_THROW(store->append_text("p", "x"), NotSupported);
  } else {
    store->append_text("p", "x");
    store->append_text("p", "yz");
    EXPECT_EQ(python_.evaluate("s.get('p')"), "b'xyz'");
  }
  EXPECT_THAT([&] { store->get("never", 20ms); }, fails_with(StoreErrorKind::timeout, "'never'"));
  std::thread setter([&other] {
    std::this_thread::sleep_for(20ms);
    other->set_text("later", "1");
  });
  EXPECT_EQ(store->get_text("later", 10s), "1");
  setter.join();
  std::thread comparer([&other] {
    std::this_thread::sleep_for(20ms);
    other->compare_set_text("compared", "", "1");
  });
  EXPECT_EQ(store->get_text("compared", 10s), "1") << "of which its server tells nobody";
  comparer.join();
  const std::vector<std::byte> large(max_store_value_bytes / 8, std::byte{7});
  store->set("large", large);
  EXPECT_TRUE(store->get("large", 10s) == large);
  EXPECT_EQ(python_.evaluate("len(s.get('large'))"), std::to_string(large.size()));
}

TEST_F(PyTorch, ItsClientAndOurServer) {
  const TcpStoreServer server;
  const auto ours = make_tcp_store({.port = server.port(), .timeout = 10s});
  EXPECT_EQ(python_.evaluate("names.update(s=store(" + std::to_string(server.port()) +
                             ", False)) or 'connected'"),
            "'connected'");
  EXPECT_EQ(python_.evaluate("s.set('a', 'value')"), "None");
  EXPECT_EQ(ours->get_text("a", 10s), "value");
  ours->set_text("b", "ours");
  EXPECT_EQ(python_.evaluate("s.get('b')"), "b'ours'");
  EXPECT_EQ(python_.evaluate("[s.add('n', 5), s.add('n', -7)]"), "[5, -2]");
  EXPECT_EQ(python_.evaluate("[s.compare_set('c', '', 'first'), s.compare_set('c', 'x', 'y'), "
                             "s.compare_set('c', 'first', 'second'), "
                             "s.compare_set('missing', 'e', 'x')]"),
            "[b'first', b'first', b'second', b'e']");
  EXPECT_EQ(python_.evaluate("s.wait(['a', 'b'], seconds(5))"), "None");
  EXPECT_EQ(python_.evaluate("s.num_keys()"), "4");
  EXPECT_EQ(python_.evaluate("[s.delete_key('a'), s.delete_key('a')]"), "[True, False]");
  if (!is_1()) {
    EXPECT_EQ(python_.evaluate("[s.append('p', 'x'), s.append('p', 'yz'), s.get('p')]"),
              "[None, None, b'xyz']");
    EXPECT_EQ(python_.evaluate("[s.multi_set(['m', 'l'], ['1', '2']), s.multi_get(['m', 'p'])]"),
              "[None, [b'1', b'xyz']]");
    EXPECT_EQ(python_.evaluate("[s.check(['m', 'l']), s.check(['m', 'no'])]"), "[True, False]");
    EXPECT_EQ(python_.evaluate("s.wait(['never'], seconds(0.05))"), "raised DistStoreError");
    EXPECT_EQ(python_.evaluate("s.add('n', 0)"), "-2") << "its connection is usable";
  }
  python_.begin("s.get('later')");
  std::this_thread::sleep_for(20ms);
  ours->set_text("later", "1");
  EXPECT_EQ(python_.read_line(), "b'1'");
  EXPECT_EQ(python_.evaluate("len(s.set('large', 'x' * 1000000) or s.get('large'))"), "1000000");
  EXPECT_EQ(server.statistics().refused, 0U) << server.statistics().last_refusal;
}

TEST_F(PyTorch, ReadsOurErrorFile) {
  const std::string text = to_error_file_text({.type = "gang::GangError",
                                               .message = "rank 2 of dp[0,2] failed",
                                               .unix_seconds = 1'700'000'000});
  const std::string line = text.substr(0, text.size() - 1);
  EXPECT_EQ(python_.evaluate("failure_told_by(r'''" + line + "''')"),
            "('gang::GangError: rank 2 of dp[0,2] failed', 1700000000)");
}

}  // namespace
}  // namespace gang
