#include "gang/recording/flight_recorder.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/recording/dump_writer.h"
#include "gang/recording/recording_gang.h"

namespace gang {
namespace {

// From the runtime's clock to the one that hosts share.
Duration offset_of(const Runtime& runtime) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<Duration>(now) - Duration(runtime.now().count());
}

std::string prepared_path(const FlightRecorderOptions& options) {
  prepare_dump_folder(options.folder);
  return (std::filesystem::path(options.folder) / fmt::format("nccl_trace_rank_{}", options.rank))
      .string();
}

void replace_file(const std::string& path, const std::string& bytes) {
  const std::string part = fmt::format("{}.{}.part", path, ::getpid());
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) throw std::runtime_error("writing failed");
  std::filesystem::rename(part, path);
}

}  // namespace

void prepare_dump_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || ::access(folder.c_str(), W_OK) != 0)
    throw InvalidArgument(fmt::format("flight recorder: cannot write to folder {}{}", folder,
                                      error ? ": " + error.message() : ""));
}

FlightRecorder::FlightRecorder(const FlightRecorderOptions& options)
    : FlightRecorder(options, make_real_runtime()) {}

FlightRecorder::FlightRecorder(const FlightRecorderOptions& options,
                               std::shared_ptr<Runtime> runtime)
    : CallRing({.rank = options.rank,
                .capacity = options.capacity,
                .is_in_stream = options.is_in_stream,
                .runtime = runtime.get(),
                .clock_offset = offset_of(*runtime)}),
      runtime_(std::move(runtime)),
      path_(prepared_path(options)),
      exceptions_(std::uncaught_exceptions()),
      watcher_([this] { watch(); }) {}

FlightRecorder::~FlightRecorder() {
  ends_ = true;
  signal_.raise();
  watcher_.join();
  write(std::uncaught_exceptions() > exceptions_ ? ProgramEnd::failed : ProgramEnd::returned);
}

// Written once for each call that is overdue.
void FlightRecorder::watch() {
  constexpr int milliseconds = 500;
  std::uint64_t known = 0;
  while (true) {
    ::pollfd asked{.fd = signal_.descriptor(), .events = POLLIN, .revents = 0};
    const bool is_asked = ::poll(&asked, 1, milliseconds) > 0;
    if (ends_) return;
    if (is_asked) {
      std::uint64_t times = 0;
      [[maybe_unused]] const auto read = ::read(signal_.descriptor(), &times, sizeof times);
    }
    const std::uint64_t overdue = last_overdue();
    if (is_asked || overdue > known) write(ProgramEnd::none);
    known = std::max(known, overdue);
  }
}

void FlightRecorder::write(ProgramEnd end) noexcept {
  const std::lock_guard lock(writing_);
  try {
    CallTable calls;
    const Dump dump = this->dump(calls, end);
    replace_file(path_, to_pickle(dump, calls));
  } catch (const std::exception& error) {
    std::cerr << "gangsim: dump " << path_ << " cannot be written: " << error.what() << '\n';
  }
}

std::shared_ptr<Gang> make_recorded(std::shared_ptr<Gang> root,
                                    const FlightRecorderOptions& options) {
  return std::make_shared<RecordingGang>(std::move(root),
                                         std::make_shared<FlightRecorder>(options));
}

}  // namespace gang
