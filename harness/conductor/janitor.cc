#include "harness/conductor/janitor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <system_error>

#include "harness/conductor/offspring.h"

namespace gang::harness {
namespace {

// What it is told: a process, the negative of one that has ended, or that there is nothing to do.
constexpr pid_t all_is_well = 0;

// Keeps nothing open that others wait to see closed, and gets no signal of the terminal.
void leave_all_but(int socket) {
  ::setsid();
  ::prctl(PR_SET_NAME, "gangsim-janitor");
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
  constexpr unsigned first = STDERR_FILENO + 1;
  const auto kept = static_cast<unsigned>(socket);
  if (kept > first) ::syscall(SYS_close_range, first, kept - 1, 0);
  ::syscall(SYS_close_range, kept + 1, UINT_MAX, 0);
}

[[noreturn]] void wait_and_clean(int socket, const std::filesystem::path& remains,
                                 const std::string& mark) {
  leave_all_but(socket);
  std::array<pid_t, 4096> processes;
  auto end = processes.begin();
  for (;;) {
    pid_t told = all_is_well;
    const ssize_t got = ::recv(socket, &told, sizeof told, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof told) break;
    if (told == all_is_well) ::_exit(0);
    if (told < 0)
      end = std::remove(processes.begin(), end, -told);
    else if (end != processes.end())
      *end++ = told;
  }
  std::for_each(processes.begin(), end, [](pid_t process) { ::kill(process, SIGKILL); });
  kill_marked(mark);
  std::error_code ignored;
  std::filesystem::remove_all(remains, ignored);
  ::_exit(0);
}

}  // namespace

Janitor::Janitor(const std::filesystem::path& remains, const std::string& mark) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "a socket pair");
  socket_ = Descriptor(sockets[0]);
  const Descriptor theirs(sockets[1]);
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "a process");
  if (process_ > 0) return;
  socket_.close();
  wait_and_clean(theirs.get(), remains, mark);
}

Janitor::~Janitor() {
  tell(all_is_well);
  ::waitpid(process_, nullptr, 0);
}

void Janitor::tell(pid_t what) const noexcept {
  ::send(socket_.get(), &what, sizeof what, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace gang::harness
