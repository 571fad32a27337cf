// Validates fault plans.

#include <fmt/format.h>

#include "sim/faults/fault_plan.h"

namespace gang::sim {
namespace {

// Checks one fault; errors name it and the key.
class FaultChecks {
 public:
  FaultChecks(const FaultPlan& plan, std::size_t index)
      : plan_(plan), fault_(plan.faults[index]), index_(index) {}

  void check() const {
    check_share("chance", fault_.chance);
    if (!(fault_.weight >= 0))
      fail("weight", fmt::format("weight is {}; must be 0 or more", fault_.weight));
    check_count("random_ranks", fault_.random_ranks);
    check_count("random_nodes", fault_.random_nodes);
    check_duration("for", fault_.lasts);
    check_duration("delay", fault_.delay);
    check_duration("notice", fault_.notice);
    if (!(fault_.factor >= 1))
      fail("factor", fmt::format("factor is {}; must be 1 or more", fault_.factor));
    check_trigger();
    check_keys_of_kind();
  }

  void check_world(int world_size) const {
    check_ranks("ranks", fault_.ranks, world_size);
    check_ranks("to", fault_.to, world_size);
    if (fault_.error_at) check_ranks("error_at", *fault_.error_at, world_size);
    if (fault_.trigger.while_rank) check_rank("while_rank", *fault_.trigger.while_rank, world_size);
    const int nodes = (world_size + plan_.ranks_per_node - 1) / plan_.ranks_per_node;
    for (const int node : fault_.nodes)
      if (node < 0 || node >= nodes)
        fail("nodes",
             fmt::format("node {} is outside the world of {} ranks, {} per node; must be 0 "
                         "to {}",
                         node, world_size, plan_.ranks_per_node, nodes - 1));
  }

 private:
  [[noreturn]] void fail(std::string key, const std::string& message) const {
    throw FaultPlanError(index_, std::move(key), message, plan_);
  }

  void check_share(const char* key, double value) const {
    if (!(value >= 0 && value <= 1)) fail(key, fmt::format("{} is {}; must be 0 to 1", key, value));
  }

  void check_count(const char* key, int count) const {
    if (count < 0) fail(key, fmt::format("{} is {}; must be 0 or more", key, count));
  }

  void check_duration(const char* key, const std::optional<Between<Duration>>& range) const {
    if (!range) return;
    if (range->least < Duration::zero())
      fail(key, fmt::format("{} is {}; must be 0 or more", key, gang::to_string(range->least)));
    check_order(key, range->least <= range->most);
  }

  void check_order(const char* key, bool is_ordered) const {
    if (!is_ordered) fail(key, fmt::format("{} ends before it begins; must be [least, most]", key));
  }

  void check_ranks(const char* key, const std::vector<int>& ranks, int world_size) const {
    for (const int rank : ranks) check_rank(key, rank, world_size);
  }

  void check_rank(const char* key, int rank, int world_size) const {
    if (rank < 0 || rank >= world_size)
      fail(key, fmt::format("rank {} is outside the world of {} ranks; must be 0 to {}", rank,
                            world_size, world_size - 1));
  }

  void check_trigger() const {
    const FaultTrigger& trigger = fault_.trigger;
    if (trigger.probability) check_share("probability", *trigger.probability);
    check_duration("time", trigger.time);
    if (trigger.operation)
      check_order("operation", trigger.operation->least <= trigger.operation->most);
    if (trigger.message) check_order("message", trigger.message->least <= trigger.message->most);
    std::vector<const char*> given;
    if (trigger.operation) given.push_back("operation");
    if (trigger.message) given.push_back("message");
    if (trigger.time) given.push_back("time");
    if (trigger.probability) given.push_back("probability");
    if (given.size() > 1)
      fail(given[1], fmt::format("{} and {} exclude each other; a fault has one trigger", given[0],
                                 given[1]));
    if (trigger.time && (trigger.during || !trigger.gang.empty()))
      fail("time",
           "time and an operation (during, gang) exclude each other; a fault has one trigger");
    if (trigger.moment != FaultMoment::before && (trigger.time || trigger.message))
      fail("moment", "moment needs an operation or a probability");
  }

  void check_keys_of_kind() const {
    const bool link = is_of_link(fault_.kind);
    refuse_unless(link, "to", !fault_.to.empty());
    refuse_unless(link, "one_way", fault_.one_way);
    refuse_unless(link, "message", fault_.trigger.message.has_value());
    refuse_unless(!link, "operation", fault_.trigger.operation.has_value());
    const FaultKind kind = fault_.kind;
    const bool store = is_of_store(kind);
    refuse_unless(!link && !store && kind != FaultKind::late_copy, "moment",
                  fault_.trigger.moment != FaultMoment::before);
    refuse_unless(kind == FaultKind::slow, "factor", fault_.factor != 1);
    refuse_unless(ends_rank(kind) && kind != FaultKind::exception, "notice",
                  fault_.notice.has_value());
    refuse_unless(kind == FaultKind::stall || kind == FaultKind::slow || link ||
                      kind == FaultKind::store_unavailable || kind == FaultKind::slow_store,
                  "for", fault_.lasts.has_value());
    const bool delays = kind == FaultKind::slow || kind == FaultKind::late_start ||
                        kind == FaultKind::restart || kind == FaultKind::slow_link ||
                        kind == FaultKind::delay_message || kind == FaultKind::late_copy ||
                        kind == FaultKind::slow_store;
    refuse_unless(delays, "delay", fault_.delay.has_value());
    if (delays && kind != FaultKind::slow && !fault_.delay)
      fail("kind", fmt::format("{} needs a delay, as in delay = \"10ms\"", to_string(kind)));
    if (kind == FaultKind::slow && !fault_.delay && fault_.factor == 1)
      fail("kind", "slow needs a delay, a factor, or both");
    refuse_unless(kind == FaultKind::corrupt_contribution || kind == FaultKind::corrupt_result ||
                      kind == FaultKind::corrupt_message,
                  "corruption", fault_.corruption != Corruption::bit_flip);
    refuse_unless((ends_rank(kind) && kind != FaultKind::exception) || kind == FaultKind::stall,
                  "error_at", fault_.error_at.has_value());
    if (fault_.error_at && fault_.trigger.moment != FaultMoment::inside)
      fail("error_at", "error_at needs moment = \"inside\"");
    if (fault_.error_at && !fault_.error_at->empty() && !fault_.notice)
      fail("error_at", "error_at needs a notice: without one, nobody learns of the death");
    if (kind == FaultKind::partition || kind == FaultKind::slow_link)
      refuse_unless(false, fault_.trigger.message ? "message" : "probability",
                    fault_.trigger.message || fault_.trigger.probability);
    if (link || store)
      refuse_unless(false, fault_.trigger.during ? "during" : "gang",
                    fault_.trigger.during || !fault_.trigger.gang.empty());
    refuse_unless(!store, "while_rank", fault_.trigger.while_rank.has_value());
    const bool begins = kind == FaultKind::late_start;
    refuse_unless(!begins, "operation", begins && fault_.trigger != FaultTrigger{});
    if (kind == FaultKind::watchdog_abort || kind == FaultKind::corrupt_contribution ||
        kind == FaultKind::corrupt_result || kind == FaultKind::late_copy)
      refuse_unless(false, "time", fault_.trigger.time.has_value());
  }

  void refuse_unless(bool accepted, const char* key, bool given) const {
    if (given && !accepted)
      fail(key, fmt::format("{} does not apply to {}", key, to_string(fault_.kind)));
  }

  const FaultPlan& plan_;
  const Fault& fault_;
  std::size_t index_;
};

}  // namespace

void validate(const FaultPlan& plan) {
  const auto check = [&plan](bool holds, const char* key, const std::string& message) {
    if (!holds) throw FaultPlanError(FaultPlanError::no_fault, key, message, plan);
  };
  check(plan.mean >= 0 && plan.mean <= 1000, "mean",
        fmt::format("mean is {}; must be 0 to 1000", plan.mean));
  check(plan.ranks_per_node >= 1, "ranks_per_node",
        fmt::format("ranks_per_node is {}; must be 1 or more", plan.ranks_per_node));
  for (std::size_t i = 0; i < plan.faults.size(); ++i) FaultChecks(plan, i).check();
}

void validate(const FaultPlan& plan, int world_size) {
  validate(plan);
  for (std::size_t i = 0; i < plan.faults.size(); ++i) FaultChecks(plan, i).check_world(world_size);
}

}  // namespace gang::sim
