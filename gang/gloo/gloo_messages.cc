#include "gang/gloo/gloo_messages.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "gang/hash.h"

namespace gang {

// A message of a rank to itself, or the receive of one, that waits for its counterpart.
struct OwnMessage {
  bool is_send = false;
  int tag = 0;
  TensorView tensor;
  bool is_done = false;  // under the board's lock
};

// A receive from any rank, known to its member until it has ended, in whatever way.
class OpenReceive {
 public:
  OpenReceive(GlooMember& member, gloo::transport::UnboundBuffer& buffer)
      : member_(member), buffer_(buffer) {
    member_.add_open_receive(buffer_);
  }
  ~OpenReceive() { member_.remove_open_receive(buffer_); }
  OpenReceive(const OpenReceive&) = delete;
  OpenReceive& operator=(const OpenReceive&) = delete;

 private:
  GlooMember& member_;
  gloo::transport::UnboundBuffer& buffer_;
};

// The messages and receives of a rank to and from itself. Under the board's lock.
class MessageBox {
 public:
  // Copies the data if there is a counterpart; otherwise keeps `message` and returns false.
  bool match(const std::shared_ptr<OwnMessage>& message) {
    const auto found = std::ranges::find_if(waiting_, [&message](const auto& other) {
      return other->is_send != message->is_send && other->tag == message->tag &&
             other->tensor.type() == message->tensor.type() &&
             other->tensor.count() == message->tensor.count();
    });
    if (found == waiting_.end()) {
      waiting_.push_back(message);
      return false;
    }
    const OwnMessage& send = message->is_send ? *message : **found;
    const OwnMessage& receive = message->is_send ? **found : *message;
    if (send.tensor.size_bytes() > 0)
      std::memmove(receive.tensor.data(), send.tensor.data(), send.tensor.size_bytes());
    message->is_done = true;
    (*found)->is_done = true;
    waiting_.erase(found);
    return true;
  }

  // The same, but does not keep `message`.
  bool match_now(const std::shared_ptr<OwnMessage>& message) {
    const bool has_matched = match(message);
    if (!has_matched) waiting_.pop_back();
    return has_matched;
  }

  void remove(const std::shared_ptr<OwnMessage>& message) { waiting_.remove(message); }

  std::atomic<int> under_way = 0;  // works that have not ended

 private:
  std::list<std::shared_ptr<OwnMessage>> waiting_;
};

namespace {

// A first byte that Gloo does not use, 31 bits of the tag, and 25 bits of what must agree.
std::uint64_t slot_of(int tag, const Elements& tensor) {
  constexpr std::uint64_t prefix = 0x40;
  const auto type = static_cast<std::uint64_t>(tensor.type());
  const std::uint64_t hash = splitmix64(static_cast<std::uint64_t>(tensor.count()), type);
  return prefix << 56U | static_cast<std::uint64_t>(tag) << 25U | hash >> 39U;
}

struct Transfer {
  PointToPoint what;
  std::unique_ptr<gloo::transport::UnboundBuffer> buffer;  // to or from others
  std::shared_ptr<OwnMessage> own;                         // to or from this rank
};

}  // namespace

class MessageWork final : public SelfPerformingWork {
 public:
  MessageWork(std::shared_ptr<GlooMember> member, std::shared_ptr<MessageBox> box,
              const Operation& operation);
  ~MessageWork() override;

  void post(std::span<const PointToPoint> entries);

 protected:
  Received perform() override;
  void abandon() noexcept override { member_->break_with(gave_up(member_->rank())); }

 private:
  GlooCall call() const { return {collective_, began_, deadline_}; }
  Transfer transfer_for(const PointToPoint& entry);
  void post_own(Transfer& transfer);
  int wait_for(Transfer& transfer);
  int wait_for_other(Transfer& transfer);
  void wait_for_own(const OwnMessage& message);

  std::shared_ptr<GlooMember> member_;
  std::shared_ptr<MessageBox> box_;
  std::string label_;
  Collective collective_;
  TimePoint began_;
  TimePoint deadline_;
  std::vector<Transfer> transfers_;
};

MessageWork::MessageWork(std::shared_ptr<GlooMember> member, std::shared_ptr<MessageBox> box,
                         const Operation& operation)
    : SelfPerformingWork(member->world().board, operation.collective.call_site, "message"),
      member_(std::move(member)),
      box_(std::move(box)),
      label_(operation.collective.label),
      collective_(operation.collective),
      began_(member_->runtime().now()),
      deadline_(deadline_after(member_->runtime(), operation.timeout)) {
  collective_.label = label_;
  ++box_->under_way;
}

MessageWork::~MessageWork() {
  join();
  if (!has_ended()) --box_->under_way;
  const auto lock = board().lock();
  for (const Transfer& transfer : transfers_)
    if (transfer.own != nullptr) box_->remove(transfer.own);
}

void MessageWork::post(std::span<const PointToPoint> entries) {
  member_->require_intact(call());
  transfers_.reserve(entries.size());
  for (const PointToPoint& entry : entries) transfers_.push_back(transfer_for(entry));
}

Transfer MessageWork::transfer_for(const PointToPoint& entry) {
  Transfer transfer{.what = entry};
  const bool is_own = entry.peer == member_->rank() || member_->size() == 1;
  if (is_own || entry.peer == any_rank) post_own(transfer);
  if (is_own || transfer.own != nullptr) return transfer;
  const std::uint64_t slot = slot_of(entry.tag, entry.tensor);
  const std::size_t bytes = entry.tensor.size_bytes();
  member_->exchange(call(), entry.peer, [&] {
    transfer.buffer = member_->transport().createUnboundBuffer(entry.tensor.data(), bytes);
    if (entry.kind == OperationKind::send) {
      transfer.buffer->send(entry.peer, slot, 0, bytes);
    } else if (entry.peer != any_rank) {
      transfer.buffer->recv(entry.peer, slot, 0, bytes);
    } else {
      std::vector<int> sources;
      for (int rank = 0; rank < member_->size(); ++rank)
        if (rank != member_->rank()) sources.push_back(rank);
      transfer.buffer->recv(std::move(sources), slot, 0, bytes);
    }
  });
  return transfer;
}

void MessageWork::post_own(Transfer& transfer) {
  const PointToPoint& entry = transfer.what;
  auto message = std::make_shared<OwnMessage>();
  message->is_send = entry.kind == OperationKind::send;
  message->tag = entry.tag;
  message->tensor = entry.tensor;
  const auto lock = board().lock();
  const bool may_wait = entry.peer != any_rank || member_->size() == 1;
  const bool has_matched = may_wait ? box_->match(message) : box_->match_now(message);
  if (may_wait || has_matched) transfer.own = std::move(message);
  if (has_matched) board().changed().notify_all();
}

Received MessageWork::perform() {
  struct Leaving {
    std::atomic<int>& under_way;
    ~Leaving() { --under_way; }
  } const leaving{box_->under_way};
  Received received;
  for (Transfer& transfer : transfers_) {
    const int peer = wait_for(transfer);
    if (collective_.kind == OperationKind::recv) received = {peer, transfer.what.tag};
  }
  return received;
}

// Returns the rank that the message came from or went to.
int MessageWork::wait_for(Transfer& transfer) {
  if (transfer.own == nullptr) return wait_for_other(transfer);
  wait_for_own(*transfer.own);
  return member_->rank();
}

int MessageWork::wait_for_other(Transfer& transfer) {
  const bool is_open = transfer.what.peer == any_rank;
  int peer = transfer.what.peer;
  bool is_complete = false;
  {
    std::optional<OpenReceive> open;
    if (is_open) open.emplace(*member_, *transfer.buffer);
    // A message that has arrived counts, even if the gang broke in the meantime.
    member_->exchange(call(), peer, [&] {
      const auto limit = wait_limit(member_->runtime(), deadline_);
      is_complete = transfer.what.kind == OperationKind::send
                        ? transfer.buffer->waitSend(nullptr, limit)
                        : transfer.buffer->waitRecv(is_open ? &peer : nullptr, limit);
    });
  }
  if (!is_complete) member_->require_intact(call());
  return peer;
}

void MessageWork::wait_for_own(const OwnMessage& message) {
  auto lock = board().lock();
  while (!message.is_done) {
    lock.unlock();
    member_->require_intact(call());
    if (member_->runtime().now() >= deadline_)
      member_->fail(call(), {.kind = GangErrorKind::timeout,
                             .reason = "rank " + std::to_string(member_->rank()) +
                                       " waited for itself in " + to_string(collective_)});
    lock.lock();
    if (message.is_done || member_->is_broken(lock)) continue;
    if (deadline_ == TimePoint::max())
      board().changed().wait(lock);
    else
      board().changed().wait_for(lock, deadline_ - member_->runtime().now());
  }
}

GlooMessages::GlooMessages(std::shared_ptr<GlooMember> member)
    : member_(std::move(member)), box_(std::make_shared<MessageBox>()) {}

GlooMessages::~GlooMessages() = default;

bool GlooMessages::is_busy() const { return box_->under_way > 0; }

Work GlooMessages::start(const Operation& operation) {
  const Collective& collective = operation.collective;
  const PointToPoint single = message_of(operation);
  const bool is_batch = collective.kind == OperationKind::batch;
  const std::span<const PointToPoint> entries =
      is_batch ? operation.extras->batch : std::span<const PointToPoint>(&single, 1);
  for (const PointToPoint& entry : entries)
    if (entry.tag == any_tag)
      throw NotSupported(std::string(to_string(collective.kind)) + " on " +
                         label_of(*member_->info()) +
                         ": gloo cannot receive with any_tag; simulated gangs can");
  auto work = std::make_shared<MessageWork>(member_, box_, operation);
  work->post(entries);
  return Work(std::move(work));
}

}  // namespace gang
