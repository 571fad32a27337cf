#include "harness/conductor/plain_run.h"

#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "gang/environment.h"
#include "harness/conductor/messages.h"
#include "harness/conductor/rank_process.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

// A port that nobody listened on a moment ago.
int free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), any, size) != 0 || ::getsockname(socket.get(), any, &size) != 0)
    throw std::system_error(errno, std::generic_category(), "a free port");
  return ntohs(address.sin_port);
}

class OutputFolder {
 public:
  OutputFolder() {
    std::string path = (fs::temp_directory_path() / "gangsim-outputs-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "a folder for outputs");
    path_ = path;
  }
  ~OutputFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::vector<Output> read_outputs(const std::string& path) {
  std::vector<Output> outputs;
  if (!fs::exists(path)) return outputs;
  const std::string bytes = read_file("outputs", path);
  std::span<const std::byte> left = std::as_bytes(std::span(bytes));
  KeptTexts texts;
  while (!left.empty()) {
    std::uint32_t size = 0;
    if (left.size() >= sizeof size) std::memcpy(&size, left.data(), sizeof size);
    if (size == 0 || left.size() - sizeof size < size)
      throw ProtocolError(fmt::format("{} ends in the middle of a frame", path));
    ClientMessage message = parse_message(left.subspan(sizeof size, size), texts);
    left = left.subspan(sizeof size + size);
    auto* const output = std::get_if<OutputMessage>(&message);
    if (output == nullptr) throw ProtocolError(fmt::format("{} holds more than outputs", path));
    outputs.push_back(
        {std::move(output->name), output->type, output->count, std::move(output->values)});
  }
  return outputs;
}

PlainRun run_plainly(Poller& poller, PythonProgram program, int world_size, RankOutput& output) {
  const OutputFolder folder;
  std::map<pid_t, RankProcess> processes;
  std::size_t running = static_cast<std::size_t>(world_size);
  PlainRun run;
  const RankLauncher::Events events{
      .started = [&](int rank, pid_t process) { processes[process].rank = rank; },
      .ended =
          [&](pid_t id, int status) {
            RankProcess& process = processes[id];
            process.wait_status = status;
            --running;
            if (const auto death = death_of(process); death && run.failure.empty())
              run.failure = fmt::format("rank {} {}", process.rank, death->full_text());
          }};
  const std::string port = std::to_string(free_port());
  std::string path = program.packages;
  const EnvironmentVariables variables = process_environment();
  if (const auto own = variables.find("PYTHONPATH"); own != variables.end())
    path += ":" + own->second;
  program.is_plain = true;
  SpawnLauncher launcher(poller, program,
                         {{"PYTHONPATH", path},
                          {"GANGSIM_OUTPUTS", folder.path().string()},
                          {"WORLD_SIZE", std::to_string(world_size)},
                          {"LOCAL_WORLD_SIZE", std::to_string(world_size)},
                          {"MASTER_ADDR", "127.0.0.1"},
                          {"MASTER_PORT", port}},
                         events);
  for (int rank = 0; rank < world_size; ++rank)
    launcher.launch(rank, {{"RANK", std::to_string(rank)}, {"LOCAL_RANK", std::to_string(rank)}},
                    output.open(rank));
  while (running > 0 && run.failure.empty()) poller.poll(std::chrono::milliseconds(100));
  for (int rank = 0; rank < world_size; ++rank)
    run.outputs.by_rank.push_back(read_outputs((folder.path() / std::to_string(rank)).string()));
  return run;
}

}  // namespace gang::harness
