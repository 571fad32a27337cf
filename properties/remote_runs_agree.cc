#include "properties/remote_runs_agree.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/forwarding_gang.h"
#include "gang/runtime.h"
#include "harness/conductor/client.h"
#include "harness/conductor/conductor.h"
#include "harness/run/runner.h"
#include "properties/generators/mutant.h"
#include "properties/program_run.h"
#include "properties/remote_gang.h"

namespace gang::properties {
namespace {

// What a rank does on its root gang, wherever that is.
using RankBody = std::function<void(const std::shared_ptr<Gang>& root)>;

// -- In process, with a turn wherever a client makes a request --

// Does what a context that serves a client does.
class Server {
 public:
  explicit Server(harness::Rank& rank) : rank_(rank) {}

  void take_turn() { rank_.simulated()->wait_outside(); }
  std::unique_ptr<RuntimeMutex> make_mutex() { return rank_.runtime().make_mutex(); }

 private:
  harness::Rank& rank_;
};

class ServedWork final : public WorkState {
 public:
  ServedWork(Work work, Server& server)
      : work_(std::move(work)), server_(server), waiting_(server.make_mutex()) {}

  bool wait(Duration) override {
    if (!std::exchange(is_told_, true)) {
      server_.take_turn();
      end();
    }
    if (error_) std::rethrow_exception(error_);
    return true;
  }
  bool test() override {
    if (is_told_) return wait(no_timeout);
    server_.take_turn();
    if (!has_ended_) {
      const std::lock_guard lock(*waiting_);
      try {
        if (!work_.test()) return false;
      } catch (const std::exception&) {
        fail();
      }
    }
    end();
    return wait({});  // which fetches the result
  }
  Received received() const override { return work_.received(); }
  std::size_t wait_any(std::span<WorkState* const>) override { return 0; }
  void dropped() noexcept override {}

 private:
  void end() {
    if (has_ended_) return;
    const std::lock_guard lock(*waiting_);
    try {
      work_.wait();
      has_ended_ = true;
    } catch (const std::exception&) {
      fail();
    }
  }
  void fail() {
    error_ = std::current_exception();
    has_ended_ = true;
  }

  Work work_;
  Server& server_;
  std::unique_ptr<RuntimeMutex> waiting_;
  bool has_ended_ = false;
  bool is_told_ = false;
  std::exception_ptr error_;
};

class ServedGang final : public ForwardingGang {
 public:
  ServedGang(std::shared_ptr<Gang> inner, Server& server)
      : ForwardingGang(std::move(inner)), server_(server) {}

 protected:
  void before(const Operation&) override { server_.take_turn(); }
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<ServedGang>(std::move(child), server_);
  }
  Work do_start(Operation& operation) override {
    return Work(std::make_shared<ServedWork>(ForwardingGang::do_start(operation), server_));
  }

 private:
  Server& server_;
};

void run_in_process(harness::Rank& rank, const RankBody& body) {
  Server server(rank);
  server.take_turn();  // hello
  std::exception_ptr failure;
  try {
    body(std::make_shared<ServedGang>(rank.root(), server));
  } catch (const std::exception&) {
    failure = std::current_exception();
    server.take_turn();  // to say so
  }
  server.take_turn();  // bye
  server.take_turn();  // the process ends
  if (failure) std::rethrow_exception(failure);
}

// -- As clients --

void run_as_client(const std::string& socket, int rank, int world_size, const RankBody& body) {
  try {
    harness::Client client(socket, harness::Client::caller(rank, world_size));
    try {
      body(make_remote_root(client));
    } catch (const harness::RunEnded&) {
      return;
    } catch (const std::exception& error) {
      client.tell(harness::FailedMessage{
          .type = "Error", .message = error.what(), .traceback = {}, .call_site = {}});
    }
    client.bye();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the run tells what it was
  }
}

harness::RunSpecification specification_of(const GangProgram& program) {
  harness::RunSpecification specification{.program = "law", .world_size = program.world};
  specification.options = options_of(program);
  specification.schedule = program.run.scheduler == sim::SchedulerKind::round_robin
                               ? harness::ScheduleChoice::round_robin
                               : harness::ScheduleChoice::random;
  return specification;
}

const harness::RunRecording recording{.trace = sim::Recording::on, .settles = false};

sim::Report run_in_process(const GangProgram& program,
                           const std::function<RankBody(int)>& body_of) {
  const harness::Program in_process{.name = "law", .description = "", .run = [&](auto& rank) {
                                      run_in_process(rank, body_of(rank.rank()));
                                    }};
  return harness::run(in_process, specification_of(program), recording).report;
}

sim::Report run_remotely(const GangProgram& program, const std::function<RankBody(int)>& body_of) {
  std::ostringstream none;
  harness::Conductor conductor({.world_size = program.world}, harness::RankSelection("none"), none,
                               none);
  conductor.set_launcher(std::make_unique<harness::NoLauncher>());
  conductor.prepare_run(program.run.seed);
  std::vector<std::jthread> clients;
  for (int rank = 0; rank < program.world; ++rank)
    clients.emplace_back([&conductor, &program, rank, body = body_of(rank)] {
      run_as_client(conductor.socket(), rank, program.world, body);
    });
  harness::RunResult result =
      harness::run(conductor.program("law"), specification_of(program), recording);
  conductor.complete(result.report);
  conductor.end_run(result.report, to_string(result));
  return std::move(result.report);
}

// -- The laws --

// Whether the protocol has what the step calls. A message to oneself is a batch.
bool is_in_protocol(const Step& step, const Membership& members) {
  using enum OperationKind;
  if (step.kind == batch || step.kind == broadcast_objects || step.kind == all_gather_to_list)
    return false;
  return step.kind != send ||
         std::ranges::none_of(members[static_cast<std::size_t>(step.node)], [&step](auto& gang) {
           const int size = static_cast<int>(gang.size());
           return step.root % size == step.peer % size;
         });
}

bool is_in_protocol(const GangProgram& program) {
  const Membership members = members_of(program);
  return std::ranges::all_of(program.steps,
                             [&](const Step& step) { return is_in_protocol(step, members); });
}

// The same with something else for what the protocol lacks, in shapes that it keeps.
GangProgram in_protocol(GangProgram program) {
  const Membership members = members_of(program);
  for (Step& step : program.steps) {
    step.stacked = false;
    if (!is_in_protocol(step, members)) step.kind = OperationKind::all_reduce;
  }
  return program;
}

std::string difference_from(const sim::Trace& one, const sim::Trace& other) {
  if (one == other) return {};
  for (std::size_t i = 0; i < std::min(one.events.size(), other.events.size()); ++i)
    if (one.events[i] != other.events[i])
      return fmt::format("event {} is {} {} of rank {} in process, {} {} of rank {} remotely", i,
                         to_string(one.events[i].kind), to_string(one.events[i].call),
                         one.events[i].rank, to_string(other.events[i].kind),
                         to_string(other.events[i].call), other.events[i].rank);
  return fmt::format("{} events in process, {} remotely", one.events.size(), other.events.size());
}

Verdict judge_program(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  Image expected = memory.initial_image();
  Image image = memory.initial_image();
  const auto body_on = [&memory](const Subject& on, Image& results) {
    return [&memory, &on, &results](int) -> RankBody {
      return [&](const std::shared_ptr<Gang>& root) { run_rank(memory, root, on, results); };
    };
  };
  const Subject untouched;
  const sim::Report in_process = run_in_process(program, body_on(untouched, expected));
  const sim::Report remote = run_remotely(program, body_on(subject, image));
  if (std::string difference = difference_from(in_process.trace, remote.trace); !difference.empty())
    return Verdict::violated(std::move(difference)).shown_by(remote);
  if (in_process.outcome != remote.outcome || in_process.findings != remote.findings)
    return Verdict::violated("the verdicts differ").shown_by(remote);
  if (image != expected) return Verdict::violated("the results differ").shown_by(remote);
  return Verdict::holds();
}

// In which order ranks end with their exceptions is left out.
std::string verdict_of(const sim::Report& report) {
  std::string text(to_string(report.outcome));
  for (const sim::Finding& finding : report.findings) {
    std::vector<std::string> consequences = finding.consequences;
    std::ranges::sort(consequences);
    text += fmt::format("; {} of ranks {} at {}: {} Then {}", finding.id,
                        fmt::join(finding.ranks, ","), to_string(finding.location),
                        full_message(finding), fmt::join(consequences, ", "));
  }
  return text;
}

Verdict judge_mutant(const Mutant& mutant, const Subject& subject) {
  const std::optional<GangProgram> mistaken = mistaken_program(mutant);
  // What a client's memory holds in the meantime, and what it forgets, it finds out by itself.
  if (!mistaken || mutant.mutation == Mutation::early_reuse ||
      mutant.mutation == Mutation::forgotten_wait || !is_in_protocol(*mistaken))
    return Verdict::not_applicable();
  const int odd = mutant.rank % mutant.program.world;
  const ProgramMemory memory(mutant.program);
  const ProgramMemory own_memory(*mistaken);
  Image image = memory.initial_image();
  Image own_image = own_memory.initial_image();
  const auto body_on = [&](const Subject& on) {
    return [&](int rank) -> RankBody {
      return [&, rank](const std::shared_ptr<Gang>& root) {
        run_rank(rank == odd ? own_memory : memory, root, on, rank == odd ? own_image : image);
      };
    };
  };
  const Subject untouched;
  const std::string expected = verdict_of(run_in_process(mutant.program, body_on(untouched)));
  const sim::Report remote = run_remotely(mutant.program, body_on(subject));
  const std::string verdict = verdict_of(remote);
  if (verdict == expected) return Verdict::holds();
  return Verdict::violated(fmt::format("in process: {}; remotely: {}", expected, verdict))
      .shown_by(remote);
}

constexpr std::uint64_t cost = 300;  // threads, sockets and a process for each case

}  // namespace

std::vector<Property> remote_runs_agree(const Subject& subject) {
  const Law<GangProgram> programs{
      .suite = "remote_runs_agree",
      .name = "programs_give_the_same_trace_and_results",
      .description = "Clients of a conductor run a program as ranks in process do.",
      .cost = cost,
      .generate = [](Draw& draw) { return in_protocol(generate_program(draw)); },
      .verdict = [subject](const GangProgram& program) { return judge_program(program, subject); }};
  const Law<Mutant> mutants{
      .suite = "remote_runs_agree",
      .name = "mistakes_give_the_same_verdict",
      .description = "A mistake of a client is found as one of a rank in process is.",
      .cost = cost,
      .generate =
          [](Draw& draw) {
            Mutant mutant = generate_mutant(draw);
            mutant.program = in_protocol(std::move(mutant.program));
            return mutant;
          },
      .verdict = [subject](const Mutant& mutant) { return judge_mutant(mutant, subject); }};
  return {to_property(programs), to_property(mutants)};
}

}  // namespace gang::properties
