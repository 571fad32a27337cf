#include "gang/gloo/gloo_watchdog.h"

#include "gang/gloo/gloo_member.h"

namespace gang {

void GlooWatchdog::watch(const std::shared_ptr<GlooMember>& member) {
  const auto lock = board_->lock();
  std::erase_if(members_, [](const auto& one) { return one.expired(); });
  members_.push_back(member);
}

std::vector<std::shared_ptr<GlooMember>> GlooWatchdog::others_of(const GlooMember& broken) {
  const auto lock = board_->lock();
  std::vector<std::shared_ptr<GlooMember>> others;
  for (const auto& one : members_) {
    std::shared_ptr<GlooMember> member = one.lock();
    if (member != nullptr && member.get() != &broken) others.push_back(std::move(member));
  }
  return others;
}

void GlooWatchdog::gang_broke(const GlooMember& broken, const GangCause& cause) {
  if (cause.kind == GangErrorKind::aborted) return;
  const std::string rank =
      std::to_string(broken.info()->root_ranks.empty()
                         ? broken.rank()
                         : broken.info()->root_ranks[static_cast<std::size_t>(broken.rank())]);
  for (const std::shared_ptr<GlooMember>& member : others_of(broken))
    member->break_with({.kind = GangErrorKind::aborted,
                        .reason = "the watchdog of rank " + rank + " aborted it because " +
                                  label_of(*broken.info()) + " broke: " + cause.reason});
}

}  // namespace gang
