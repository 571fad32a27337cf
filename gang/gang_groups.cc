// create_gang, split and shrink.
#include "gang/operation_checks.h"

namespace gang {
namespace {

void check_member(const Call& call, int rank, std::vector<bool>& seen) {
  check_rank(call, "an entry of ranks", rank);
  if (seen[static_cast<std::size_t>(rank)])
    throw Refused<InvalidArgument>(text_of(call) + ": rank " + std::to_string(rank) +
                                       " is given twice; accepted are unique ranks",
                                   call.call_site);
  seen[static_cast<std::size_t>(rank)] = true;
}

void check_members(const Call& call, std::span<const int> ranks) {
  if (ranks.empty())
    throw Refused<InvalidArgument>(
        text_of(call) + ": ranks is empty; accepted are one or more ranks", call.call_site);
  std::vector<bool> seen(static_cast<std::size_t>(call.gang.size()));
  for (const int rank : ranks) check_member(call, rank, seen);
}

void check_gang_timeout(const Call& call, const std::optional<Duration>& timeout) {
  if (timeout && *timeout <= Duration::zero()) throw_timeout(call, *timeout);
}

void check_grace(const Call& call, Duration grace) {
  if (grace <= Duration::zero() || grace == no_timeout)
    throw Refused<InvalidArgument>(text_of(call) + ": grace is " +
                                       (grace == no_timeout ? "without end" : to_string(grace)) +
                                       "; accepted are positive durations with an end",
                                   call.call_site);
}

// FNV-1a over the ranks, four bytes each, so that members with other lists are found out.
// Source: Fowler, Noll and Vo's 64-bit offset basis and prime.
std::uint64_t hash_of(std::span<const int> ranks) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const int rank : ranks) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash ^= (static_cast<std::uint32_t>(rank) >> shift) & 0xff;
      hash *= 0x100000001b3;
    }
  }
  return hash;
}

}  // namespace

std::shared_ptr<Gang> Gang::create_gang(std::span<const int> ranks, const GangOptions& options,
                                        CallSite call_site) {
  const CallOptions no_options;
  const Call call{*this, OperationKind::create_gang, CallForm::blocking, no_options, call_site};
  Operation operation;
  begin_operation(call, operation);
  check_members(call, ranks);
  check_gang_timeout(call, options.timeout);
  std::shared_ptr<Gang> child;
  operation.collective.count = static_cast<std::int64_t>(ranks.size());
  operation.collective.shape = Shape::vector(operation.collective.count);
  operation.collective.detail = hash_of(ranks);
  operation.ranks = ranks;
  operation.gang_options = &options;
  operation.created = &child;
  do_run(operation);
  adopt(child);
  return child;
}

std::shared_ptr<Gang> Gang::split(Split split, const GangOptions& options, CallSite call_site) {
  const CallOptions no_options;
  const Call call{*this, OperationKind::split, CallForm::blocking, no_options, call_site};
  Operation operation;
  begin_operation(call, operation);
  if (split.color < 0 && split.color != no_color)
    throw Refused<InvalidArgument>(text_of(call) + ": color is " + std::to_string(split.color) +
                                       "; accepted are 0 and more, and no_color",
                                   call.call_site);
  check_gang_timeout(call, options.timeout);
  std::shared_ptr<Gang> child;
  operation.color = split.color;
  operation.key = split.key;
  operation.gang_options = &options;
  operation.created = &child;
  do_run(operation);
  adopt(child);
  return child;
}

std::shared_ptr<Gang> Gang::shrink(const ShrinkOptions& options, CallSite call_site) {
  const CallOptions no_options;
  const Call call{*this, OperationKind::shrink, CallForm::blocking, no_options, call_site};
  if (is_closed()) throw_closed(call);
  check_gang_timeout(call, options.timeout);
  ShrinkOptions complete = options;
  if (!complete.grace) complete.grace = timeout();
  check_grace(call, *complete.grace);
  return do_shrink(complete, call_site);
}

}  // namespace gang
