#include "harness/process_fault.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gang/forwarding_gang.h"
#include "sim/random_stream.h"

namespace gang::harness {
namespace {

constexpr std::array<std::pair<ProcessFaultKind, std::string_view>, 5> names = {{
    {ProcessFaultKind::kill, "kill"},
    {ProcessFaultKind::stop, "stop"},
    {ProcessFaultKind::exit, "exit"},
    {ProcessFaultKind::exception, "exception"},
    {ProcessFaultKind::delay, "delay"},
}};

bool can_be_inside(ProcessFaultKind kind) noexcept {
  return kind == ProcessFaultKind::kill || kind == ProcessFaultKind::stop ||
         kind == ProcessFaultKind::exit;
}

std::string_view words_for(ProcessFaultKind kind) noexcept {
  switch (kind) {
    case ProcessFaultKind::kill:
      return "is killed";
    case ProcessFaultKind::stop:
      return "is stopped";
    case ProcessFaultKind::exit:
      return "exits";
    case ProcessFaultKind::exception:
      return "throws";
    case ProcessFaultKind::delay:
      return "is delayed";
  }
  return "";
}

std::string_view words_for(FaultMoment moment) noexcept {
  switch (moment) {
    case FaultMoment::before:
      return "before";
    case FaultMoment::inside:
      return "inside";
    default:
      return "after";
  }
}

// Happens to this process, now.
void strike(const ProcessFault& fault) {
  switch (fault.kind) {
    case ProcessFaultKind::kill:
      ::kill(::getpid(), SIGKILL);
      break;
    case ProcessFaultKind::stop:
      ::kill(::getpid(), SIGSTOP);
      break;
    case ProcessFaultKind::exit:
      ::_exit(0);
    case ProcessFaultKind::exception:
      throw std::runtime_error(fmt::format("the fault: {}", to_string(fault)));
    case ProcessFaultKind::delay:
      std::this_thread::sleep_for(fault.span);
      break;
  }
}

// What all gangs of a rank share.
struct FaultState {
  std::vector<ProcessFault> faults;  // of this rank
  std::atomic<std::uint64_t>& operations;
  std::vector<std::jthread> strikers;  // inside an operation, from other threads
};

class FaultedGang final : public ForwardingGang {
 public:
  FaultedGang(std::shared_ptr<Gang> inner, std::shared_ptr<FaultState> state)
      : ForwardingGang(std::move(inner)), state_(std::move(state)) {}

 protected:
  void before(const Operation&) override {
    index_ = state_->operations++;
    for (const ProcessFault& fault : state_->faults) {
      if (fault.operation != index_) continue;
      if (fault.moment == FaultMoment::before) strike(fault);
      if (fault.moment != FaultMoment::inside) continue;
      state_->strikers.emplace_back([fault] {
        std::this_thread::sleep_for(fault.span);
        strike(fault);
      });
    }
  }

  void after(const Operation&) override {
    for (const ProcessFault& fault : state_->faults)
      if (fault.operation == index_ && fault.moment == FaultMoment::after) strike(fault);
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<FaultedGang>(std::move(child), state_);
  }

 private:
  std::shared_ptr<FaultState> state_;
  std::uint64_t index_ = 0;  // of the operation at hand
};

}  // namespace

std::string_view to_string(ProcessFaultKind kind) noexcept {
  for (const auto& [known, name] : names)
    if (known == kind) return name;
  return "";
}

std::optional<ProcessFaultKind> parse_process_fault(std::string_view text) noexcept {
  for (const auto& [kind, name] : names)
    if (name == text) return kind;
  return std::nullopt;
}

std::string to_string(const ProcessFault& fault) {
  std::string text = fmt::format("rank {} {} {} operation {}", fault.rank, words_for(fault.kind),
                                 words_for(fault.moment), fault.operation);
  if (fault.moment == FaultMoment::inside) text += ", after " + gang::to_string(fault.span);
  if (fault.kind == ProcessFaultKind::delay) text += " by " + gang::to_string(fault.span);
  return text;
}

ProcessFault draw_process_fault(ProcessFaultKind kind, const FaultSpace& space, std::uint64_t seed,
                                std::uint64_t index) {
  sim::RandomStream random(seed, "process fault", index);
  ProcessFault fault{.kind = kind, .rank = static_cast<int>(random.below(space.operations.size()))};
  fault.operation = random.below(
      std::max<std::uint64_t>(1, space.operations[static_cast<std::size_t>(fault.rank)]));
  fault.moment = static_cast<FaultMoment>(random.below(3));
  if (fault.moment == FaultMoment::inside && !can_be_inside(kind))
    fault.moment = FaultMoment::before;
  const auto most_microseconds = static_cast<std::uint64_t>(
      kind == ProcessFaultKind::delay
          ? std::chrono::duration_cast<std::chrono::microseconds>(space.longest_delay).count()
          : 300);
  const std::chrono::microseconds span(random.below(std::max<std::uint64_t>(1, most_microseconds)));
  if (fault.moment == FaultMoment::inside || kind == ProcessFaultKind::delay) fault.span = span;
  return fault;
}

namespace {

// None where processes cannot meet it.
std::optional<ProcessFault> process_fault_of(const sim::Fault& fault) {
  const sim::FaultTrigger& trigger = fault.trigger;
  if (trigger.time || trigger.message || trigger.probability || trigger.during ||
      trigger.while_rank || !trigger.gang.empty())
    return std::nullopt;
  ProcessFault result{.operation = trigger.operation ? trigger.operation->least : 0,
                      .moment = trigger.moment};
  if (fault.delay) result.span = fault.delay->least;
  if (result.moment == FaultMoment::any) result.moment = FaultMoment::before;
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
    case sim::FaultKind::slow:
    case sim::FaultKind::late_start:
      result.kind = ProcessFaultKind::delay;
      break;
    default:
      return std::nullopt;
  }
  if (result.moment == FaultMoment::inside && !can_be_inside(result.kind))
    result.moment = FaultMoment::before;
  if (result.moment == FaultMoment::inside) result.span = std::chrono::microseconds(100);
  return result;
}

}  // namespace

std::vector<ProcessFault> process_faults_of(const sim::FaultPlan& drawn,
                                            std::map<std::string, int>& left_out) {
  std::vector<ProcessFault> faults;
  for (const sim::Fault& fault : drawn.faults) {
    std::optional<ProcessFault> one = process_fault_of(fault);
    if (!one) ++left_out[std::string(sim::to_string(fault.kind))];
    if (!one) continue;
    for (const int rank : fault.ranks) {
      one->rank = rank;
      faults.push_back(*one);
    }
  }
  return faults;
}

std::shared_ptr<Gang> make_faulted_gang(std::shared_ptr<Gang> inner, int rank,
                                        std::span<const ProcessFault> faults,
                                        std::atomic<std::uint64_t>& operations) {
  std::vector<ProcessFault> own;
  std::ranges::copy_if(faults, std::back_inserter(own),
                       [rank](const ProcessFault& fault) { return fault.rank == rank; });
  return std::make_shared<FaultedGang>(std::move(inner),
                                       std::make_shared<FaultState>(std::move(own), operations));
}

}  // namespace gang::harness
