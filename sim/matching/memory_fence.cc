#include "sim/matching/memory_fence.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace gang::sim {

#if defined(__SANITIZE_ADDRESS__)

void MemoryFence::add(const Elements& region, Against what) {
  if (region.size_bytes() != 0 && what == Against::every_access)
    regions_.push_back({region.data(), region.size_bytes(), what});
}

void MemoryFence::close_regions() {
  is_closed_ = true;
  for (const Region& region : regions_) ASAN_POISON_MEMORY_REGION(region.begin, region.bytes);
}

void MemoryFence::open_regions() noexcept {
  is_closed_ = false;
  for (const Region& region : regions_) ASAN_UNPOISON_MEMORY_REGION(region.begin, region.bytes);
}

void MemoryFence::let_in(const Elements& region) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(region.data(), region.size_bytes());
}

// Freed memory is poisoned, which says more.
bool MemoryFence::is_mapped(const Elements&) noexcept { return true; }

#else

namespace {

// State of the fault handler: read and changed inside a signal handler, so only lock-free atomics.
struct ClosedRegion {
  std::atomic<std::uintptr_t> begin{0};  // 0: free, or an access was noted
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::uintptr_t> instruction{0};  // nonzero: an access was noted
  std::atomic<bool> is_write{false};
  bool is_taken = false;  // under slots_mutex
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::mutex slots_mutex;
std::array<ClosedRegion, MemoryFence::most_fences> slots;
std::size_t slots_in_use = 0;              // under slots_mutex
std::atomic<std::size_t> slots_ever_used;  // bounds the search of the handler
struct sigaction former_action;

std::uintptr_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

void set_rights(std::uintptr_t begin, std::size_t bytes, int rights) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): page arithmetic
  ::mprotect(reinterpret_cast<void*>(begin), bytes, rights);
}

std::uintptr_t instruction_of(const ucontext_t& context) noexcept {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 1;
#endif
}

bool is_write(const ucontext_t& context) noexcept {
#if defined(__x86_64__)
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  return false;  // a changed digest reveals writes
#endif
}

// Whether the fault was an access to closed memory; if so, the access may be retried.
bool note_access(std::uintptr_t address, const ucontext_t& context) noexcept {
  const std::size_t count = slots_ever_used.load();
  for (std::size_t i = 0; i < count; ++i) {
    ClosedRegion& slot = slots[i];
    const std::uintptr_t begin = slot.begin.load();
    const std::size_t bytes = slot.bytes.load();
    if (begin == 0 || address < begin || address - begin >= bytes) continue;
    slot.is_write.store(is_write(context));
    slot.instruction.store(instruction_of(context));
    slot.begin.store(0);
    set_rights(begin, bytes, PROT_READ | PROT_WRITE);
    return true;
  }
  return false;
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (note_access(address, *static_cast<const ucontext_t*>(context))) return;
  // Not our fault: restore the former handler as if this one had never been installed.
  if ((former_action.sa_flags & SA_SIGINFO) != 0)
    former_action.sa_sigaction(signal, info, context);
  else if (former_action.sa_handler == SIG_DFL || former_action.sa_handler == SIG_IGN)
    ::sigaction(signal, &former_action, nullptr);  // the access faults again
  else
    former_action.sa_handler(signal);
}

void install_handler() noexcept {
  static const bool is_installed = [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGSEGV, &action, &former_action) == 0;
  }();
  static_cast<void>(is_installed);
}

// A free slot; -1 if all are in use.
int take_slot() noexcept {
  const std::lock_guard lock(slots_mutex);
  if (slots_in_use == slots.size()) return -1;
  std::size_t i = 0;
  while (slots[i].is_taken) ++i;
  slots[i].is_taken = true;
  ++slots_in_use;
  if (i >= slots_ever_used.load()) slots_ever_used.store(i + 1);
  return static_cast<int>(i);
}

void give_back_slot(int slot) noexcept {
  const std::lock_guard lock(slots_mutex);
  slots[static_cast<std::size_t>(slot)].is_taken = false;
  --slots_in_use;
}

}  // namespace

void MemoryFence::add(const Elements& region, Against what) {
  constexpr std::size_t least_page_bytes = 4096;
  if (region.size_bytes() < least_page_bytes) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(region.data());
  const std::uintptr_t first = (begin + page_bytes() - 1) / page_bytes() * page_bytes();
  const std::uintptr_t end = (begin + region.size_bytes()) / page_bytes() * page_bytes();
  if (begin == 0 || first >= end) return;
  if (what == Against::writes && region.size_bytes() < least_bytes_against_writes) return;
  regions_.push_back({region.data() + (first - begin), end - first, what});
}

void MemoryFence::close_regions() {
  install_handler();
  is_closed_ = true;
  for (Region& region : regions_) {
    region.slot = take_slot();
    if (region.slot < 0) continue;
    ClosedRegion& slot = slots[static_cast<std::size_t>(region.slot)];
    const auto begin = reinterpret_cast<std::uintptr_t>(region.begin);
    slot.instruction.store(0);
    slot.bytes.store(region.bytes);
    slot.begin.store(begin);
    set_rights(begin, region.bytes, region.what == Against::writes ? PROT_READ : PROT_NONE);
  }
}

void MemoryFence::open_regions() noexcept {
  is_closed_ = false;
  for (Region& region : regions_) {
    if (region.slot < 0) continue;
    ClosedRegion& slot = slots[static_cast<std::size_t>(region.slot)];
    if (slot.begin.exchange(0) != 0)
      set_rights(reinterpret_cast<std::uintptr_t>(region.begin), region.bytes,
                 PROT_READ | PROT_WRITE);
    if (const std::uintptr_t instruction = slot.instruction.load(); instruction != 0 && !access_)
      access_ = FenceAccess{slot.is_write.load(), instruction};
    give_back_slot(region.slot);
    region.slot = -1;
  }
}

// Accesses are noted and do not end the process.
void MemoryFence::let_in(const Elements&) noexcept {}

bool MemoryFence::is_mapped(const Elements& region) noexcept {
  if (region.size_bytes() < least_bytes_unmapped) return true;
  const auto begin = reinterpret_cast<std::uintptr_t>(region.data());
  const std::uintptr_t first = begin / page_bytes() * page_bytes();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): page arithmetic
  auto* const page = reinterpret_cast<void*>(first);
  return ::msync(page, begin + region.size_bytes() - first, MS_ASYNC) == 0 || errno != ENOMEM;
}

#endif

}  // namespace gang::sim
