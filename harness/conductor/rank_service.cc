#include "harness/conductor/rank_service.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/operation_checks.h"

namespace gang::harness {
namespace {

struct Told {
  Status status = Status::failed;
  std::string text;
};

Status status_of(GangErrorKind kind) {
  switch (kind) {
    case GangErrorKind::timeout:
      return Status::timeout;
    case GangErrorKind::peer_failed:
      return Status::peer_failed;
    case GangErrorKind::mismatch:
      return Status::mismatch;
    case GangErrorKind::aborted:
      return Status::aborted;
    case GangErrorKind::connection:
      return Status::connection;
    case GangErrorKind::corrupt:
      return Status::corrupt;
  }
  return Status::failed;
}

// What the process is told of an error.
Told told(const std::exception_ptr& error) {
  if (!error) return {Status::done, ""};
  try {
    std::rethrow_exception(error);
  } catch (const GangError& failure) {
    return {status_of(failure.kind()), failure.what()};
  } catch (const InvalidArgument& wrong) {
    return {Status::invalid_argument, wrong.what()};
  } catch (const InvalidOperation& wrong) {
    return {Status::invalid_operation, wrong.what()};
  } catch (const NotSupported& missing) {
    return {Status::not_supported, missing.what()};
  } catch (const std::exception& other) {
    return {Status::failed, other.what()};
  }
}

FrameWriter frame_of(ServerKind kind) { return FrameWriter(static_cast<std::uint8_t>(kind)); }

}  // namespace

RankService::RankService(Conductor& conductor, Rank& rank)
    : conductor_(conductor),
      rank_(rank),
      simulated_(*rank.simulated()),
      process_(conductor.process_for(rank.rank(), rank.incarnation())) {
  ++conductor_.serving_;
  gangs_[0] = rank.root();
}

RankService::~RankService() {
  threads_.clear();
  --conductor_.serving_;
}

void RankService::run() {
  if (Caller* const first = await_first_caller()) serve(*first);
  await_end();
  throw_failure();
  // What it never waited for outlives its program.
  for (auto& [id, operation] : operations_) dropped_.push_back(std::move(operation));
  operations_.clear();
  conductor_.keep_until_next_run(std::move(dropped_));
  for (const auto& [group, gang] : gangs_) gang->close();
}

Turns::Turn RankService::turn_of(const Caller& caller) const {
  return {.rank = simulated_,
          .process = process_,
          .thread = static_cast<pid_t>(caller.hello.thread),
          .call_site = {}};
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
    if (!reason.empty()) throw Error(fmt::format("its process never came: {}", reason));
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
    conductor_.turns_.wait(
        turn, [&] { return conductor_.is_over(process_) || process_.has_new_caller(); });
    serve_new_callers();
  } while (!conductor_.is_over(process_));
  if (process_.failure || !death_of(process_).empty()) release_threads();
  for (std::size_t i = 0; i < threads_.size(); ++i) threads_[i]->join();
}

// The rank has failed: what its other threads wait for, they will never take.
void RankService::release_threads() {
  if (threads_.empty()) return;
  for (const auto& [group, gang] : gangs_) gang->abort();
}

void RankService::throw_failure() const {
  const std::string death = death_of(process_);
  if (const auto& failure = process_.failure) {
    // What it died of may be what it was told.
    if (last_error_ && failure->message.find(told(last_error_).text) != std::string::npos)
      std::rethrow_exception(last_error_);
    const std::string text = failure->message.empty()
                                 ? failure->type
                                 : fmt::format("{}: {}", failure->type, failure->message);
    if (failure->call_site.line == 0) throw Error(text);
    throw Refused<Error>(text, failure->call_site);
  }
  if (!death.empty()) throw Error("its process " + death);
  if (!process_.has_said_bye && !process_.wait_status && !process_.callers.empty())
    throw Error("its process ended in the middle of its program");
}

// -- Threads --

void RankService::serve_new_callers() {
  // More may come while one starts.
  for (std::size_t i = 0; i < process_.callers.size(); ++i) {
    Caller& caller = *process_.callers[i];
    if (std::exchange(caller.is_served, true)) continue;
    threads_.push_back(
        rank_.runtime().start_thread(caller.hello.thread_name, [this, &caller] { serve(caller); }));
  }
}

// While a process has threads that have never called, nothing is known about them: one may still
// make the call that others wait for.
void RankService::watch_silent_threads(std::uint32_t count) {
  process_.other_threads = count;
  if (count == 0 || watches_silent_threads_) return;
  watches_silent_threads_ = true;
  threads_.push_back(rank_.runtime().start_thread("threads that never called", [this] {
    Turns::Turn turn{.rank = simulated_, .process = process_, .is_free = true, .is_silent = true};
    const auto is_known = [this] {
      return conductor_.is_over(process_) || process_.other_threads == 0 ||
             process_.has_new_caller();
    };
    while (!conductor_.is_over(process_) && process_.other_threads > 0) {
      if (!conductor_.turns_.wait(turn, is_known)) return;
      serve_new_callers();
    }
    watches_silent_threads_ = false;
  }));
}

void RankService::serve(Caller& caller) {
  Session session{.caller = caller, .turn = turn_of(caller), .blocks = {}};
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
  conductor_.turns_.wait(session.turn, [&] {
    if (connection.has_frame()) return true;
    conductor_.read(caller);
    return connection.has_frame() || !connection.is_open() || process_.has_new_caller();
  });
  serve_new_callers();
  if (!connection.has_frame()) {
    session.is_over = !connection.is_open();
    return;
  }
  ClientMessage message = parse_message(connection.take(), conductor_.texts_);
  std::visit([&](auto& known) { handle(session, known); }, message);
}

// -- Requests --

std::shared_ptr<Gang> RankService::gang_of(std::uint32_t group) const {
  const auto gang = gangs_.find(group);
  if (gang == gangs_.end()) throw ProtocolError(fmt::format("there is no group {}", group));
  return gang->second;
}

std::shared_ptr<StartedOperation> RankService::operation_of(std::uint64_t id) const {
  const auto operation = operations_.find(id);
  if (operation == operations_.end())
    throw ProtocolError(fmt::format("there is no operation {}", id));
  return operation->second;
}

void RankService::answer(Session& session, FrameWriter& frame) {
  session.caller.connection.send(frame.finish());
  session.caller.awaits_answer = false;
}

void RankService::handle(Session& session, GroupMessage& message) {
  if (message.group == 0) throw ProtocolError("group 0 is the gang of all ranks");
  Told result{Status::done, ""};
  try {
    GangInfo info = simulated_.root()->info();
    info.name = message.role.empty() ? message.name : std::move(message.role);
    info.root_ranks = std::move(message.ranks);
    if (message.timeout) info.timeout = *message.timeout;
    gangs_[message.group] = simulated_.gang_of(std::move(info), message.call_site, message.name);
  } catch (const std::exception&) {
    result = told(last_error_ = std::current_exception());
  }
  FrameWriter done = frame_of(ServerKind::done);
  done.number(std::uint32_t{1});
  done.number(static_cast<std::uint8_t>(result.status));
  done.number(std::int32_t{0});
  done.number(std::int32_t{0});
  done.numbers(std::span<const std::int32_t>{});
  done.text(result.text);
  done.bytes({});
  answer(session, done);
}

void RankService::handle(Session& session, OperationMessage& message) {
  session.turn.call_site = message.call_site;
  std::shared_ptr<const SharedBlock> block;
  if (message.block != 0) {
    const auto known = session.blocks.find(message.block);
    if (known == session.blocks.end())
      throw ProtocolError(fmt::format("there is no block {} on this connection", message.block));
    block = known->second;
  }
  const std::uint64_t id = message.id;
  const bool is_blocking = message.is_blocking;
  if (is_blocking) {
    session.caller.awaits_answer = true;
    watch_silent_threads(message.threads);
  }
  const auto operation = std::make_shared<StartedOperation>(
      std::move(message), gang_of(message.group), std::move(block));
  if (!operations_.emplace(id, operation).second)
    throw ProtocolError(fmt::format("operation {} exists already", id));
  operation->start();
  if (is_blocking) answer_with(session, {operation});
}

void RankService::handle(Session& session, WaitMessage& message) {
  session.turn.call_site = message.call_site;
  session.caller.awaits_answer = true;
  watch_silent_threads(message.threads);
  std::vector<std::shared_ptr<StartedOperation>> operations;
  for (const std::uint64_t id : message.ids) operations.push_back(operation_of(id));
  if (message.is_for_any) {
    FrameWriter first = frame_of(ServerKind::first);
    first.number(
        static_cast<std::uint32_t>(StartedOperation::wait_any(operations, rank_.runtime())));
    return answer(session, first);
  }
  for (const auto& operation : operations) operation->wait(rank_.runtime());
  answer_with(session, operations);
}

void RankService::add_result(FrameWriter& frame, StartedOperation& operation) {
  if (operation.error()) last_error_ = operation.error();
  const Told result = told(operation.error());
  std::vector<std::int32_t> ranks;
  if (const std::shared_ptr<Gang>& made = operation.made()) {
    ranks.assign(made->info().root_ranks.begin(), made->info().root_ranks.end());
    gangs_[operation.message().result] = made;
  }
  frame.number(static_cast<std::uint8_t>(result.status));
  frame.number(static_cast<std::int32_t>(operation.received().source_rank));
  frame.number(static_cast<std::int32_t>(operation.received().tag));
  frame.numbers(std::span<const std::int32_t>(ranks));
  frame.text(result.text);
  frame.bytes(operation.data());
}

// Another thread may have waited for the same ones, and started others under their ids since.
void RankService::answer_with(Session& session,
                              const std::vector<std::shared_ptr<StartedOperation>>& operations) {
  FrameWriter done = frame_of(ServerKind::done);
  done.number(static_cast<std::uint32_t>(operations.size()));
  for (const auto& operation : operations) add_result(done, *operation);
  for (const auto& operation : operations) {
    const auto known = operations_.find(operation->message().id);
    if (known != operations_.end() && known->second == operation) operations_.erase(known);
  }
  answer(session, done);
}

void RankService::handle(Session& session, TestMessage& message) {
  session.caller.awaits_answer = true;
  const bool is_complete = operation_of(message.id)->test(rank_.runtime());
  FrameWriter tested = frame_of(ServerKind::tested);
  tested.number(std::uint8_t{is_complete});
  answer(session, tested);
}

void RankService::handle(Session&, DropMessage& message) {
  // It goes on: its end would have to be waited for.
  dropped_.push_back(operation_of(message.id));
  operations_.erase(message.id);
}

void RankService::handle(Session&, CloseMessage& message) {
  gang_of(message.group)->close();
  if (message.group != 0) gangs_.erase(message.group);
}

void RankService::handle(Session&, AbortMessage& message) { gang_of(message.group)->abort(); }

void RankService::handle(Session& session, BlockMessage& message) {
  const std::optional<Descriptor> memory = session.caller.connection.take_descriptor();
  if (!memory) throw ProtocolError("a block came without its memory");
  session.blocks[message.block] =
      std::make_shared<const SharedBlock>(*memory, static_cast<std::size_t>(message.size));
}

void RankService::handle(Session& session, StoreMessage& message) {
  session.turn.call_site = message.call_site;
  session.caller.awaits_answer = true;
  watch_silent_threads(message.threads);
  const KeyStore::Answer result = conductor_.store_.perform(message, simulated_);
  FrameWriter stored = frame_of(ServerKind::stored);
  stored.number(static_cast<std::uint8_t>(result.status));
  stored.number(result.number);
  stored.number(static_cast<std::uint32_t>(result.values.size()));
  for (const auto& value : result.values) stored.bytes(value);
  stored.text(result.error);
  answer(session, stored);
}

void RankService::handle(Session&, OutputMessage& message) {
  const auto count = static_cast<std::int64_t>(message.values.size() / size_bytes(message.type));
  rank_.output(message.name, TensorView(message.values.data(), message.type, Shape::vector(count)));
}

void RankService::handle(Session&, FailedMessage& message) {
  if (process_.failure) return;
  rank_.note(message.traceback);
  process_.failure = std::move(message);
}

void RankService::handle(Session&, FindingMessage& message) {
  sim::Finding finding;
  finding.id = std::move(message.id);
  finding.message = std::move(message.message);
  finding.ranks = std::move(message.ranks);
  if (message.call_site.line != 0) finding.location = to_string(message.call_site);
  simulated_.add_finding(std::move(finding));
}

void RankService::handle(Session& session, ByeMessage&) {
  session.is_over = true;
  if (&session.caller == process_.callers.front().get()) process_.has_said_bye = true;
}

void RankService::handle(Session&, StackMessage&) {}  // of a question that has been answered

void RankService::handle(Session&, HelloMessage&) {
  throw ProtocolError("a second hello on one connection");
}

}  // namespace gang::harness
