// Performs the operations of a gang one after another; started ones on a thread of its own.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "gang/ending_work.h"
#include "gang/operation.h"

namespace gang {

class QueuedWork;

// Adds started operations to backends that can only perform blocking ones. Operations are performed
// in the order of the calls; a blocking one runs on the calling thread, at no cost, if nothing is
// under way. The Runtime makes the thread when the first operation is started.
//
// Threads: run, start and stop by one thread at a time.
class OperationQueue {
 public:
  // Performs an operation called at `began`, or throws a gang::Error. Never called concurrently.
  using Perform = std::function<void(Operation&, TimePoint began)>;

  // `abandon` makes the operation under way fail soon, because its memory is going away.
  OperationQueue(std::shared_ptr<CompletionBoard> board, std::string name, Perform perform,
                 std::function<void()> abandon);
  ~OperationQueue();
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;

  // Performs `operation` after all those called before. Throws what `perform` throws.
  void run(Operation& operation);

  // The same without waiting for it.
  Work start(const Operation& operation);

  // Performs what is still queued and ends the thread. Idempotent.
  void stop() noexcept;

  // Whether any operation has been started that has not ended.
  bool is_busy() const;

 private:
  void work();

  std::shared_ptr<CompletionBoard> board_;
  std::string name_;
  Perform perform_;
  std::function<void()> abandon_;
  std::unique_ptr<RuntimeCondition> arrived_;
  std::deque<std::shared_ptr<QueuedWork>> queue_;  // this and the flags are under the board's lock
  bool performing_ = false;
  bool stopping_ = false;
  std::unique_ptr<RuntimeThread> thread_;
};

}  // namespace gang
