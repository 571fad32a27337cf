#include "gang/validated_messages.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gang/owned_operation.h"

namespace gang {
namespace {

// What one side of a message says about it. 256 bytes.
struct Announcement {
  std::int64_t count = 0;
  std::int64_t data_type = 0;
  std::array<char, 64> label{};  // as much as fits; empty if none is given
  std::array<char, 176> call{};  // for people: "send #0 f32[4] to rank 1 at train.cc:41"
};
static_assert(sizeof(Announcement) == 256);

// The call that describes one send or receive, alone or in a batch.
Collective call_of(const Collective& whole, const PointToPoint& entry) {
  Collective call = whole;
  call.kind = entry.kind;
  call.data_type = entry.tensor.type();
  call.count = entry.tensor.count();
  call.shape = entry.tensor.shape();
  call.peer = entry.peer;
  call.tag = entry.tag;
  return call;
}

// Copies as much of `text` as fits, with a zero at the end.
void put(std::span<char> place, std::string_view text) {
  std::ranges::copy(text.substr(0, place.size() - 1), place.begin());
}

Announcement announcement_of(const Collective& call) {
  Announcement announcement{.count = call.count,
                            .data_type = static_cast<std::int64_t>(call.data_type)};
  put(announcement.label, call.label);
  put(announcement.call, to_string(call) + " at " + to_string(call.call_site));
  return announcement;
}

// What the two sides differ in, if they do not match.
std::optional<CallDifference> difference(const Announcement& left, const Announcement& right) {
  if (left.data_type != right.data_type) return CallDifference::data_type;
  if (left.count != right.count) return CallDifference::count;
  if (left.label != right.label && left.label[0] != 0 && right.label[0] != 0)
    return CallDifference::label;
  return std::nullopt;
}

TensorView bytes_of(Announcement& announcement) {
  return {&announcement, DataType::u8, Shape::vector(sizeof(announcement))};
}

// The side gang's tags for the announcements of senders and of receivers.
int sender_tag(int tag) { return 2 * tag; }
int receiver_tag(int tag) { return 2 * tag + 1; }

void require_known_tag(const Gang& gang, const PointToPoint& entry) {
  if (entry.tag >= 0 && entry.tag <= highest_validated_tag) return;
  throw NotSupported(fmt::format("{} on {}: tag is {}; must be 0 to {} on a validating gang",
                                 to_string(entry.kind), label_of(gang.info()),
                                 entry.tag == any_tag ? "any_tag" : std::to_string(entry.tag),
                                 highest_validated_tag));
}

// A message of a work, with its announcements.
struct Message {
  PointToPoint what;
  Collective call;
  Announcement own;
  Announcement theirs;
  int peer = any_rank;  // until it is known
  Work announcing;
  Work hearing;
};

class ValidatedMessages final : public SelfPerformingWork {
 public:
  ValidatedMessages(ValidatedGang& gang, std::shared_ptr<void> keep,
                    std::shared_ptr<CompletionBoard> board, const Operation& operation)
      : SelfPerformingWork(std::move(board), operation.collective.call_site, "message"),
        keep_(std::move(keep)),
        gang_(gang),
        operation_(operation),
        began_(this->board().runtime().now()),
        deadline_(deadline_after(began_, operation.timeout)) {}
  ~ValidatedMessages() override { join(); }

  void post();

 protected:
  Received perform() override;
  void abandon() noexcept override { gang_.side().abort(); }

 private:
  const Collective& call() { return operation_.get().collective; }
  Duration left() const { return time_left(board().runtime(), deadline_); }
  void add_messages();
  void forward_known();
  void forward(const PointToPoint& entry);
  void announce(Message& message);
  void learn_sources();
  void compare();
  [[noreturn]] void fail_mismatch(Message& message);
  [[noreturn]] void fail_exchange(const GangError& error);

  std::shared_ptr<void> keep_;
  ValidatedGang& gang_;
  OwnedOperation operation_;
  TimePoint began_;
  TimePoint deadline_;
  std::vector<Message> messages_;
  std::vector<Work> data_;
};

void ValidatedMessages::post() {
  add_messages();
  forward_known();
  try {
    for (Message& message : messages_) announce(message);
  } catch (const GangError& error) {
    fail_exchange(error);
  }
  const bool is_open = std::ranges::any_of(
      messages_, [](const Message& message) { return message.peer == any_rank; });
  if (is_open && !call().blocking) run_in_background();
}

void ValidatedMessages::add_messages() {
  const Operation& operation = operation_.get();
  const PointToPoint single = message_of(operation);
  const bool is_batch = call().kind == OperationKind::batch;
  const std::span<const PointToPoint> entries =
      is_batch ? operation.extras->batch : std::span<const PointToPoint>(&single, 1);
  for (const PointToPoint& entry : entries) require_known_tag(gang_.side(), entry);
  messages_.reserve(entries.size());
  for (const PointToPoint& entry : entries) {
    messages_.push_back({.what = entry, .call = call_of(call(), entry), .peer = entry.peer});
    messages_.back().own = announcement_of(messages_.back().call);
  }
}

// Sends data at once if its source and destination are known.
void ValidatedMessages::forward_known() {
  Operation known = operation_.get();
  OperationExtras extras = *known.extras;
  std::vector<PointToPoint> entries;
  for (const Message& message : messages_)
    if (message.peer != any_rank) entries.push_back(message.what);
  if (entries.empty()) return;
  if (known.collective.kind == OperationKind::batch) {
    extras.batch = entries;
    known.extras = &extras;
    known.collective.count = static_cast<std::int64_t>(entries.size());
  }
  data_.push_back(gang_.forward(known));
}

// A receive whose source has become known.
void ValidatedMessages::forward(const PointToPoint& entry) {
  Operation receive = operation_.get();
  receive.collective = call_of(call(), entry);
  receive.input = receive.output = entry.tensor;
  receive.extras = &no_extras;
  receive.timeout = left();
  data_.push_back(gang_.forward(receive));
}

void ValidatedMessages::announce(Message& message) {
  Gang& side = gang_.side();
  const CallOptions options{.timeout = left()};
  const bool is_send = message.what.kind == OperationKind::send;
  const int announced = is_send ? sender_tag(message.what.tag) : receiver_tag(message.what.tag);
  const int heard = is_send ? receiver_tag(message.what.tag) : sender_tag(message.what.tag);
  if (message.peer != any_rank)
    message.announcing = side.start_send(bytes_of(message.own), message.peer, announced, options);
  message.hearing = side.start_recv(bytes_of(message.theirs), message.peer, heard, options);
}

// For receives from any rank: answers each sender and receives from it, in the order in which the
// senders announce themselves.
void ValidatedMessages::learn_sources() {
  std::vector<Message*> open;
  std::vector<Work> hearing;
  for (Message& message : messages_) {
    if (message.peer != any_rank) continue;
    open.push_back(&message);
    hearing.push_back(std::move(message.hearing));
  }
  while (!open.empty()) {
    const std::size_t index = open.size() == 1 ? 0 : Work::wait_any(hearing);
    Message& message = *open[index];
    hearing[index].wait();
    message.peer = hearing[index].received().source_rank;
    message.what.peer = message.peer;
    message.announcing = gang_.side().start_send(
        bytes_of(message.own), message.peer, receiver_tag(message.what.tag), {.timeout = left()});
    forward(message.what);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(index));
    hearing.erase(hearing.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

void ValidatedMessages::compare() {
  for (Message& message : messages_) {
    message.hearing.wait();
    message.announcing.wait();
    if (difference(message.own, message.theirs)) fail_mismatch(message);
  }
}

Received ValidatedMessages::perform() {
  try {
    learn_sources();
    compare();
  } catch (const GangError& error) {
    if (error.kind() == GangErrorKind::mismatch) throw;
    fail_exchange(error);
  }
  for (Work& data : data_) data.wait();
  if (call().kind != OperationKind::recv) return {};
  return {messages_.front().peer, messages_.front().what.tag};
}

// Each side finds the mismatch by itself. The first to do so breaks the gang, but only after the
// other has heard its announcement, if the other is there.
void ValidatedMessages::fail_mismatch(Message& message) {
  Gang& side = gang_.side();
  const bool is_send = message.what.kind == OperationKind::send;
  const int own_rank = side.rank();
  if (message.peer != own_rank) {
    const CallOptions shortly{.timeout =
                                  std::min<Duration>(left(), std::chrono::milliseconds(500))};
    try {
      std::uint8_t out = 1;
      std::uint8_t in = 0;
      const int tag = message.what.tag;
      const PointToPoint nods[] = {{OperationKind::send, view_of(out), message.peer,
                                    is_send ? sender_tag(tag) : receiver_tag(tag)},
                                   {OperationKind::recv, view_of(in), message.peer,
                                    is_send ? receiver_tag(tag) : sender_tag(tag)}};
      side.batch(nods, shortly);
    } catch (const Error&) {
      // The other side is not waiting for this message, or already knows.
    }
  }
  GangFailure failure;
  failure.kind = GangErrorKind::mismatch;
  failure.ranks_at_fault = {std::min(own_rank, message.peer), std::max(own_rank, message.peer)};
  if (message.peer == own_rank) failure.ranks_at_fault = {own_rank};
  const Announcement& sent = is_send ? message.own : message.theirs;
  const Announcement& expected = is_send ? message.theirs : message.own;
  failure.difference = difference(sent, expected);
  failure.reason =
      "the " + std::string(to_string(*failure.difference)) + " differ: rank " +
      std::to_string(is_send ? own_rank : message.peer) + " calls " + sent.call.data() + ", rank " +
      std::to_string(is_send ? message.peer : own_rank) + " calls " + expected.call.data();
  throw gang_.break_with(message.call, began_, std::move(failure));
}

void ValidatedMessages::fail_exchange(const GangError& error) {
  GangFailure failure;
  failure.kind = error.kind();
  failure.ranks_at_fault = error.ranks_at_fault();
  failure.reason = error.kind() == GangErrorKind::timeout
                       ? "the other side did not make the matching call"
                       : std::string("in the exchange that accompanies it: ") + error.what();
  throw gang_.break_with(call(), began_, std::move(failure));
}

}  // namespace

Work start_validated_messages(ValidatedGang& gang, std::shared_ptr<void> keep,
                              const std::shared_ptr<CompletionBoard>& board,
                              const Operation& operation) {
  auto work = std::make_shared<ValidatedMessages>(gang, std::move(keep), board, operation);
  work->post();
  return Work(std::move(work));
}

}  // namespace gang
