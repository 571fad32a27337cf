// A rank of the simulator that serves its process.
#pragma once

#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gang/gang.h"
#include "gang/runtime.h"
#include "harness/conductor/conductor.h"
#include "harness/conductor/rank_operations.h"
#include "harness/conductor/silent_threads.h"
#include "harness/conductor/started_operation.h"
#include "harness/program/rank.h"

namespace gang::harness {

// Lives on the rank's own context. Each thread of the process that calls has a context of the rank,
// which takes its requests in their order.
class RankService {
 public:
  RankService(Conductor& conductor, Rank& rank);
  ~RankService();
  RankService(const RankService&) = delete;
  RankService& operator=(const RankService&) = delete;

  // Serves the process until its end. Throws what ended its program, if that was an error.
  void run();

 private:
  // One thread of the process, on its context.
  struct Session {
    Caller& caller;
    Turns::Turn turn;
    std::map<std::uint32_t, std::shared_ptr<const SharedBlock>> blocks;
    bool has_answered = false;  // the last request
    bool is_over = false;
  };

  Caller* await_first_caller();
  void await_end();
  void release_threads();
  void throw_failure() const;
  void serve(Caller& caller);
  void listen(Turns::Turn& turn, const std::function<bool()>& has_spoken);
  void serve_new_callers();
  void stop_other_threads(const Session& session, const std::vector<std::uint32_t>& silent);
  void watch_silent_threads();
  void take_request(Session& session);

  void handle(Session& session, GroupMessage& message);
  void handle(Session& session, OperationMessage& message);
  void handle(Session& session, WaitMessage& message);
  void handle(Session& session, TestMessage& message);
  void handle(Session& session, DropMessage& message);
  void handle(Session& session, CloseMessage& message);
  void handle(Session& session, AbortMessage& message);
  void handle(Session& session, BlockMessage& message);
  void handle(Session& session, StoreMessage& message);
  void handle(Session& session, OutputMessage& message);
  void handle(Session& session, FailedMessage& message);
  void handle(Session& session, FindingMessage& message);
  void handle(Session& session, ByeMessage& message);
  void handle(Session& session, StackMessage& message);
  void handle(Session& session, NewGroupMessage& message);
  [[noreturn]] void handle(Session& session, HelloMessage& message);

  OperationResult result_of(const StartedOperation& operation);
  void answer_with(Session& session,
                   const std::vector<std::shared_ptr<StartedOperation>>& operations);
  void answer(Session& session, const ServerMessage& message);

  Conductor& conductor_;
  Rank& rank_;
  sim::SimulatedRank& simulated_;
  RankProcess& process_;
  RankOperations operations_;
  std::exception_ptr last_error_;  // that the process was told
  SilentThreads silent_threads_;
  bool watches_silent_threads_ = false;
  int listening_ = 0;  // contexts that are outside of calls, and serve new callers
  // The contexts of further threads. The last member: they use the others.
  std::vector<std::unique_ptr<RuntimeThread>> threads_;
};

}  // namespace gang::harness
