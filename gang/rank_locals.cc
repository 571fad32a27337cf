#include "gang/rank_locals.h"

namespace gang {
namespace {

thread_local RankLocals* current = nullptr;

RankLocals& locals_of_thread() noexcept {
  thread_local RankLocals locals;
  return locals;
}

}  // namespace

// Not inlined: a fiber that moves to another thread must not keep the address of thread locals.
[[gnu::noinline]] RankLocals& rank_locals() noexcept {
  return current != nullptr ? *current : locals_of_thread();
}

[[gnu::noinline]] void set_rank_locals(RankLocals* locals) noexcept { current = locals; }

[[gnu::noinline]] RankLocals*& rank_locals_place() noexcept { return current; }

}  // namespace gang
