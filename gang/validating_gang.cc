#include "gang/validating_gang.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gang/forwarding_gang.h"
#include "gang/hash.h"
#include "gang/operation_queue.h"
#include "gang/rank_list.h"
#include "gang/validated_messages.h"

namespace gang {
namespace {

// What the members of a gang must agree on, as they exchange it.
struct Fingerprint {
  std::uint64_t sequence_number = 0;
  std::int64_t count = 0;
  std::uint64_t detail = 0;
  std::uint64_t label = 0;  // a hash; 0 if none is given
  std::int32_t peer = no_rank;
  std::uint8_t kind = 0;
  std::uint8_t data_type = 0;
  std::uint8_t reduce_operation = 0;
  std::uint8_t has_splits = 0;
  std::array<std::uint64_t, 3> reserved = {};
};
static_assert(sizeof(Fingerprint) == 64);

std::uint64_t hash_of(std::string_view label) {
  return label.empty() ? 0 : fnv1a(std::as_bytes(std::span(label))) | 1U;
}

Fingerprint fingerprint_of(const Operation& operation) {
  const Collective& collective = operation.collective;
  Fingerprint fingerprint;
  fingerprint.sequence_number = collective.sequence_number;
  fingerprint.kind = static_cast<std::uint8_t>(collective.kind);
  fingerprint.data_type = static_cast<std::uint8_t>(collective.data_type);
  fingerprint.count = collective.count;
  fingerprint.detail = collective.detail;
  fingerprint.label = hash_of(collective.label);
  fingerprint.has_splits = operation.extras->input_splits.empty() ? 0 : 1;
  if (has_root(collective.kind)) fingerprint.peer = collective.peer;
  if (reduces(collective.kind))
    fingerprint.reduce_operation = static_cast<std::uint8_t>(collective.reduce_operation);
  return fingerprint;
}

bool lists_ranks(const Fingerprint& fingerprint) {
  return fingerprint.kind == static_cast<std::uint8_t>(OperationKind::create_gang);
}

// What the two calls differ in, if they do not match.
std::optional<CallDifference> difference(const Fingerprint& left, const Fingerprint& right) {
  using enum CallDifference;
  if (left.kind != right.kind || left.has_splits != right.has_splits) return operation;
  if (left.data_type != right.data_type) return data_type;
  if (left.detail != right.detail) return lists_ranks(left) ? ranks : count;
  if (left.count != right.count) return count;
  if (left.reduce_operation != right.reduce_operation) return reduce_operation;
  if (left.peer != right.peer) return root;
  if (left.label != right.label && left.label != 0 && right.label != 0) return label;
  return std::nullopt;
}

// What all members are compared with: the first call with a label, since two calls that match a
// call without one may still differ.
const Fingerprint& reference_of(const std::vector<Fingerprint>& all) {
  const auto labelled = std::ranges::find_if(all, [](const auto& one) { return one.label != 0; });
  return labelled == all.end() ? all.front() : *labelled;
}

std::vector<int> ranks_unlike(const Fingerprint& reference, const std::vector<Fingerprint>& all) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (difference(reference, all[rank])) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

// The ranks that do not call what most call; the higher ranks in case of a tie.
std::vector<int> odd_ranks(const std::vector<Fingerprint>& all) {
  const auto agreeing = [&all](const Fingerprint& one) {
    return std::ranges::count_if(
        all, [&one](const Fingerprint& other) { return !difference(one, other); });
  };
  const std::vector<int> odd = ranks_unlike(*std::ranges::max_element(all, {}, agreeing), all);
  return odd.empty() ? ranks_unlike(reference_of(all), all) : odd;
}

// "all_reduce #3 sum f32[8] at train.cc:41", for the members that see a different call.
using CallText = std::array<char, 192>;

CallText text_of(const Collective& collective) {
  CallText text{};
  const std::string full = to_string(collective) + " at " + to_string(collective.call_site);
  std::memcpy(text.data(), full.data(), std::min(full.size(), text.size() - 1));
  return text;
}

std::string text_of_missing(const std::vector<int>& ranks) {
  return ranks.empty() ? "not all members called it" : ranks_text(ranks) + " did not call it";
}

TensorView bytes_of(void* data, std::size_t size) {
  return {data, DataType::u8, Shape::vector(static_cast<std::int64_t>(size))};
}

class ValidatingGang final : public ForwardingGang,
                             public std::enable_shared_from_this<ValidatingGang>,
                             private ValidatedGang {
 public:
  ValidatingGang(std::shared_ptr<Gang> inner, std::shared_ptr<Gang> side,
                 std::shared_ptr<CompletionBoard> board,
                 ValidatingGangOptions::MissingRanks missing_ranks)
      : ForwardingGang(std::move(inner)),
        side_(std::move(side)),
        board_(std::move(board)),
        missing_ranks_(missing_ranks),
        queue_(
            board_, name(),
            [this](Operation& operation, TimePoint began) { perform(operation, began); },
            [this] { do_abort(); }) {}
  ~ValidatingGang() override { stop(); }

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  void do_abort() override;
  void do_close() noexcept override;
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override;

 private:
  struct Validation {
    const Operation& operation;
    TimePoint began;
    Duration left;  // for each of its exchanges
  };

  void stop() noexcept;
  void perform(Operation& operation, TimePoint began);
  Work start_messages(const Operation& operation);

  // ValidatedGang
  Gang& side() noexcept override { return *side_; }
  Work forward(Operation& operation) override { return ForwardingGang::do_start(operation); }
  GangError break_with(const Collective& call, TimePoint began, GangFailure failure) override;

  void validate(const Validation& validation);
  void compare_fingerprints(const Validation& validation);
  void compare_splits(const Validation& validation);
  [[noreturn]] void fail_mismatch(const Validation& validation,
                                  const std::vector<Fingerprint>& all);
  [[noreturn]] void fail(const Validation& validation, GangFailure failure);
  GangError break_inner(const Collective& call, TimePoint began, GangFailure failure);
  void require_intact(const Collective& collective) const;

  std::shared_ptr<Gang> side_;
  std::shared_ptr<CompletionBoard> board_;
  ValidatingGangOptions::MissingRanks missing_ranks_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t next_message_ = 0;
  std::optional<GangFailure> broken_;  // under the board's lock
  OperationQueue queue_;               // last: destroyed first
};

Work ValidatingGang::do_start(Operation& operation) {
  require_intact(operation.collective);
  if (is_point_to_point(operation.collective.kind)) return start_messages(operation);
  operation.collective.sequence_number = next_sequence_++;
  return queue_.start(operation);
}

Received ValidatingGang::do_run(Operation& operation) {
  require_intact(operation.collective);
  if (is_point_to_point(operation.collective.kind)) {
    Work work = start_messages(operation);
    work.wait();
    return work.received();
  }
  operation.collective.sequence_number = next_sequence_++;
  queue_.run(operation);
  return {};
}

Work ValidatingGang::start_messages(const Operation& operation) {
  Operation message = operation;
  message.collective.sequence_number = next_message_++;
  return start_validated_messages(*this, shared_from_this(), board_, message);
}

void ValidatingGang::do_abort() {
  side_->abort();
  ForwardingGang::do_abort();
}

void ValidatingGang::do_close() noexcept {
  stop();
  ForwardingGang::do_close();
  board_->forget_ended();
}

// What is under way fails, since no thread waits for it.
void ValidatingGang::stop() noexcept {
  side_->close();
  if (queue_.is_busy()) inner().close();
  queue_.stop();
}

// Every member of the child calls this, so they can make its side gang here.
std::shared_ptr<Gang> ValidatingGang::wrap(std::shared_ptr<Gang> child) {
  return make_validating_gang(std::move(child),
                              {.runtime = std::shared_ptr<Runtime>(board_, &board_->runtime()),
                               .missing_ranks = missing_ranks_});
}

void ValidatingGang::perform(Operation& operation, TimePoint began) {
  require_intact(operation.collective);
  const TimePoint deadline = deadline_after(began, operation.timeout);
  if (size() > 1) validate({operation, began, time_left(board_->runtime(), deadline)});
  operation.timeout = time_left(board_->runtime(), deadline);
  ForwardingGang::do_run(operation);
}

void ValidatingGang::validate(const Validation& validation) {
  std::optional<GangFailure> failure;
  try {
    if (missing_ranks_ == ValidatingGangOptions::MissingRanks::named)
      side_->monitored_barrier(validation.left, MissingRanks::all);
    compare_fingerprints(validation);
    if (!validation.operation.extras->input_splits.empty()) compare_splits(validation);
    return;
  } catch (const GangError& error) {
    if (error.kind() == GangErrorKind::mismatch) throw;
    failure.emplace();
    failure->kind = error.kind();
    failure->ranks_at_fault = error.ranks_at_fault();
    failure->reason = error.kind() == GangErrorKind::timeout
                          ? text_of_missing(error.ranks_at_fault())
                          : std::string("in the exchange that precedes it: ") + error.what();
  }
  fail(validation, *std::move(failure));
}

void ValidatingGang::compare_fingerprints(const Validation& validation) {
  Fingerprint own = fingerprint_of(validation.operation);
  std::vector<Fingerprint> all(static_cast<std::size_t>(size()));
  side_->all_gather(bytes_of(all.data(), all.size() * sizeof(own)), bytes_of(&own, sizeof(own)),
                    {.timeout = validation.left});
  if (!ranks_unlike(reference_of(all), all).empty()) fail_mismatch(validation, all);
}

// What each rank sends to another must be what the other expects.
void ValidatingGang::compare_splits(const Validation& validation) {
  const Operation& operation = validation.operation;
  std::vector<std::int64_t> sent(operation.extras->input_splits.begin(),
                                 operation.extras->input_splits.end());
  std::vector<std::int64_t> announced(sent.size());
  const CallOptions options{.timeout = validation.left};
  side_->all_to_all(view(announced), view(sent), options);
  std::vector<std::uint8_t> differs(sent.size());
  for (std::size_t rank = 0; rank < sent.size(); ++rank)
    differs[rank] = announced[rank] == operation.extras->output_splits[rank] ? 0 : 1;
  side_->all_reduce(view(differs), ReduceOperation::max, options);
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < differs.size(); ++rank)
    if (differs[rank] != 0) odd.push_back(static_cast<int>(rank));
  if (odd.empty()) return;
  GangFailure failure;
  failure.kind = GangErrorKind::mismatch;
  failure.difference = CallDifference::count;
  failure.reason = "rank " + std::to_string(odd.front()) +
                   " does not send the number of elements that its peers expect";
  failure.ranks_at_fault = std::move(odd);
  fail(validation, std::move(failure));
}

void ValidatingGang::fail_mismatch(const Validation& validation,
                                   const std::vector<Fingerprint>& all) {
  CallText own = text_of(validation.operation.collective);
  std::vector<CallText> texts(all.size());
  side_->all_gather(bytes_of(texts.data(), texts.size() * sizeof(own)),
                    bytes_of(own.data(), own.size()), {.timeout = validation.left});
  GangFailure failure;
  failure.kind = GangErrorKind::mismatch;
  failure.ranks_at_fault = odd_ranks(all);
  const auto odd = static_cast<std::size_t>(failure.ranks_at_fault.front());
  std::size_t usual = 0;
  while (!difference(all[usual], all[odd])) ++usual;
  failure.difference = difference(all[usual], all[odd]);
  failure.reason = "the " + std::string(to_string(*failure.difference)) + " differ: rank " +
                   std::to_string(usual) + " calls " + texts[usual].data() + ", rank " +
                   std::to_string(odd) + " calls " + texts[odd].data();
  fail(validation, std::move(failure));
}

void ValidatingGang::fail(const Validation& validation, GangFailure failure) {
  throw break_inner(validation.operation.collective, validation.began, std::move(failure));
}

// The members that do not take part in the message learn of it from closed connections.
GangError ValidatingGang::break_with(const Collective& call, TimePoint began, GangFailure failure) {
  side_->abort();
  return break_inner(call, began, std::move(failure));
}

GangError ValidatingGang::break_inner(const Collective& call, TimePoint began,
                                      GangFailure failure) {
  failure.gang = label_of(info());
  failure.rank = rank();
  failure.operation = call;
  failure.elapsed = board_->runtime().now() - began;
  {
    const auto lock = board_->lock();
    if (!broken_) broken_ = failure;
    broken_->operation.label = {};
  }
  inner().abort();
  return GangError(std::move(failure));
}

void ValidatingGang::require_intact(const Collective& collective) const {
  std::optional<GangFailure> failure;
  {
    const auto lock = board_->lock();
    failure = broken_;
  }
  if (!failure) return;
  failure->operation = collective;
  failure->elapsed = Duration(0);
  throw GangError(*std::move(failure));
}

}  // namespace

std::shared_ptr<Gang> make_validating_gang(std::shared_ptr<Gang> inner,
                                           const ValidatingGangOptions& options) {
  std::vector<int> everyone(static_cast<std::size_t>(inner->size()));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::shared_ptr<Gang> side = inner->create_gang(everyone, {.name = inner->name()});
  return std::make_shared<ValidatingGang>(std::move(inner), std::move(side),
                                          std::make_shared<CompletionBoard>(options.runtime),
                                          options.missing_ranks);
}

}  // namespace gang
