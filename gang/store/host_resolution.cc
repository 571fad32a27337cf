#include "gang/store/host_resolution.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "gang/store/store.h"

namespace gang {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

// Shared by the asking thread and the waiting one; the last to end frees it.
struct Question {
  std::mutex mutex;
  std::condition_variable answered;
  bool is_answered = false;
  std::vector<std::string> addresses;
  std::string error;
};

void ask_system(const std::string& host, const std::shared_ptr<Question>& question) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  std::vector<std::string> v4;
  std::vector<std::string> v6;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> name{};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, name.data(), name.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
      continue;
    (entry->ai_family == AF_INET ? v4 : v6).emplace_back(name.data());
  }
  if (list != nullptr) ::freeaddrinfo(list);
  v4.insert(v4.end(), v6.begin(), v6.end());
  const std::lock_guard lock(question->mutex);
  question->addresses = std::move(v4);
  if (question->addresses.empty())
    question->error = code == 0 ? "it has no address" : ::gai_strerror(code);
  question->is_answered = true;
  question->answered.notify_all();
}

}  // namespace

std::vector<std::string> addresses_of(const std::string& host,
                                      std::chrono::steady_clock::time_point deadline,
                                      const std::function<bool()>& is_cancelled) {
  if (is_address(host)) return {host};
  const auto check_patience = [&host, deadline, &is_cancelled] {
    if (is_cancelled())
      throw StoreError(StoreErrorKind::cancelled,
                       fmt::format("resolving '{}' was cancelled", host));
    if (std::chrono::steady_clock::now() >= deadline)
      throw StoreError(StoreErrorKind::timeout,
                       fmt::format("the name '{}' was not resolved in time", host));
  };
  check_patience();
  const auto question = std::make_shared<Question>();
  std::thread([host, question] { ask_system(host, question); }).detach();
  std::unique_lock lock(question->mutex);
  while (!question->is_answered) {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    question->answered.wait_until(lock, std::min(deadline, soon));
    if (!question->is_answered) check_patience();
  }
  if (question->addresses.empty())
    throw StoreError(StoreErrorKind::connection,
                     fmt::format("the name '{}' cannot be resolved: {}", host, question->error));
  return question->addresses;
}

}  // namespace gang
