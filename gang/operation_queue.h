// Performs the operations of a gang one after the other, on a thread of their own where started.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "gang/ending_work.h"
#include "gang/operation.h"

namespace gang {

class QueuedWork;

// For backends that can only perform blocking operations: gives them started ones. Operations are
// performed in the order of the calls; a blocking one that finds nothing before it runs on the
// calling thread, at no cost. The thread is made by the Runtime when the first one is started.
//
// Threads: run, start and stop by one thread at a time.
class OperationQueue {
 public:
  // Performs an operation that was called at `began`, or throws a gang::Error. Never called twice
  // at once.
  using Perform = std::function<void(Operation&, TimePoint began)>;

  // `abandon` makes the operation that is under way fail soon: its memory is going away.
  OperationQueue(std::shared_ptr<CompletionBoard> board, std::string name, Perform perform,
                 std::function<void()> abandon);
  ~OperationQueue();
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;

  // Performs `operation` after all that were called before. Throws what `perform` throws.
  void run(Operation& operation);

  // The same without waiting for it.
  Work start(const Operation& operation);

  // Performs what is left and ends the thread. Idempotent.
  void stop() noexcept;

  // Whether something has been started that has not ended.
  bool is_busy() const;

 private:
  void work();

  std::shared_ptr<CompletionBoard> board_;
  std::string name_;
  Perform perform_;
  std::function<void()> abandon_;
  std::unique_ptr<RuntimeCondition> arrived_;
  std::deque<std::shared_ptr<QueuedWork>> queue_;  // under the board's lock, as what follows
  bool performing_ = false;
  bool stopping_ = false;
  std::unique_ptr<RuntimeThread> thread_;
};

}  // namespace gang
