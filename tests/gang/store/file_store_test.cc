#include "gang/store/file_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/gang/store/clock_runtime.h"
#include "tests/gang/store/store_matchers.h"
#include "tests/gang/store/temporary_folder.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

class FileStores : public testing::Test {
 protected:
  std::shared_ptr<Store> open() {
    return make_file_store(*runtime_, {.path = path_, .poll_interval = 500us});
  }

  // Runs `body` in its own process.
  template <typename Body>
  pid_t fork_child(const Body& body) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    int status = 1;
    try {
      body(*open());
      status = 0;
    } catch (...) {
      status = 2;
    }
    ::_exit(status);
  }

  static int status_of(pid_t child) {
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }

  std::unique_ptr<RuntimeThread> later(std::function<void()> body) {
    return runtime_->start_thread("later", [this, body = std::move(body)] {
      runtime_->sleep_for(2ms);
      body();
    });
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.file("store");
  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
};

TEST_F(FileStores, ClientsShareTheMap) {
  const std::shared_ptr<Store> one = open();
  const std::shared_ptr<Store> other = one->new_client();
  one->set_text("a", "1");
  EXPECT_EQ(other->try_get_text("a"), "1");
  other->append_text("a", "2");
  EXPECT_EQ(one->get_text("a", 1s), "12");
  EXPECT_EQ(one->add("n", 3), 3);
  EXPECT_EQ(other->add("n", -5), -2);
  EXPECT_EQ(one->compare_set_text("c", "", "first"), "first");
  EXPECT_EQ(other->compare_set_text("c", "", "second"), "first");
  EXPECT_EQ(other->compare_set_text("c", "first", "second"), "second");
  EXPECT_EQ(one->get_text("c", 1s), "second");
  EXPECT_EQ(one->compare_set_text("missing", "x", "y"), "x");
  EXPECT_EQ(one->num_keys(), 3);
  EXPECT_TRUE(other->delete_key("a"));
  EXPECT_FALSE(one->delete_key("a"));
}

TEST_F(FileStores, AMapOutlivesItsClients) {
  open()->set_text("a", "1");
  EXPECT_EQ(open()->get_text("a", 1s), "1");
}

TEST_F(FileStores, GetWaitsForAnotherProcess) {
  const std::shared_ptr<Store> store = open();
  const pid_t child = fork_child([](Store& mine) { mine.set_text("a", "from a child"); });
  EXPECT_EQ(store->get_text("a", 10s), "from a child");
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(FileStores, AWaitSeesAKeyThatCameAndWent) {
  const std::shared_ptr<Store> store = open();
  const auto setter = later([other = store->new_client()] {
    other->set_text("a", "1");
    other->delete_key("a");
    other->set_text("b", "1");
  });
  const std::vector<std::string> keys = {"a", "b"};
  store->wait(keys, 10s);
  EXPECT_FALSE(store->check(keys));
}

TEST_F(FileStores, AWaitForAnExistingKeyReturns) {
  const std::shared_ptr<Store> store = open();
  store->set_text("a", "1");
  const std::vector<std::string> keys = {"a"};
  store->wait(keys, 1s);
}

TEST_F(FileStores, ATimeoutNamesTheKey) {
  const std::shared_ptr<Store> store = open();
  const std::vector<std::string> keys = {"a"};
  EXPECT_THAT([&] { store->get("a", 2ms); },
              fails_with(StoreErrorKind::timeout, "get of 'a' at file " + path_.string()));
  EXPECT_THAT([&] { store->wait(keys, 2ms); }, fails_with(StoreErrorKind::timeout, "'a'"));
}

TEST_F(FileStores, AWaitLastsAsLongAsItsTimeout) {
  ClockRuntime clock(1s);
  const auto store = make_file_store(clock, {.path = path_, .poll_interval = 7ms});
  const std::vector<std::string> keys = {"a", "b"};
  EXPECT_THROW(store->get("a", 3s), StoreError);
  EXPECT_EQ(clock.now(), 4s);
  EXPECT_THROW(store->wait(keys, 5s), StoreError);
  EXPECT_EQ(clock.now(), 9s);
}

TEST_F(FileStores, CancellingEndsWaits) {
  const std::shared_ptr<Store> store = open();
  const std::vector<std::string> keys = {"a"};
  {
    const auto canceller = later([store] { store->cancel(); });
    EXPECT_THAT([&] { store->get("a", no_timeout); }, fails_with(StoreErrorKind::cancelled, "'a'"));
  }
  EXPECT_THAT([&] { store->wait(keys, 1s); }, fails_with(StoreErrorKind::cancelled, "'a'"));
  EXPECT_THAT([&] { store->set_text("a", ""); }, fails_with(StoreErrorKind::cancelled, "'a'"));
  EXPECT_EQ(store->new_client()->num_keys(), 0);
}

TEST_F(FileStores, AddToAWordIsAnErrorAndChangesNothing) {
  const std::shared_ptr<Store> store = open();
  store->set_text("a", "word");
  EXPECT_THAT([&] { store->add("a", 1); }, fails_with(StoreErrorKind::not_a_number, "'a'"));
  EXPECT_EQ(store->get_text("a", 1s), "word");
}

TEST_F(FileStores, ConcurrentAddsOfProcessesAllCount) {
  constexpr int adds = 150;
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i)
    children.push_back(fork_child([](Store& mine) {
      for (int n = 0; n < adds; ++n) mine.add("n", 1);
    }));
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(open()->get_text("n", 1s), std::to_string(3 * adds));
}

TEST_F(FileStores, AKilledProcessDoesNotHarmOthers) {
  void* memory = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* done = new (memory) std::atomic<int>(0);
  const std::shared_ptr<Store> store = open();
  int expected = 0;
  for (int round = 0; round < 5; ++round) {
    *done = 0;
    const pid_t child = fork_child([done](Store& mine) {
      while (true) *done = static_cast<int>(mine.add("n", 1));
    });
    while (*done < expected + 20) ::usleep(100);
    ::kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(status_of(child)));
    const auto sum = static_cast<int>(store->add("n", 0));
    EXPECT_GE(sum, *done);
    EXPECT_LE(sum, *done + 1);
    expected = sum;
  }
  ::munmap(memory, sizeof(std::atomic<int>));
}

TEST_F(FileStores, ALockThatIsNotReleasedIsATimeout) {
  const std::shared_ptr<Store> store =
      make_file_store(*runtime_, {.path = path_, .lock_timeout = 5ms});
  const int holder = ::open(path_.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  EXPECT_THAT([&] { store->set_text("a", "1"); },
              fails_with(StoreErrorKind::timeout, "another process holds the file's lock"));
  ::close(holder);
  store->set_text("a", "1");
}

TEST_F(FileStores, AnotherKindOfFileIsRefusedAtOnce) {
  std::ofstream(path_) << "a report\n";
  EXPECT_THAT([&] { open(); }, fails_with(StoreErrorKind::corrupt, "is not a store file"));
}

TEST_F(FileStores, OptionsMustBePositive) {
  EXPECT_THROW(make_file_store(*runtime_, {.path = path_, .lock_timeout = 0s}), InvalidArgument);
  EXPECT_THROW(make_file_store(*runtime_, {.path = path_, .poll_interval = -1s}), InvalidArgument);
}

}  // namespace
}  // namespace gang
