// A Python with PyTorch that evaluates expressions for a test.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace gang {

// Runs GANGSIM_TORCH_PYTHON, a command that runs a Python, or the system's Python.
class PythonProcess {
 public:
  PythonProcess() {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error("cannot make pipes");
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      const char* python = std::getenv("GANGSIM_TORCH_PYTHON");
      if (python == nullptr) python = "/usr/bin/python3";
      // By its own name: as "python3" it would take the packages of the first one on PATH.
      ::execlp(python, python, "-c", program, nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    version_ = read_line();
  }
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;
  ~PythonProcess() {
    ::close(to_);
    ::close(from_);
    ::waitpid(child_, nullptr, 0);
  }

  // Empty if there is no Python with PyTorch.
  const std::string& torch_version() const { return version_; }
  static constexpr const char* how_to_get_it =
      "runs where Python has PyTorch: apt-get install python3-torch, or set GANGSIM_TORCH_PYTHON "
      "to a command that runs such a Python";

  // The repr of the expression, or "raised TYPE".
  std::string evaluate(const std::string& expression) {
    begin(expression);
    return read_line();
  }

  // The same in two steps.
  void begin(const std::string& expression) const {
    const std::string line = expression + "\n";
    if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      throw std::runtime_error("Python has gone");
  }
  std::string read_line() {
    std::size_t end = std::string::npos;
    while ((end = unread_.find('\n')) == std::string::npos) {
      pollfd poll{from_, POLLIN, 0};
      char buffer[4096];
      if (::poll(&poll, 1, 60'000) <= 0) return "(no answer in a minute)";
      const ssize_t size = ::read(from_, buffer, sizeof buffer);
      if (size <= 0) return "";
      unread_.append(buffer, static_cast<std::size_t>(size));
    }
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return line;
  }

 private:
  // `store(host, port, is_master)` makes a TCPStore. Debian's builds lack libuv.
  static constexpr const char* program = R"(
import datetime, json, os, sys, tempfile
import torch, torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import ProcessFailure
seconds = lambda s: datetime.timedelta(seconds=s)
def store(port, is_master):
    args = ("127.0.0.1", port, None, is_master, seconds(10))
    if torch.__version__.startswith("1."):
        return dist.TCPStore(*args, wait_for_workers=False)
    try:
        return dist.TCPStore(*args, wait_for_workers=False, use_libuv=True)
    except RuntimeError:
        return dist.TCPStore(*args, wait_for_workers=False, use_libuv=False)
def failure_told_by(text):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(text)
        file.flush()
        failure = ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file=file.name)
        message = failure.message
        return message["message"] if isinstance(message, dict) else message, failure.timestamp
names = {}
print(torch.__version__, flush=True)
for line in sys.stdin:
    try:
        print(repr(eval(line, globals(), names)), flush=True)
    except Exception as error:
        print("raised", type(error).__name__, flush=True)
)";

  pid_t child_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string unread_;
  std::string version_;
};

}  // namespace gang
