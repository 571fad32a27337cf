#include "harness/conductor/conductor.h"

#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/conductor/call_stacks.h"
#include "harness/conductor/interrupt.h"
#include "harness/conductor/rank_service.h"
#include "harness/conductor/rest.h"
#include "sim/faults/fault_plan.h"

namespace gang::harness {
namespace {

using Clock = std::chrono::steady_clock;

// Not of processes that connect by themselves: a shell may have it, too.
std::string mark_of(const std::string& socket) {
  return fmt::format("{}={}", socket_variable, socket);
}

// `processes`: by rank.
void kill_crashed(const sim::Report& report,
                  const std::vector<std::unique_ptr<RankProcess>>& processes) {
  for (const sim::FiredFault& fired : report.faults) {
    const bool is_crash = report.fault_plan->faults[fired.fault].kind == sim::FaultKind::crash;
    const RankProcess& process = *processes[static_cast<std::size_t>(fired.rank)];
    if (is_crash && process.id != 0 && !process.has_ended) ::kill(process.id, SIGKILL);
  }
}

constexpr std::string_view without_world = "without --world: `gangsim torch -- python3 PROGRAM`";

// For a process that a rank has started, as torch.multiprocessing.spawn does, or that a launcher
// has started in the place of one that has ended.
// `noted` becomes the reason if a rank has started it, and was empty.
std::string refuse_started(std::string reason, const RankLauncher* launcher, std::string& noted,
                           bool has_ended = false) {
  if (launcher == nullptr || !launcher->launches())
    return reason +
           (has_ended ? "; a run is judged up to its first failure, without restarts" : "");
  if (noted.empty()) noted = reason;
  return fmt::format("{}; run a program that starts its own ranks {}", reason, without_world);
}

}  // namespace

Conductor::Conductor(const ConductorOptions& options, RankSelection output, std::ostream& out,
                     std::ostream& err)
    : options_(options),
      turns_(poller_, options.turns),
      world_size_(options.world_size),
      output_(poller_, std::move(output), out, err),
      lobby_(poller_, options.socket,
             [this](std::unique_ptr<Caller>& caller, pid_t process) {
               return receive(caller, process);
             }),
      janitor_(lobby_.remains(), options.socket.empty() ? mark_of(lobby_.path()) : "") {
  lobby_.set_stream_ordered(options.execution == sim::ExecutionModel::stream_ordered);
}

Conductor::~Conductor() { kill_all(); }

// -- Processes --

RankLauncher::Events Conductor::events() {
  return {.started = [this](int rank, pid_t process) { began(rank, process); },
          .ended = [this](pid_t process, int status) { ended(process, status); }};
}

std::string Conductor::receive(std::unique_ptr<Caller>& caller, pid_t process) {
  const HelloMessage& hello = caller->hello;
  if (hello.world_size < 1 || hello.rank < 0 || hello.rank >= hello.world_size)
    return fmt::format("rank {} of a world of {}; must be 0 to {}", hello.rank, hello.world_size,
                       std::max(hello.world_size, 1) - 1);
  if (!world_size_) {
    world_size_ = hello.world_size;
    lobby_.set_world(*world_size_, seed_);
  }
  if (hello.world_size != *world_size_)
    return refuse_started(fmt::format("rank {} expects a world of {}; this one has {}", hello.rank,
                                      hello.world_size, *world_size_),
                          launcher_.get(), refused_started_);
  if (processes_.empty()) begin_run();
  if (launcher_ != nullptr && launcher_->is_of_earlier_run(hello.rank, process))
    return "its run is over";
  RankProcess& rank = *processes_[static_cast<std::size_t>(hello.rank)];
  if (rank.id == 0) began(hello.rank, process);
  // Its end can be known before the hello of its last thread is read.
  if (rank.id == process && rank.has_ended) return "its process has ended";
  if (rank.id != process)
    return refuse_started(fmt::format("rank {} is already process {}; process {} cannot take its "
                                      "place",
                                      hello.rank, rank.id, process),
                          launcher_.get(), refused_started_, rank.has_ended);
  Connection& connection = caller->connection;
  if (hello.is_watcher) {
    rank.watcher = std::move(caller);
  } else {
    rank.callers.push_back(std::move(caller));
    ++rank.steps;
    Caller* const known = rank.callers.back().get();
    poller_.add(connection.descriptor(), [this, known] { read(*known); });
  }
  turns_.note_arrival();
  return "";
}

RankProcess* Conductor::find_process(pid_t process) {
  for (const auto* list : {&processes_, &former_})
    for (const auto& rank : *list)
      if (rank->id == process) return rank.get();
  return nullptr;
}

void Conductor::began(int rank, pid_t process) {
  RankProcess& known = *processes_[static_cast<std::size_t>(rank)];
  if (known.id != 0) return;
  known.id = process;
  for (const auto& other : processes_)
    if (other->id == process && other->rank != rank) known.is_shared = other->is_shared = true;
  // A test's ranks may be threads of this process.
  if (process == ::getpid())
    known.is_shared = true;
  else
    janitor_.add(process);
  known.ended_by = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  // Whoever starts processes says how they end.
  if (!launcher_->launches()) watch_end(known);
}

void Conductor::watch_end(RankProcess& process) {
  if (!process.ended_by.is_open()) return note_end(process);
  poller_.add(process.ended_by.get(), [this, &process] {
    poller_.remove(process.ended_by.get());
    note_end(process);
  });
}

void Conductor::ended(pid_t process, int status) {
  RankProcess* const known = find_process(process);
  if (known == nullptr) return;
  known->wait_status = status;
  note_end(*known);
}

void Conductor::note_end(RankProcess& process) {
  for (const auto& caller : process.callers) read(*caller);
  process.has_ended = true;
  if (process.id != 0) janitor_.remove(process.id);
  turns_.note_arrival();
}

void Conductor::read(Caller& caller) {
  Connection& connection = caller.connection;
  if (!connection.is_open()) return;
  const int descriptor = connection.descriptor();
  if (connection.has_unsent()) {
    connection.flush();
    poller_.watch_writes(descriptor, connection.has_unsent());
  }
  connection.receive();
  if (!connection.is_open()) poller_.remove(descriptor);
  if (!connection.is_open() || connection.has_frame()) caller.spoke_at = turns_.note_arrival();
}

void Conductor::send(Connection& connection, const Frame& frame) {
  connection.send(frame);
  if (connection.has_unsent()) poller_.watch_writes(connection.descriptor(), true);
}

void Conductor::stop_reading(Connection& connection) {
  if (!connection.is_open()) return;
  poller_.remove(connection.descriptor());
  connection.close();
}

int Conductor::await_world() {
  while (!world_size_) {
    Interrupt::check("the first rank to join");
    if (const std::string reason = launcher_->why_none_can_come(); !reason.empty())
      throw InvalidArgument(fmt::format("no process joined the run: {}", reason));
    poller_.poll(std::chrono::milliseconds(100));
  }
  return *world_size_;
}

RankProcess& Conductor::process_for(Rank& simulated) {
  const int rank = simulated.rank();
  const int incarnation = simulated.incarnation();
  if (launcher_->launches() && simulated.simulated()->run_number() != run_) {
    run_ = simulated.simulated()->run_number();
    prepare_run(simulated.seed());
    begin_run();
  }
  if (processes_.empty()) begin_run();
  std::unique_ptr<RankProcess>& process = processes_[static_cast<std::size_t>(rank)];
  if (incarnation > 0) {
    if (process->id != 0 && !process->has_ended) ::kill(process->id, SIGKILL);
    former_.push_back(std::exchange(process, std::make_unique<RankProcess>()));
    process->rank = rank;
  }
  if (!launcher_->launches()) return *process;
  ProcessEnvironment environment = {{"RANK", std::to_string(rank)},
                                    {"LOCAL_RANK", std::to_string(rank)},
                                    {"WORLD_SIZE", std::to_string(*world_size_)},
                                    {"LOCAL_WORLD_SIZE", std::to_string(*world_size_)},
                                    {"MASTER_ADDR", "127.0.0.1"},
                                    {"MASTER_PORT", "29500"},
                                    {socket_variable, lobby_.path()}};
  if (incarnation > 0) environment["TORCHELASTIC_RESTART_COUNT"] = std::to_string(incarnation);
  launcher_->launch(rank, environment, output_.open(rank));
  return *process;
}

void Conductor::begin_run() {
  kill_all();
  if (launcher_ != nullptr) launcher_->begin_run();
  processes_.clear();
  former_.clear();
  outliving_.clear();
  refused_started_.clear();
  store_.clear();
  new_groups_.clear();
  turns_.begin_run();
  for (int rank = 0; rank < *world_size_; ++rank) {
    processes_.push_back(std::make_unique<RankProcess>());
    processes_.back()->rank = rank;
  }
}

void Conductor::prepare_run(std::uint64_t seed) {
  seed_ = seed;
  if (world_size_) lobby_.set_world(*world_size_, seed_);
  output_.resume();
}

void Conductor::keep_until_next_run(std::vector<std::shared_ptr<StartedOperation>> operations) {
  std::ranges::move(operations, std::back_inserter(outliving_));
}

Program Conductor::program(std::string name) {
  Program program{.name = std::move(name), .description = "", .run = [this](Rank& rank) {
                    RankService(*this, rank).run();
                  }};
  program.default_world_size = await_world();
  return program;
}

// -- The end of a run --

std::vector<Caller*> Conductor::ask_stacks() {
  const Frame ask = frame_of(AskStackMessage{});
  std::vector<Caller*> asked;
  for (const auto& process : processes_) {
    if (process->has_ended) continue;
    for (const auto& caller : process->callers)
      if (caller->awaits_answer && caller->connection.is_open()) asked.push_back(caller.get());
    if (process->watcher && process->watcher->connection.is_open())
      asked.push_back(process->watcher.get());
  }
  for (Caller* caller : asked) caller->connection.send(ask);
  return asked;
}

void Conductor::add_call_stacks(sim::Report& report) {
  for (sim::BlockedCall& blocked : report.blocked) blocked.call_stack.clear();  // our own
  if (report.blocked.empty()) return;
  const std::vector<Caller*> asked = ask_stacks();
  const auto deadline = Clock::now() + std::chrono::milliseconds(500);
  const auto is_missing = [this, &report](Caller* caller) {
    caller->connection.flush();
    caller->connection.receive();
    while (!caller->stack && caller->connection.has_frame()) {
      try {
        ClientMessage message = parse_message(caller->connection.take(), texts_);
        if (auto* const stack = std::get_if<StackMessage>(&message))
          caller->stack = std::move(*stack);
        // Of a thread that has ended: no matter, had the run gone well.
        if (auto* const told = std::get_if<FindingMessage>(&message)) {
          sim::Finding& finding = report.findings.emplace_back(finding_of(std::move(*told)));
          finding.certainty = report.certainty;
        }
      } catch (const ProtocolError&) {
        return false;
      }
    }
    return !caller->stack && caller->connection.is_open();
  };
  while (std::ranges::any_of(asked, is_missing) && Clock::now() < deadline)
    poller_.poll(std::chrono::milliseconds(5));
  for (sim::BlockedCall& blocked : report.blocked) {
    const RankProcess& process = *processes_[static_cast<std::size_t>(blocked.rank)];
    const bool is_outside = is_outside_of_calls(blocked, turns_);
    for (const auto& caller : process.callers) {
      const bool is_main = caller == process.callers.front();
      if (caller->stack &&
          (is_main ? blocked.context.empty() : blocked.context == caller->hello.thread_name))
        add_stack(*caller->stack, blocked, is_outside);
    }
    if (blocked.call_stack.empty())
      add_stack(watched_stack(process, processes_), blocked, is_outside);
  }
}

void Conductor::complete(sim::Report& report) {
  if (!refused_started_.empty() && report.counts.rank_operations == 0)
    throw InvalidArgument(fmt::format("the program starts its own ranks ({}); run it {}",
                                      refused_started_, without_world));
  add_call_stacks(report);
  if (auto groups = new_groups_.unfinished()) {
    groups->certainty = report.certainty;
    report.findings.insert(report.findings.begin(), *std::move(groups));
  }
  if (report.outcome != sim::Outcome::deadlock) return;
  std::vector<sim::Finding> unmet = store_.unmet_waits();
  if (unmet.empty())
    if (std::optional<sim::Finding> outside = ranks_outside_of_calls(report, turns_))
      unmet.push_back(*std::move(outside));
  if (unmet.empty()) return;
  // That everybody waits for these says nothing more.
  std::erase_if(report.findings, [](const sim::Finding& finding) {
    return finding.id == sim::finding_id::deadlock;
  });
  for (sim::Finding& finding : unmet) finding.certainty = report.certainty;
  report.findings.insert(report.findings.begin(), unmet.begin(), unmet.end());
}

void Conductor::say_over(std::string_view verdict) {
  const Frame over = frame_of(OverMessage{.error = std::string(verdict)});
  for (const auto& process : processes_) {
    if (process->has_ended) continue;
    for (const auto& caller : process->callers) {
      send(caller->connection, over);
      caller->awaits_answer = false;
    }
  }
}

// Whoever starts processes without us may have more to do in them after the last call.
bool Conductor::is_over(const RankProcess& process) const {
  if (process.has_ended || process.id == 0) return true;
  if (launcher_ == nullptr || launcher_->launches() || process.callers.empty()) return false;
  return process.has_said_bye || std::ranges::none_of(process.callers, [](const auto& caller) {
           return caller->connection.is_open();
         });
}

bool Conductor::all_have_ended() const {
  return std::ranges::all_of(processes_, [this](const auto& process) { return is_over(*process); });
}

bool Conductor::end_run(const sim::Report& report, std::string_view verdict) {
  constexpr Duration grace = std::chrono::seconds(3);
  constexpr Duration grace_of_launchers = std::chrono::seconds(10);
  const bool is_good = all_have_ended() || report.holds();
  if (!is_good) {
    output_.silence();  // the verdict is told once, not by each rank
    kill_crashed(report, processes_);
    say_over(verdict);
  }
  const auto deadline = Clock::now() + grace;
  const auto can_end = [this](const auto& process) {
    return !is_over(*process) && !is_at_rest(*process);
  };
  while (std::ranges::any_of(processes_, can_end) && Clock::now() < deadline)
    poller_.poll(std::chrono::milliseconds(100));
  const bool ended_well = launcher_->await_end(report.holds() ? no_timeout : grace_of_launchers);
  kill_all();
  return ended_well;
}

void Conductor::kill_all() noexcept {
  for (const auto* list : {&processes_, &former_})
    for (const auto& process : *list) {
      if (!is_over(*process) && process->id != ::getpid()) ::kill(process->id, SIGKILL);
      // Who has said goodbye and waits there all the same learns that the run is over.
      for (const auto& caller : process->callers) stop_reading(caller->connection);
      if (process->ended_by.is_open()) poller_.remove(process->ended_by.get());
    }
}

std::string Conductor::traceback_of(int rank) const {
  const auto& failure = processes_[static_cast<std::size_t>(rank)]->failure;
  return failure ? failure->traceback : "";
}

}  // namespace gang::harness
