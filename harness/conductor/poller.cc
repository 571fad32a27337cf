#include "harness/conductor/poller.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace gang::harness {

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_.is_open()) throw std::system_error(errno, std::generic_category(), "epoll");
}

void Poller::add(int descriptor, std::function<void()> on_event) {
  handlers_[descriptor] = std::make_shared<const std::function<void()>>(std::move(on_event));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll");
}

void Poller::remove(int descriptor) noexcept {
  if (handlers_.erase(descriptor) > 0)
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void Poller::watch_writes(int descriptor, bool watches) noexcept {
  epoll_event event{};
  event.events = watches ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.fd = descriptor;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
}

bool Poller::poll(Duration timeout) {
  std::array<epoll_event, 64> events;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(std::min<std::int64_t>(wait.count(), 60'000)));
  for (int i = 0; i < count; ++i) {
    const auto handler = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (handler == handlers_.end()) continue;  // removed by an earlier one
    const auto call = handler->second;
    (*call)();
  }
  return count > 0;
}

}  // namespace gang::harness
