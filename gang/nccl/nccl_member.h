// One rank's side of an NCCL gang: its communicator, its stream, and what broke it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gang/error.h"
#include "gang/gang.h"
#include "gang/gang_cause.h"
#include "gang/nccl/nccl_api.h"
#include "gang/runtime.h"

namespace gang {

class NcclDevice;

// Where the memory of tensors is.
enum class NcclTensors : std::uint8_t {
  on_device,  // as NCCL needs it; complete when the call is made, whichever stream wrote it
  on_host,    // copied to the device and back through pinned memory: for programs of any backend
};

struct NcclMemberOptions {
  std::shared_ptr<const GangInfo> info;
  int rank = 0;
  std::string key;  // the same on all members; never that of another gang
  NcclTensors tensors = NcclTensors::on_device;
  StreamPriority priority = StreamPriority::normal;
};

// The first cause breaks the gang and is kept for every later call.
// Threads: any.
class NcclMember {
 public:
  NcclMember(NcclMemberOptions options, std::shared_ptr<NcclDevice> device,
             std::unique_ptr<NcclCommunicator> communicator);
  ~NcclMember();
  NcclMember(const NcclMember&) = delete;
  NcclMember& operator=(const NcclMember&) = delete;

  const std::shared_ptr<const GangInfo>& info() const noexcept { return options_.info; }
  int rank() const noexcept { return options_.rank; }
  int size() const noexcept { return options_.info->size; }
  const std::string& key() const noexcept { return options_.key; }
  const NcclMemberOptions& options() const noexcept { return options_; }
  const std::shared_ptr<NcclDevice>& device() const noexcept { return device_; }

  NcclCommunicator& communicator() const noexcept { return *communicator_; }

  // How often this member has called NCCL to split it. Threads: the gang's.
  std::uint64_t splits() const noexcept { return splits_; }
  void note_split() noexcept { ++splits_; }
  NcclStream& stream() const noexcept { return *stream_; }

  // An element for operations that have none, and room for a second.
  std::byte* token() const noexcept { return token_->data(); }

  bool is_closed(const std::unique_lock<RuntimeMutex>& board_lock) const noexcept;
  bool is_broken(const std::unique_lock<RuntimeMutex>& board_lock) const noexcept;

  // Throws GangError if the gang is broken.
  void require_intact(const NcclPurpose& purpose, TimePoint began) const;

  // Breaks the gang, unless it is already broken, and throws the first cause.
  [[noreturn]] void fail(const NcclPurpose& purpose, TimePoint began, GangCause cause);

  // The error of a call that failed because of `cause`, whatever broke the gang.
  GangError make_error(const NcclPurpose& purpose, TimePoint began, GangCause cause) const;

  // The ranks of the gang that are gone, as far as the cause that broke it shows; ascending.
  std::vector<int> known_to_be_gone() const;

  void break_with(GangCause cause) noexcept;

  // The causes of a wait that took too long, and of an error status of the communicator.
  GangCause timeout_cause(const NcclPurpose& purpose) const;
  GangCause status_cause(NcclStatus status) const;
  GangCause neighbor_cause(const NcclMember& late) const;  // a gang of the same device was late

  // For the device. Whether `cause` is the first, and is kept.
  bool set_cause(const GangCause& cause, const std::unique_lock<RuntimeMutex>& board_lock);
  GangError error_of(const NcclPurpose& purpose, TimePoint began,
                     const std::unique_lock<RuntimeMutex>& board_lock) const;

  // Keeps memory as long as this object exists.
  void keep(std::unique_ptr<NcclBuffer> buffer) { kept_.push_back(std::move(buffer)); }

  // This side leaves: what is under way fails, and the communicator is freed when that is possible.
  void close() noexcept;

 private:
  void leave();

  NcclMemberOptions options_;
  std::shared_ptr<NcclDevice> device_;
  std::unique_ptr<NcclCommunicator> communicator_;
  std::unique_ptr<NcclStream> stream_;
  std::unique_ptr<NcclBuffer> token_;
  std::vector<std::unique_ptr<NcclBuffer>> kept_;
  std::optional<GangCause> cause_;  // under the board's lock
  std::uint64_t splits_ = 0;
  bool is_closed_ = false;
};

}  // namespace gang
