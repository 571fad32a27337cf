#include "harness/backends/process_fault.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gang/forwarding_gang.h"
#include "sim/schedule/random_stream.h"

namespace gang::harness {
namespace {

constexpr auto kind_words = names_in_order<ProcessFaultKind>(
    "is killed", "is stopped", "exits", "throws", "is delayed", "is killed", "has a store that is");

// Applies the fault to this process, now.
void strike(const ProcessFault& fault) {
  switch (fault.kind) {
    case ProcessFaultKind::kill:
    case ProcessFaultKind::restart:  // by the parent process
      ::kill(::getpid(), SIGKILL);
      break;
    case ProcessFaultKind::stop:
      ::kill(::getpid(), SIGSTOP);
      break;
    case ProcessFaultKind::exit:
      ::_exit(0);
    case ProcessFaultKind::exception:
      throw InjectedFault(fmt::format("injected: {}", to_string(fault)));
    case ProcessFaultKind::delay:
      std::this_thread::sleep_for(fault.span);
      break;
    case ProcessFaultKind::store:  // the store does it: make_faulted_store
      break;
  }
}

// What all gangs of a rank share. Threads: any.
class FaultState {
 public:
  FaultState(std::vector<ProcessFault> faults, FaultTally& tally) : tally_(tally) {
    for (ProcessFault& fault : faults) {
      if (fault.time && is_of_process(fault.kind))
        strikers_.emplace_back([this, fault](const std::stop_token& stop) { await(fault, stop); });
      else
        waiting_.push_back({.fault = std::move(fault)});
    }
  }

  // Counts an operation; returns its faults.
  std::vector<ProcessFault> faults_of(OperationKind kind, const std::string& gang) {
    ++tally_.operations;
    std::vector<ProcessFault> found;
    if (waiting_.empty()) return found;
    const std::lock_guard lock(mutex_);
    for (Waiting& one : waiting_) {
      const ProcessFault& fault = one.fault;
      if (one.is_over || (fault.during && *fault.during != kind) ||
          (!fault.gang.empty() && fault.gang != gang))
        continue;
      one.is_over =
          fault.time ? Clock::now() >= began_ + *fault.time : one.operations++ == fault.operation;
      if (one.is_over) found.push_back(fault);
    }
    return found;
  }

  void strike(const ProcessFault& fault) {
    ++tally_.struck;
    harness::strike(fault);
  }

  // The same when its span is over, while the operation is under way.
  void strike_inside(const ProcessFault& fault) {
    const std::lock_guard lock(mutex_);
    strikers_.emplace_back([this, fault] {
      std::this_thread::sleep_for(fault.span);
      strike(fault);
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Waiting {
    ProcessFault fault;
    std::uint64_t operations = 0;  // that fit
    bool is_over = false;
  };

  // Waits until it is time, or until the program has ended.
  void await(const ProcessFault& fault, const std::stop_token& stop) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any never;
    never.wait_until(lock, stop, began_ + *fault.time, [] { return false; });
    if (!stop.stop_requested()) strike(fault);
  }

  FaultTally& tally_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
  std::vector<std::jthread> strikers_;  // last: they end before what they use is gone
};

class FaultedGang final : public ForwardingGang {
 public:
  FaultedGang(std::shared_ptr<Gang> inner, std::shared_ptr<FaultState> state)
      : ForwardingGang(std::move(inner)), state_(std::move(state)) {}

 protected:
  void before(const Operation& operation) override {
    faults_ = state_->faults_of(operation.collective.kind, name());
    for (const ProcessFault& fault : faults_) {
      if (fault.moment == FaultMoment::before) state_->strike(fault);
      if (fault.moment == FaultMoment::inside) state_->strike_inside(fault);
    }
  }

  void after(const Operation&) override {
    for (const ProcessFault& fault : faults_)
      if (fault.moment == FaultMoment::after) state_->strike(fault);
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<FaultedGang>(std::move(child), state_);
  }

 private:
  std::shared_ptr<FaultState> state_;
  std::vector<ProcessFault> faults_;  // of the current operation
};

}  // namespace

std::string to_string(const ProcessFault& fault) {
  if (fault.store)
    return fmt::format("rank {} {} {}", fault.rank, name_of(kind_words, fault.kind),
                       gang::to_string(*fault.store));
  std::string text = fmt::format("rank {} {} ", fault.rank, name_of(kind_words, fault.kind));
  if (fault.time) {
    text += gang::to_string(*fault.time) + " after its start";
  } else {
    text += fmt::format("{} operation {}", name_of(sim::fault_moment_names, fault.moment),
                        fault.operation);
    if (fault.during) text += fmt::format(" of {}", gang::to_string(*fault.during));
    if (!fault.gang.empty()) text += " on " + fault.gang;
    if (fault.moment == FaultMoment::inside) text += ", after " + gang::to_string(fault.span);
  }
  if (fault.kind == ProcessFaultKind::delay) text += " by " + gang::to_string(fault.span);
  if (fault.kind == ProcessFaultKind::restart)
    text += ", and restarts " + gang::to_string(fault.pause) + " later";
  return text;
}

namespace {

// While gangs meet, and usually shorter than their timeouts.
StoreFault draw_store_fault(sim::RandomStream& random, Duration longest_delay) {
  const auto up_to = [&random](Duration longest) {
    return Duration(random.below(static_cast<std::uint64_t>(longest.count()) + 1));
  };
  StoreFault fault{.kind = static_cast<StoreFaultKind>(random.below(3))};
  switch (fault.kind) {
    case StoreFaultKind::unavailable:
      if (random.below(4) != 0) fault.lasts = up_to(6 * longest_delay);
      break;
    case StoreFaultKind::slow:
      fault.delay = up_to(longest_delay);
      break;
    case StoreFaultKind::lossy:
      fault.request = random.below(8);
      break;
  }
  return fault;
}

}  // namespace

ProcessFault draw_process_fault(ProcessFaultKind kind, const FaultSpace& space, std::uint64_t seed,
                                std::uint64_t index) {
  sim::RandomStream random(seed, "process fault", index);
  ProcessFault fault{.kind = kind, .rank = static_cast<int>(random.below(space.operations.size()))};
  if (kind == ProcessFaultKind::store) {
    fault.store = draw_store_fault(random, space.longest_delay);
    return fault;
  }
  fault.operation = random.below(
      std::max<std::uint64_t>(1, space.operations[static_cast<std::size_t>(fault.rank)]));
  fault.moment = static_cast<FaultMoment>(random.below(3));
  if (fault.moment == FaultMoment::inside && !is_of_process(kind))
    fault.moment = FaultMoment::before;
  const auto most_microseconds = static_cast<std::uint64_t>(
      kind == ProcessFaultKind::delay
          ? std::chrono::duration_cast<std::chrono::microseconds>(space.longest_delay).count()
          : 300);
  const std::chrono::microseconds span(random.below(std::max<std::uint64_t>(1, most_microseconds)));
  if (fault.moment == FaultMoment::inside || kind == ProcessFaultKind::delay) fault.span = span;
  if (kind == ProcessFaultKind::restart) fault.pause = std::chrono::milliseconds(random.below(20));
  return fault;
}

namespace {

StoreFault store_fault_of(const sim::Fault& fault) {
  StoreFault result{.kind = fault.kind == sim::FaultKind::store_unavailable
                                ? StoreFaultKind::unavailable
                            : fault.kind == sim::FaultKind::slow_store ? StoreFaultKind::slow
                                                                       : StoreFaultKind::lossy};
  const sim::FaultTrigger& trigger = fault.trigger;
  if (trigger.time) result.begins = trigger.time->least;
  if (trigger.operation) result.request = trigger.operation->least;
  if (trigger.probability) result.probability = *trigger.probability;
  if (fault.lasts) result.lasts = fault.lasts->least;
  if (fault.delay) result.delay = fault.delay->least;
  return result;
}

// Why processes cannot have such a fault; "" if they can.
std::string_view reason_against(const sim::Fault& fault) noexcept {
  const sim::FaultTrigger& trigger = fault.trigger;
  if (sim::is_of_link(fault.kind)) return "of a link";
  if (fault.kind == sim::FaultKind::corrupt_contribution ||
      fault.kind == sim::FaultKind::corrupt_result)
    return "of data";
  if (fault.kind == sim::FaultKind::watchdog_abort) return "of the simulated watchdog";
  if (fault.kind == sim::FaultKind::slow && !fault.delay) return "by a factor";
  if (trigger.message) return "at a message";
  if (trigger.probability && !is_of_store(fault.kind)) return "with a probability";
  if (trigger.while_rank) return "while another rank waits";
  return "";
}

// For a fault that processes can have.
ProcessFault process_fault_of(const sim::Fault& fault) {
  if (is_of_store(fault.kind))
    return {.kind = ProcessFaultKind::store, .store = store_fault_of(fault)};
  const sim::FaultTrigger& trigger = fault.trigger;
  ProcessFault result{.operation = trigger.operation ? trigger.operation->least : 0,
                      .moment = trigger.moment,
                      .during = trigger.during,
                      .gang = trigger.gang};
  if (trigger.time) result.time = trigger.time->least;
  if (fault.delay) result.span = fault.delay->least;
  if (result.moment == FaultMoment::any || trigger.time) result.moment = FaultMoment::before;
  switch (fault.kind) {
    case sim::FaultKind::crash:
      result.kind = ProcessFaultKind::kill;
      break;
    case sim::FaultKind::exit:
      result.kind = ProcessFaultKind::exit;
      break;
    case sim::FaultKind::exception:
      result.kind = ProcessFaultKind::exception;
      break;
    case sim::FaultKind::stall:
      result.kind = fault.lasts ? ProcessFaultKind::delay : ProcessFaultKind::stop;
      if (fault.lasts) result.span = fault.lasts->least;
      break;
    case sim::FaultKind::restart:
      result.kind = ProcessFaultKind::restart;
      result.pause = result.span;
      break;
    default:
      result.kind = ProcessFaultKind::delay;
  }
  if (result.moment == FaultMoment::inside && !is_of_process(result.kind))
    result.moment = FaultMoment::before;
  if (result.moment == FaultMoment::inside) result.span = std::chrono::microseconds(100);
  return result;
}

}  // namespace

std::vector<ProcessFault> process_faults_of(const sim::FaultPlan& drawn,
                                            std::map<std::string, int>& left_out) {
  std::vector<ProcessFault> faults;
  for (const sim::Fault& fault : drawn.faults) {
    if (const std::string_view reason = reason_against(fault); !reason.empty()) {
      ++left_out[fmt::format("{} ({})", sim::to_string(fault.kind), reason)];
      continue;
    }
    ProcessFault one = process_fault_of(fault);
    for (const int rank : fault.ranks) {
      one.rank = rank;
      faults.push_back(one);
    }
  }
  return faults;
}

std::optional<Duration> pause_of_restart(std::span<const ProcessFault> faults, int rank) {
  for (const ProcessFault& fault : faults)
    if (fault.rank == rank && fault.kind == ProcessFaultKind::restart) return fault.pause;
  return std::nullopt;
}

std::shared_ptr<Gang> make_faulted_gang(std::shared_ptr<Gang> inner, int rank,
                                        std::span<const ProcessFault> faults, FaultTally& tally) {
  std::vector<ProcessFault> own;
  std::ranges::copy_if(faults, std::back_inserter(own), [rank](const ProcessFault& fault) {
    return fault.rank == rank && fault.kind != ProcessFaultKind::store;
  });
  return std::make_shared<FaultedGang>(std::move(inner),
                                       std::make_shared<FaultState>(std::move(own), tally));
}

std::shared_ptr<Store> make_faulted_store(Runtime& runtime, std::shared_ptr<Store> store, int rank,
                                          std::span<const ProcessFault> faults, Duration patience) {
  FaultyStoreOptions options{.patience = patience, .seed = static_cast<std::uint64_t>(rank) + 1};
  for (const ProcessFault& fault : faults)
    if (fault.rank == rank && fault.store) options.faults.push_back(*fault.store);
  if (options.faults.empty()) return store;
  return make_faulty_store(runtime, std::move(store), std::move(options));
}

}  // namespace gang::harness
