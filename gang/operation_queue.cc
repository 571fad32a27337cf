#include "gang/operation_queue.h"

#include <utility>

#include "gang/owned_operation.h"

namespace gang {

class QueuedWork final : public EndingWork {
 public:
  QueuedWork(std::shared_ptr<CompletionBoard> board, const Operation& called,
             std::function<void()> abandon)
      : EndingWork(std::move(board), called.collective.call_site),
        operation(called),
        began(this->board().runtime().now()),
        abandon_(std::move(abandon)) {}

  OwnedOperation operation;
  const TimePoint began;

 protected:
  void abandon() noexcept override { abandon_(); }

 private:
  std::function<void()> abandon_;
};

namespace {

// Only exceptions of std end an operation; anything else unwinds the thread.
std::exception_ptr error_of(const OperationQueue::Perform& perform, QueuedWork& work) {
  try {
    perform(work.operation.get(), work.began);
    return nullptr;
  } catch (const std::exception&) {
    return std::current_exception();
  }
}

}  // namespace

OperationQueue::OperationQueue(std::shared_ptr<CompletionBoard> board, std::string name,
                               Perform perform, std::function<void()> abandon)
    : board_(std::move(board)),
      name_(std::move(name)),
      perform_(std::move(perform)),
      abandon_(std::move(abandon)),
      arrived_(board_->runtime().make_condition()) {}

OperationQueue::~OperationQueue() { stop(); }

bool OperationQueue::is_busy() const {
  const auto lock = board_->lock();
  return performing_ || !queue_.empty();
}

void OperationQueue::run(Operation& operation) {
  if (thread_ == nullptr || !is_busy()) return perform_(operation, board_->runtime().now());
  start(operation).wait();
}

Work OperationQueue::start(const Operation& operation) {
  auto started = std::make_shared<QueuedWork>(board_, operation, abandon_);
  {
    const auto lock = board_->lock();
    queue_.push_back(started);
    arrived_->notify_one();
  }
  if (thread_ == nullptr) thread_ = board_->runtime().start_thread(name_, [this] { work(); });
  return Work(std::move(started));
}

void OperationQueue::work() {
  auto lock = board_->lock();
  while (true) {
    while (queue_.empty() && !stopping_) arrived_->wait(lock);
    if (queue_.empty()) return;
    const std::shared_ptr<QueuedWork> next = std::move(queue_.front());
    queue_.pop_front();
    performing_ = true;
    lock.unlock();
    std::exception_ptr error = error_of(perform_, *next);
    lock.lock();
    performing_ = false;
    lock.unlock();
    next->end(std::move(error));
    lock.lock();
  }
}

void OperationQueue::stop() noexcept {
  if (thread_ == nullptr) return;
  {
    const auto lock = board_->lock();
    stopping_ = true;
    arrived_->notify_one();
  }
  thread_.reset();  // joins
  stopping_ = false;
}

}  // namespace gang
