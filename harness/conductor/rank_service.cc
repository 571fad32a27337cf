#include "harness/conductor/rank_service.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/forwarding_gang.h"
#include "gang/operation_checks.h"
#include "harness/conductor/lateness.h"
#include "harness/conductor/told_error.h"

namespace gang::harness {
namespace {

// Throws `error`, at `call_site` unless it knows better where it comes from.
[[noreturn]] void throw_at(const CallSite& call_site, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const GangError&) {
    throw;
  } catch (const RefusedCall&) {
    throw;
  } catch (const std::exception& other) {
    if (call_site.line() == 0) throw;
    throw Refused<Error>(other.what(), call_site);
  }
}

}  // namespace

RankService::RankService(Conductor& conductor, Rank& rank)
    : conductor_(conductor),
      rank_(rank),
      simulated_(*rank.simulated()),
      process_(conductor.process_for(rank)),
      operations_(simulated_),
      silent_threads_(process_, conductor.turns_) {
  process_.gangs.join(0, rank.root());
}

RankService::~RankService() {
  threads_.clear();
  process_.gangs.leave_all();
}

void RankService::run() {
  if (Caller* const first = await_first_caller()) serve(*first);
  await_end();
  throw_failure();
  conductor_.keep_until_next_run(operations_.take_rest());
  process_.gangs.close_all();
}

Caller* RankService::await_first_caller() {
  Turns::Turn turn{.rank = simulated_, .process = process_};
  std::string reason;
  conductor_.turns_.wait(turn, [&] {
    if (!process_.callers.empty() || process_.has_ended) return true;
    reason = conductor_.launcher_->why_none_can_come();
    return !reason.empty();
  });
  if (process_.callers.empty()) {
    if (!reason.empty()) throw Error(fmt::format("the process never joined the run: {}", reason));
    return nullptr;
  }
  process_.callers.front()->is_served = true;
  return process_.callers.front().get();
}

// A process that this conductor has started is over when it has ended; another one, when it says
// so, since whoever started it may have more to do in it.
void RankService::await_end() {
  Turns::Turn turn{.rank = simulated_, .process = process_};
  // At least one turn: whether it has ended by now depends on how fast it is.
  do {
    listen(turn, [&] { return conductor_.is_over(process_) || process_.has_new_caller(); });
    serve_new_callers();
  } while (!conductor_.is_over(process_));
  if (process_.failure || death_of(process_)) release_threads();
  for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i]->join();
}

// The rank has failed: what its other threads wait for, they will never take.
void RankService::release_threads() {
  if (threads_.empty()) return;
  process_.gangs.abort_all();
}

void RankService::throw_failure() const {
  const std::optional<sim::ProcessDeath> death = death_of(process_);
  if (const auto& failure = process_.failure) {
    // What it died of may be what it was told.
    if (last_error_ && failure->message.find(told_error(last_error_).text) != std::string::npos)
      throw_at(failure->call_site, last_error_);
    const std::string text = failure->message.empty()
                                 ? failure->type
                                 : fmt::format("{}: {}", failure->type, failure->message);
    if (failure->call_site.line() == 0) throw Error(text);
    throw Refused<Error>(text, failure->call_site);
  }
  if (death) simulated_.die(*death);
  if (!process_.has_said_bye && !process_.wait_status && !process_.callers.empty())
    simulated_.die({.what = "exited in the middle of its program"});
}

// -- Threads --

void RankService::listen(Turns::Turn& turn, const std::function<bool()>& has_spoken) {
  ++listening_;
  conductor_.turns_.wait(turn, has_spoken);
  --listening_;
}

void RankService::serve_new_callers() {
  std::vector<Caller*> callers;
  for (const auto& caller : process_.callers)
    if (!std::exchange(caller->is_served, true)) callers.push_back(caller.get());
  // Not in the order of their hellos, which is a matter of time: as they were started.
  std::ranges::sort(callers, {}, [](const Caller* caller) { return caller->hello.thread; });
  for (Caller* const caller : callers) {
    simulated_.note_choice();  // its threads may agree among themselves who goes first
    threads_.push_back(rank_.runtime().start_thread(caller->hello.thread_name,
                                                    [this, caller] { serve(*caller); }));
  }
}

// A thread of the process makes a call, and `silent` are those that have never called: who does so
// now is served first.
void RankService::stop_other_threads(const Session& session,
                                     const std::vector<std::uint32_t>& silent) {
  if (!silent.empty()) simulated_.note_choice();  // whatever they do, nothing tells in which order
  process_.other_threads = silent_threads_.settle(simulated_, session.turn.thread, silent);
  serve_new_callers();
  if (process_.other_threads > 0) watch_silent_threads();
}

// While a process has threads that have never called, nothing is known about them: one may still
// make the call that others wait for.
void RankService::watch_silent_threads() {
  if (std::exchange(watches_silent_threads_, true)) return;
  simulated_.note_choice();
  threads_.push_back(rank_.runtime().start_thread("threads that never called", [this] {
    Turns::Turn turn{.rank = simulated_, .process = process_, .is_free = true, .is_silent = true};
    const auto may_serve = [this] { return listening_ == 0 && process_.has_new_caller(); };
    const auto is_known = [&] {
      return conductor_.is_over(process_) || process_.other_threads == 0 || may_serve();
    };
    while (!conductor_.is_over(process_) && process_.other_threads > 0) {
      if (!conductor_.turns_.wait(turn, is_known)) return;
      if (!may_serve()) continue;
      conductor_.turns_.note_hasty(process_);  // it did not work when the others made their calls
      serve_new_callers();
    }
    watches_silent_threads_ = false;
  }));
}

void RankService::serve(Caller& caller) {
  Session session{.caller = caller,
                  .turn = {.rank = simulated_,
                           .process = process_,
                           .thread = static_cast<pid_t>(caller.hello.thread),
                           .leaves_to_new_callers = true},
                  .blocks = {}};
  try {
    while (!session.is_over) take_request(session);
  } catch (const ProtocolError& error) {
    conductor_.stop_reading(caller.connection);
    release_threads();
    throw Error(fmt::format("its process broke the protocol: {}", error.what()));
  }
}

void RankService::take_request(Session& session) {
  Caller& caller = session.caller;
  Connection& connection = caller.connection;
  const auto has_spoken = [&] {
    if (connection.has_frame()) return true;
    conductor_.read(caller);
    return connection.has_frame() || !connection.is_open();
  };
  listen(session.turn, std::cref(has_spoken));
  if (!connection.has_frame()) {
    session.is_over = !connection.is_open();
    serve_new_callers();
    return;
  }
  ClientMessage message = parse_message(connection.take(), conductor_.texts_);
  session.has_answered = false;
  std::visit([&](auto& known) { handle(session, known); }, message);
  if (!session.has_answered) conductor_.turns_.note_step(process_, simulated_);
}

// -- Requests --

void RankService::answer(Session& session, const ServerMessage& message) {
  conductor_.send(session.caller.connection, frame_of(message));
  session.caller.awaits_answer = false;
  session.has_answered = true;
  session.caller.outside_since = TimeOutside::Clock::now();
  conductor_.turns_.note_step(process_, simulated_);
}

void RankService::handle(Session& session, GroupMessage& message) {
  ToldError result;
  if (message.group == 0) {
    if (!message.name.empty() || !message.ranks.empty())
      throw ProtocolError("group 0 is the gang of all ranks");
    if (message.timeout) process_.gangs.set_timeout(0, *message.timeout);
    return answer(session, DoneMessage{{{}}});
  }
  try {
    GangInfo info = simulated_.root()->info();
    info.name = message.role.empty() ? message.name : std::move(message.role);
    info.root_ranks = std::move(message.ranks);
    if (message.timeout) info.timeout = *message.timeout;
    std::shared_ptr<Gang> gang =
        simulated_.gang_of(std::move(info), message.call_site, message.name);
    if (auto* const root = dynamic_cast<ForwardingGang*>(rank_.root().get()))
      gang = root->decorated(std::move(gang));
    process_.gangs.join(message.group, std::move(gang));
  } catch (const std::exception&) {
    result = told_error(last_error_ = std::current_exception());
  }
  answer(session, DoneMessage{{{.status = result.status, .error = std::move(result.text)}}});
}

void RankService::handle(Session& session, OperationMessage& message) {
  session.turn.call_site = message.call_site;
  process_.begin_call(session.caller, message.call_site);
  std::shared_ptr<const SharedBlock> block;
  if (message.block != 0) {
    const auto known = session.blocks.find(message.block);
    if (known == session.blocks.end())
      throw ProtocolError(fmt::format("there is no block {} on this connection", message.block));
    block = known->second;
  }
  const bool is_blocking = message.is_blocking;
  if (is_blocking) {
    session.caller.awaits_answer = true;
    stop_other_threads(session, message.threads);
  }
  GangCall call = process_.gangs.begin_call(message.group, message.kind);
  const auto operation =
      std::make_shared<StartedOperation>(std::move(message), std::move(call), std::move(block));
  operations_.add(operation);
  operation->start();
  if (is_blocking) answer_with(session, {operation});
}

void RankService::handle(Session& session, WaitMessage& message) {
  session.turn.call_site = message.call_site;
  process_.begin_call(session.caller, message.call_site);
  session.caller.awaits_answer = true;
  stop_other_threads(session, message.threads);
  std::vector<std::shared_ptr<StartedOperation>> operations;
  for (const std::uint64_t id : message.ids)
    operations.push_back(operations_.await(id, process_.has_threads(), message.call_site));
  if (message.is_for_any) {
    const std::size_t first = StartedOperation::wait_any(operations, rank_.runtime());
    note_lateness(conductor_.turns_.long_waits(), std::span(operations).subspan(first, 1),
                  rank_.rank(), session.caller, conductor_.processes_);
    return answer(session, FirstMessage{static_cast<std::uint32_t>(first)});
  }
  if (!StartedOperation::wait_all(operations, message.timeout, rank_.runtime()))
    return answer(session, TestedMessage{.is_complete = false});
  answer_with(session, operations);
}

OperationResult RankService::result_of(const StartedOperation& operation) {
  if (operation.error()) last_error_ = operation.error();
  ToldError outcome = told_error(operation.error());
  const std::span<const std::byte> data = operation.data();
  OperationResult result{.status = outcome.status,
                         .source = operation.received().source_rank,
                         .tag = operation.received().tag,
                         .error = std::move(outcome.text),
                         .data = {data.begin(), data.end()}};
  if (const std::shared_ptr<Gang>& made = operation.made()) {
    result.ranks = made->info().root_ranks;
    process_.gangs.join(operation.message().result, made);
  }
  return result;
}

// Another thread may have waited for the same ones, and started others under their ids since.
void RankService::answer_with(Session& session,
                              const std::vector<std::shared_ptr<StartedOperation>>& operations) {
  DoneMessage done;
  note_lateness(conductor_.turns_.long_waits(), operations, rank_.rank(), session.caller,
                conductor_.processes_);
  for (const auto& operation : operations) done.results.push_back(result_of(*operation));
  operations_.erase(operations);
  answer(session, done);
}

void RankService::handle(Session& session, TestMessage& message) {
  session.caller.awaits_answer = true;
  stop_other_threads(session, message.threads);
  const auto operation =
      operations_.await(message.id, process_.has_threads(), session.turn.call_site);
  answer(session, TestedMessage{operation->test(rank_.runtime())});
}

void RankService::handle(Session&, DropMessage& message) { operations_.drop(message.id); }

void RankService::handle(Session&, CloseMessage& message) {
  process_.gangs.gang(message.group)->close();
  if (message.group != 0) process_.gangs.leave(message.group);
}

void RankService::handle(Session&, AbortMessage& message) {
  process_.gangs.gang(message.group)->abort();
}

void RankService::handle(Session& session, BlockMessage& message) {
  const std::optional<Descriptor> memory = session.caller.connection.take_descriptor();
  if (!memory) throw ProtocolError("a block came without its memory");
  session.blocks[message.block] =
      std::make_shared<const SharedBlock>(*memory, static_cast<std::size_t>(message.size));
}

void RankService::handle(Session& session, StoreMessage& message) {
  session.turn.call_site = message.call_site;
  process_.begin_call(session.caller, message.call_site);
  session.caller.awaits_answer = true;
  stop_other_threads(session, message.threads);
  answer(session, conductor_.store_.perform(message, simulated_));
}

void RankService::handle(Session&, OutputMessage& message) {
  rank_.output(message.name,
               TensorView(message.values.data(), message.type, Shape::vector(message.count)));
}

void RankService::handle(Session&, FailedMessage& message) {
  if (process_.failure) return;
  if (message.type == "SystemExit" && message.message.empty())
    return simulated_.exit_by("sys.exit", message.call_site);
  rank_.note(message.traceback);
  process_.failure = std::move(message);
}

void RankService::handle(Session&, FindingMessage& message) {
  simulated_.add_finding(finding_of(std::move(message)));
}

void RankService::handle(Session& session, ByeMessage&) {
  session.is_over = true;
  if (&session.caller == process_.callers.front().get()) process_.has_said_bye = true;
}

void RankService::handle(Session&, StackMessage&) {}  // of a question that has been answered

void RankService::handle(Session&, NewGroupMessage& message) {
  if (auto finding = conductor_.new_groups_.note(process_.rank, message, conductor_.world_size()))
    simulated_.add_finding(*std::move(finding));
}

void RankService::handle(Session&, HelloMessage&) {
  throw ProtocolError("a second hello on one connection");
}

}  // namespace gang::harness
