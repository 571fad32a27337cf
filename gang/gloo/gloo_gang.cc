#include "gang/gloo/gloo_gang.h"

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "gang/child_gang.h"
#include "gang/gloo/gloo_groups.h"
#include "gang/gloo/gloo_member.h"
#include "gang/gloo/gloo_messages.h"
#include "gang/gloo/gloo_monitored_barrier.h"
#include "gang/gloo/gloo_shrinking.h"
#include "gang/operation_queue.h"
#include "gang/parent_gang.h"

namespace gang {
namespace {

class GlooGang final : public ParentGang {
 public:
  explicit GlooGang(const std::shared_ptr<GlooMember>& member)
      : ParentGang(member->info(), member->rank()),
        member_(member),
        messages_(member),
        queue_(
            member->world().board, member->info()->name,
            [this](Operation& operation, TimePoint began) { perform(operation, began); },
            [raw = member.get()] { raw->break_with(gave_up(raw->rank())); }) {
    if (member->world().watchdog != nullptr) member->world().watchdog->watch(member);
  }
  ~GlooGang() override { GlooGang::do_close(); }

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  void do_abort() override;
  void do_close() noexcept override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;

 private:
  void number(Operation& operation) noexcept;
  void perform(Operation& operation, TimePoint began);
  void perform_alone(Operation& operation);
  void broadcast_objects(Operation& operation, const GlooCall& call);
  void make_child(const Operation& operation, const GlooCall& call);

  std::shared_ptr<GlooMember> member_;
  GlooMessages messages_;
  OperationQueue queue_;
  std::uint64_t next_sequence_ = 0;
  std::atomic<std::uint64_t> next_message_ = 0;  // a ValidatingGang sends on its own threads
  std::uint64_t children_made_ = 0;
  bool is_shrunk_ = false;
  bool is_closed_here_ = false;
};

void GlooGang::number(Operation& operation) noexcept {
  operation.collective.sequence_number =
      is_point_to_point(operation.collective.kind) ? next_message_++ : next_sequence_++;
}

Work GlooGang::do_start(Operation& operation) {
  number(operation);
  if (is_point_to_point(operation.collective.kind)) return messages_.start(operation);
  member_->require_intact({operation.collective, member_->runtime().now(), TimePoint::max()});
  return queue_.start(operation);
}

Received GlooGang::do_run(Operation& operation) {
  number(operation);
  if (!is_point_to_point(operation.collective.kind)) {
    queue_.run(operation);
    return {};
  }
  Work work = messages_.start(operation);
  work.wait();
  return work.received();
}

void GlooGang::perform(Operation& operation, TimePoint began) {
  const Collective& collective = operation.collective;
  const GlooCall call{collective, began, deadline_after(began, operation.timeout)};
  if (collective.kind == OperationKind::create_gang || collective.kind == OperationKind::split)
    return make_child(operation, call);
  if (size() == 1) {
    member_->require_intact(call);
    return perform_alone(operation);
  }
  if (collective.kind == OperationKind::broadcast_objects)
    return broadcast_objects(operation, call);
  if (collective.kind == OperationKind::monitored_barrier)
    return run_monitored_barrier(*member_, call, operation.extras->wait_all_ranks);
  if (auto mismatch = own_split_mismatch(operation, rank()))
    member_->fail(call, *std::move(mismatch));
  member_->communicate(call, [this, &operation] { member_->collectives().perform(operation); });
}

// The only member already has everything; only copying remains.
void GlooGang::perform_alone(Operation& operation) {
  const auto copy = [](const Elements& to, const Elements& from) {
    if (to.data() != from.data() && from.size_bytes() > 0)
      std::memcpy(to.data(), from.data(), from.size_bytes());
  };
  if (!operation.extras->outputs.empty())
    return copy(operation.extras->outputs.front(), operation.input);
  if (!operation.extras->inputs.empty())
    return copy(operation.output, operation.extras->inputs.front());
  if (operation.output.count() > 0) copy(operation.output, operation.input);
}

// A header goes first: the number of bytes, and of objects.
void GlooGang::broadcast_objects(Operation& operation, const GlooCall& call) {
  const Collective& collective = operation.collective;
  const std::uint32_t tag = tag_of(collective);
  std::vector<std::byte>& packed = *operation.extras->packed;
  std::array<std::int64_t, 2> header = {static_cast<std::int64_t>(packed.size()), collective.count};
  member_->communicate(call, [&] {
    member_->collectives().broadcast_bytes(tag, header.data(), sizeof(header), collective.peer);
    packed.resize(static_cast<std::size_t>(header[0]));
    member_->collectives().broadcast_bytes(tag, packed.data(), packed.size(), collective.peer);
  });
  if (header[1] != collective.count)
    member_->fail(call, object_count_mismatch(collective, rank(), header[1]));
}

void GlooGang::make_child(const Operation& operation, const GlooCall& call) {
  member_->require_intact(call);
  const auto child = make_child_member(*member_, call, operation, children_made_++);
  if (child != nullptr) *operation.extras->created = std::make_shared<GlooGang>(child);
}

std::shared_ptr<Gang> GlooGang::do_shrink(const ShrinkOptions& options, const CallSite& call_site) {
  if (std::exchange(is_shrunk_, true))
    throw InvalidOperation("shrink on " + label_of(info()) +
                           ": the gang has already been shrunk; shrink the new gang");
  return std::make_shared<GlooGang>(
      make_shrunk_member(*member_, options, call_site, children_made_++));
}

void GlooGang::do_abort() { member_->break_with(aborted_by(rank(), "aborted the gang")); }

void GlooGang::do_close() noexcept {
  if (std::exchange(is_closed_here_, true)) return;
  member_->close(queue_.is_busy() || messages_.is_busy());
  queue_.stop();
  member_->disconnect();
  member_->world().board->forget_ended();
}

}  // namespace

std::shared_ptr<Gang> make_gloo_gang(const GlooGangOptions& options) {
  GlooWorld world{std::make_shared<CompletionBoard>(options.runtime), options.connector};
  if (options.watchdog == Watchdog::on)
    world.watchdog = std::make_shared<GlooWatchdog>(world.board);
  return std::make_shared<GlooGang>(
      make_root_member(root_info(options.name, "gloo", options.size, options.timeout), options.rank,
                       options.prefix, world));
}

}  // namespace gang
