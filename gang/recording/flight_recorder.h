// The calls of a real process, written down when something goes wrong.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gang/gang.h"
#include "gang/recording/call_ring.h"
#include "gang/recording/dump_signal.h"
#include "gang/runtime.h"

namespace gang {

struct FlightRecorderOptions {
  std::string folder;  // of the dumps, which have the names that PyTorch's have; made if need be
  int rank = 0;        // of the root gang
  std::size_t capacity = 2000;  // calls that are kept
  bool is_in_stream = false;    // DumpedCall::is_in_stream
};

// A ring that writes itself as "nccl_trace_rank_3" into its folder: when a gang breaks, when a call
// has not ended within its timeout, on SIGUSR1 even if the program is stuck, and when it goes, with
// the last of its gangs. A later dump replaces an earlier one. A dump that cannot be written later
// on is a line on standard error.
//
// Threads: those of Gang; and one of its own, which sleeps.
class FlightRecorder final : public CallRing {
 public:
  // Throws InvalidArgument: the folder cannot be made.
  explicit FlightRecorder(const FlightRecorderOptions& options);
  ~FlightRecorder() override;

  void gang_broke() noexcept override { write(ProgramEnd::none); }

  const std::string& path() const noexcept { return path_; }

 private:
  FlightRecorder(const FlightRecorderOptions& options, std::shared_ptr<Runtime> runtime);

  void watch();
  void write(ProgramEnd end) noexcept;

  std::shared_ptr<Runtime> runtime_;
  std::string path_;
  std::mutex writing_;
  DumpSignal signal_;
  int exceptions_;  // that were under way when it was made
  std::atomic<bool> ends_ = false;
  std::thread watcher_;  // the last: it uses the others
};

// Makes the folder for dumps, if need be. Throws InvalidArgument if dumps cannot be written there.
void prepare_dump_folder(const std::string& folder);

// `root`, recorded with all gangs made from it.
std::shared_ptr<Gang> make_recorded(std::shared_ptr<Gang> root,
                                    const FlightRecorderOptions& options);

}  // namespace gang
