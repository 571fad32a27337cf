#include "gang/work.h"

#include <exception>
#include <utility>
#include <vector>

#include "gang/error.h"

namespace gang {
namespace {

// Runs `ask`, and notes in `observed` that the program has seen the operation end, perhaps with one
// of our errors. Any other exception (a fiber being unwound) says nothing about the operation.
template <typename Ask>
bool observe(bool& observed, Ask&& ask) {
  try {
    const bool complete = ask();
    observed = observed || complete;
    return complete;
  } catch (const Error&) {
    observed = true;
    throw;
  }
}

}  // namespace

Work& Work::operator=(Work&& other) noexcept {
  if (this == &other) return *this;
  release();
  state_ = std::move(other.state_);
  received_ = other.received_;
  observed_ = other.observed_;
  return *this;
}

Work::~Work() { release(); }

void Work::release() noexcept {
  if (state_ != nullptr && !observed_) state_->dropped();
  state_.reset();
}

void Work::detach() noexcept {
  if (state_ == nullptr) return;
  WorkState& state = *state_;
  if (!observed_) state.detached(std::move(state_));
  state_.reset();
}

void Work::wait() {
  if (state_ == nullptr) return;
  observe(observed_, [this] { return state_->wait(no_timeout); });
}

bool Work::wait(Duration timeout) {
  check_timeout("wait", timeout);
  if (state_ == nullptr) return true;
  return observe(observed_, [this, timeout] { return state_->wait(timeout); });
}

bool Work::test() {
  if (state_ == nullptr) return true;
  return observe(observed_, [this] { return state_->test(); });
}

Received Work::received() const {
  if (state_ == nullptr) return received_;
  if (!observed_)
    throw InvalidOperation(
        "received: the operation is not known to be complete; wait for it first");
  return state_->received();
}

void Work::wait_all(std::span<Work> works) {
  std::exception_ptr first_error;
  for (Work& work : works) {
    try {
      work.wait();
    } catch (const Error&) {
      if (first_error == nullptr) first_error = std::current_exception();
    }
  }
  if (first_error != nullptr) std::rethrow_exception(first_error);
}

std::size_t Work::wait_any(std::span<Work> works) {
  if (works.empty())
    throw InvalidArgument("wait_any: the list is empty; must hold one or more works");
  std::vector<WorkState*> states;
  states.reserve(works.size());
  for (const Work& work : works) {
    if (work.state_ == nullptr || work.observed_) break;
    states.push_back(work.state_.get());
  }
  const std::size_t known_complete = states.size();
  if (known_complete == works.size()) {
    const std::size_t index = states.front()->wait_any(states);
    works[index].observed_ = true;
    return index;
  }
  // One is already known to be complete; one before it may be too, and then comes first.
  for (std::size_t index = 0; index < known_complete; ++index) {
    try {
      if (works[index].test()) return index;
    } catch (const Error&) {
      return index;
    }
  }
  return known_complete;
}

}  // namespace gang
