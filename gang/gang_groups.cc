// create_gang, split and shrink.
#include <utility>

#include <fmt/format.h>

#include "gang/hash.h"
#include "gang/operation_checks.h"

namespace gang {
namespace {

void check_members(const Call& call, std::span<const int> ranks) {
  if (ranks.empty()) refuse(call, "ranks is empty; must hold one or more ranks");
  std::vector<bool> seen(static_cast<std::size_t>(call.gang.size()));
  for (const int rank : ranks) {
    check_rank(call, "an entry of ranks", rank);
    if (seen[static_cast<std::size_t>(rank)])
      refuse(call, fmt::format("rank {} is given twice; ranks must be unique", rank));
    seen[static_cast<std::size_t>(rank)] = true;
  }
}

void check_gang_timeout(const Call& call, const std::optional<Duration>& timeout) {
  if (timeout && *timeout <= Duration::zero()) throw_timeout(call, *timeout);
}

void check_grace(const Call& call, Duration grace) {
  if (grace <= Duration::zero() || grace == no_timeout)
    refuse(call, fmt::format("grace is {}; must be positive and finite",
                             grace == no_timeout ? "infinite" : to_string(grace)));
}

void begin_group(Call& call, OperationKind kind, const GangOptions& options) {
  begin(call, kind);
  check_gang_timeout(call, options.timeout);
}

}  // namespace

std::shared_ptr<Gang> Gang::create_gang(std::span<const int> ranks, const GangOptions& options,
                                        CallSite call_site) {
  const CallOptions call_options{.label = options.label};
  Call call{*this, call_options, call_site};
  begin_group(call, OperationKind::create_gang, options);
  check_members(call, ranks);
  Operation operation = operation_on(call, ranks.size());
  operation.collective.detail = fnv1a(std::as_bytes(ranks));
  return create(operation, {.ranks = ranks, .gang_options = &options});
}

std::shared_ptr<Gang> Gang::split(Split split, const GangOptions& options, CallSite call_site) {
  const CallOptions call_options{.label = options.label};
  Call call{*this, call_options, call_site};
  begin_group(call, OperationKind::split, options);
  if (split.color < 0 && split.color != no_color)
    refuse(call, fmt::format("color is {}; must be 0 or more, or no_color", split.color));
  return create(operation_of(call),
                {.color = split.color, .key = split.key, .gang_options = &options});
}

std::shared_ptr<Gang> Gang::shrink(const ShrinkOptions& options, CallSite call_site) {
  const CallOptions no_options;
  const Call call{*this, no_options, call_site, OperationKind::shrink};
  if (is_closed()) throw_closed(call);
  check_gang_timeout(call, options.timeout);
  ShrinkOptions complete = options;
  if (!complete.grace) complete.grace = timeout();
  check_grace(call, *complete.grace);
  return do_shrink(complete, call_site);
}

}  // namespace gang
