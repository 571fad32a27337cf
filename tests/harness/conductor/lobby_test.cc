#include "harness/conductor/lobby.h"

#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/conductor/client.h"
#include "tests/harness/conductor/bytes.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

class LobbyTest : public testing::Test {
 protected:
  Lobby make(const std::string& path = "") {
    return {poller_, path, [this](std::unique_ptr<Caller>& caller, pid_t process) {
              if (!reason_.empty()) return reason_;
              process_ = process;
              callers_.push_back(std::move(caller));
              return std::string();
            }};
  }

  // Lets `visitor` run on another thread, and serves it.
  template <typename Visitor>
  void serve(const Visitor& visitor) {
    std::atomic<bool> is_over = false;
    const std::jthread thread([&] {
      visitor();
      is_over = true;
    });
    while (!is_over) poller_.poll(std::chrono::milliseconds(1));
    while (poller_.poll(std::chrono::milliseconds(0))) {
    }
  }
  std::string refusal_of(const std::string& path, const HelloMessage& hello) {
    std::string reason;
    serve([&] {
      try {
        const Client client(path, hello);
      } catch (const Refusal& refusal) {
        reason = refusal.what();
      }
    });
    return reason;
  }

  Poller poller_;
  std::string reason_;
  std::vector<std::unique_ptr<Caller>> callers_;
  pid_t process_ = 0;
};

TEST_F(LobbyTest, ListensInAFolderThatOnlyThisUserCanEnterAndRemovesIt) {
  std::string path;
  {
    const Lobby lobby = make();
    path = lobby.path();
    struct stat status{};
    ASSERT_EQ(::stat(std::filesystem::path(path).parent_path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077U, 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

TEST_F(LobbyTest, ListensWhereItIsToldTo) {
  const std::string path = gang::test::temporary_directory() + "here";
  {
    const Lobby lobby = make(path);
    EXPECT_EQ(lobby.path(), path);
    EXPECT_THROW(make(path), InvalidArgument);  // taken
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(make("/absent/folder/socket"), InvalidArgument);
  EXPECT_THROW(make(std::string(200, 'x')), InvalidArgument);
}

TEST_F(LobbyTest, WelcomesWhoSaysHello) {
  Lobby lobby = make();
  lobby.set_world(5, 77);
  lobby.set_stream_ordered(true);
  serve([&lobby] {
    const Client client(lobby.path(), Client::caller(3, 5, "loader"));
    EXPECT_EQ(client.world_size(), 5);
    EXPECT_EQ(client.seed(), 77U);
    EXPECT_TRUE(client.welcome().is_stream_ordered);
  });
  ASSERT_EQ(callers_.size(), 1U);
  EXPECT_EQ(callers_[0]->hello.rank, 3);
  EXPECT_EQ(callers_[0]->hello.thread_name, "loader");
  EXPECT_EQ(process_, ::getpid());
}

TEST_F(LobbyTest, SaysWhyItRefuses) {
  const Lobby lobby = make();
  HelloMessage hello = Client::caller(0, 1);
  reason_ = "no room";
  EXPECT_EQ(refusal_of(lobby.path(), hello), "no room");
  reason_.clear();
  for (const std::uint32_t other : {protocol_version - 1, protocol_version + 1}) {
    hello.version = other;
    EXPECT_EQ(refusal_of(lobby.path(), hello),
              fmt::format("this gangsim speaks version {} of the protocol, the client version {}",
                          protocol_version, other));
  }
  EXPECT_TRUE(callers_.empty());
}

TEST_F(LobbyTest, WhoDoesNotSayHelloIsRefusedAndTheNextOneIsHeard) {
  const Lobby lobby = make();
  for (const Frame& first : {frame_of(ByeMessage{}), conducted::bytes_of("GET / HTTP/1.1\r\n"),
                             Frame(64, std::byte{0xff}), Frame(4)})
    serve([&] {
      const Descriptor socket = connect_to(lobby.path());
      ASSERT_EQ(::write(socket.get(), first.data(), first.size()),
                static_cast<ssize_t>(first.size()));
    });
  EXPECT_TRUE(callers_.empty());
  EXPECT_EQ(refusal_of(lobby.path(), Client::caller(0, 1)), "");
  EXPECT_EQ(callers_.size(), 1U);
}

TEST_F(LobbyTest, ManyMayWaitWithoutAWord) {
  const Lobby lobby = make();
  std::vector<Descriptor> silent;
  serve([&] {
    for (int i = 0; i < 20; ++i) silent.push_back(connect_to(lobby.path()));
  });
  EXPECT_EQ(refusal_of(lobby.path(), Client::caller(0, 1)), "");
}

// It said much at once and is gone: nobody is left to welcome.
TEST_F(LobbyTest, WhoIsGoneAfterItsHelloWasNeverThere) {
  const Lobby lobby = make();
  Frame all = frame_of(Client::caller(0, 1));
  while (all.size() < 16'384) {
    const Frame more = frame_of(TestMessage{1});
    all.insert(all.end(), more.begin(), more.end());
  }
  all.resize(16'384);  // a whole read
  {
    const Descriptor socket = connect_to(lobby.path());
    ASSERT_EQ(::write(socket.get(), all.data(), all.size()), static_cast<ssize_t>(all.size()));
  }
  while (poller_.poll(std::chrono::milliseconds(0))) {
  }
  EXPECT_TRUE(callers_.empty());
}

TEST_F(LobbyTest, LeavesTheRightsOfNewFilesAlone) {
  const mode_t before = ::umask(022);
  {
    const Lobby lobby = make();
    EXPECT_EQ(::umask(022), 022U);
  }
  ::umask(before);
}

TEST_F(LobbyTest, APathMustFitIntoAnAddress) {
  const std::string folder = gang::test::temporary_directory();
  constexpr std::size_t most = sizeof(sockaddr_un::sun_path) - 1;
  ASSERT_LT(folder.size(), most);
  const std::string longest = folder + std::string(most - folder.size(), 'x');
  EXPECT_EQ(make(longest).path(), longest);
  EXPECT_THAT([&] { make(longest + "x"); },
              testing::ThrowsMessage<InvalidArgument>(testing::EndsWith(
                  fmt::format("has {} bytes; must be at most {}", most + 1, most))));
}

}  // namespace
}  // namespace gang::harness
