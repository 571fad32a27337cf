#include "harness/conductor/offspring.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

// So often, a millisecond apart, is looked for more: processes that are killed take a while.
constexpr int most_rounds = 2'000;

// Calls `use` with each entry of a folder of /proc that is a number.
template <typename Use>
void for_each_number(const std::string& folder, const Use& use) {
  std::error_code gone;
  for (auto entry = fs::directory_iterator(folder, gone);
       !gone && entry != fs::directory_iterator(); entry.increment(gone)) {
    const std::string name = entry->path().filename().string();
    pid_t number = 0;
    const char* const end = name.data() + name.size();
    if (const auto parsed = std::from_chars(name.data(), end, number); parsed.ptr == end)
      use(number);
  }
}

bool has_mark(pid_t process, const std::string& mark) {
  std::ifstream file(fmt::format("/proc/{}/environ", process));
  for (std::string variable; std::getline(file, variable, '\0');)
    if (variable == mark) return true;
  return false;
}

std::set<pid_t> children_of_this_process() {
  std::set<pid_t> children;
  for_each_number("/proc/self/task", [&children](pid_t thread) {
    std::ifstream file(fmt::format("/proc/self/task/{}/children", thread));
    for (pid_t child = 0; file >> child;) children.insert(child);
  });
  return children;
}

}  // namespace

void kill_marked(const std::string& mark) noexcept {
  if (mark.empty()) return;
  bool is_done = false;
  for (int round = 0; !is_done && round < most_rounds; ++round) {
    if (round > 0) ::usleep(1'000);
    is_done = true;
    for_each_number("/proc", [&](pid_t process) {
      if (process == ::getpid() || !has_mark(process, mark)) return;
      ::kill(process, SIGKILL);
      is_done = false;
    });
  }
}

Offspring::Offspring(std::string mark) : mark_(std::move(mark)) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_reaper_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  known_ = children_of_this_process();
}

Offspring::~Offspring() {
  kill_marked(mark_);
  for (int round = 0; kill_adopted() && round < most_rounds; ++round) ::usleep(1'000);
  ::prctl(PR_SET_CHILD_SUBREAPER, was_reaper_);
}

// Returns whether there may be more: those that they have started are adopted when they end.
bool Offspring::kill_adopted() const noexcept {
  bool found = false;
  for (const pid_t child : children_of_this_process()) {
    if (known_.contains(child)) continue;
    found = true;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, WNOHANG);
  }
  return found;
}

}  // namespace gang::harness
