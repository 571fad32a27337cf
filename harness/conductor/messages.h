// What a rank's process says, as values (PROTOCOL.md).
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/call_site.h"
#include "gang/data_type.h"
#include "gang/duration.h"
#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "harness/conductor/frame.h"

namespace gang::harness {

inline constexpr std::uint32_t protocol_version = 5;

// Keeps texts of call sites for as long as reports may name them. Equal texts are kept once.
class KeptTexts {
 public:
  const char* keep(std::string_view text) {
    const auto known = texts_.find(text);
    return (known != texts_.end() ? known : texts_.emplace(text).first)->c_str();
  }

 private:
  std::set<std::string, std::less<>> texts_;
};

struct HelloMessage {
  std::uint32_t version = 0;
  int rank = 0;
  int world_size = 0;
  std::uint32_t process = 0;  // its id
  std::uint32_t thread = 0;   // likewise
  bool is_watcher = false;
  std::string thread_name;
};

struct GroupMessage {
  std::uint32_t group = 0;
  std::string name;
  std::string role;  // what reports call it; empty: its name
  std::vector<int> ranks;
  std::optional<Duration> timeout;
  CallSite call_site;
};

// A call on a group.
struct OperationMessage {
  std::uint64_t id = 0;
  bool is_blocking = false;
  std::uint32_t group = 0;
  OperationKind kind = OperationKind::barrier;
  DataType type = DataType::u8;
  ReduceOperation reduce = ReduceOperation::sum;
  bool from_any = false;
  bool any_tag = false;
  bool all_missing = false;
  int peer = 0;
  int tag = 0;
  std::int64_t count = 0;
  std::uint32_t result = 0;
  std::uint32_t block = 0;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::string label;
  CallSite call_site;
  std::vector<std::byte> data;
  // If it is blocking: the native ids of threads of the process that have never called; 0 stands
  // for those that it has started since its last call, and that may have ended.
  std::vector<std::uint32_t> threads;
};

struct WaitMessage {
  std::vector<std::uint64_t> ids;
  bool is_for_any = false;               // one of them suffices: at least one, and all different
  std::optional<Duration> timeout = {};  // of a wait for all; none: as long as it takes
  std::vector<std::uint32_t> threads;
  CallSite call_site;
};

struct TestMessage {
  std::uint64_t id = 0;
  std::vector<std::uint32_t> threads;
};

struct DropMessage {
  std::uint64_t id = 0;
  CallSite call_site;
};

struct CloseMessage {
  std::uint32_t group = 0;
};

struct AbortMessage {
  std::uint32_t group = 0;
};

struct BlockMessage {
  std::uint32_t block = 0;
  std::uint64_t size = 0;
};

enum class StoreFunction : std::uint8_t {
  set,
  get,
  add,
  wait,
  check,
  erase,
  count,
  compare_set,
  append
};

struct StoreMessage {
  StoreFunction function = StoreFunction::set;
  std::int64_t number = 0;
  std::vector<std::string> keys;
  std::vector<std::vector<std::byte>> values;
  std::optional<Duration> timeout;
  std::vector<std::uint32_t> threads;
  CallSite call_site;
};

struct OutputMessage {
  std::string name;
  DataType type = DataType::u8;
  std::int64_t count = 0;
  std::vector<std::byte> values;
};

// An exception is about to end the process. "SystemExit" without a message: in good order.
struct FailedMessage {
  std::string type;
  std::string message;
  std::string traceback;
  CallSite call_site;
};

struct FindingMessage {
  std::string id;
  std::string message;
  std::vector<int> ranks;
  CallSite call_site;
};

struct ByeMessage {};

// Where threads of a process are, innermost frame first.
struct StackMessage {
  struct Thread {
    std::uint32_t id = 0;  // as in HelloMessage; 0: not known
    std::string name;
    std::vector<CallSite> frames;
  };
  std::vector<Thread> threads;
};

// The program makes a group of these ranks.
struct NewGroupMessage {
  std::uint32_t init = 0;  // how often the process has initialized its groups
  std::string name;        // the same on all ranks that make the same group
  std::vector<int> ranks;
  CallSite call_site;
};

using ClientMessage =
    std::variant<HelloMessage, GroupMessage, OperationMessage, WaitMessage, TestMessage,
                 DropMessage, CloseMessage, AbortMessage, BlockMessage, StoreMessage, OutputMessage,
                 FailedMessage, FindingMessage, ByeMessage, StackMessage, NewGroupMessage>;

// How an operation ended.
enum class Status : std::uint8_t {
  done,
  invalid_argument,
  invalid_operation,
  not_supported,
  timeout,
  peer_failed,
  mismatch,
  aborted,
  connection,
  corrupt,
  run_over,
  failed
};

struct WelcomeMessage {
  std::uint32_t version = protocol_version;
  int world_size = 0;
  std::uint64_t seed = 0;
  bool is_stream_ordered = false;
};

struct RefusedMessage {
  std::string reason;
};

// What one operation came to.
struct OperationResult {
  Status status = Status::done;
  int source = 0;
  int tag = 0;
  std::vector<int> ranks;  // of the gang that was made
  std::string error;
  std::vector<std::byte> data;

  // The data as elements.
  template <typename T>
  std::vector<T> values() const {
    std::vector<T> values(data.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), data.data(), values.size() * sizeof(T));
    return values;
  }
};

struct DoneMessage {
  std::vector<OperationResult> results;
};

// Also the answer to a wait whose time has passed first.
struct TestedMessage {
  bool is_complete = false;
};

struct StoredMessage {
  Status status = Status::done;
  std::int64_t number = 0;
  std::vector<std::vector<std::byte>> values;
  std::string error;
};

struct AskStackMessage {};

struct OverMessage {
  Status status = Status::run_over;
  std::string error;
};

// Which one of a wait for any has ended.
struct FirstMessage {
  std::uint32_t index = 0;
};

using ServerMessage = std::variant<WelcomeMessage, RefusedMessage, DoneMessage, TestedMessage,
                                   StoredMessage, AskStackMessage, OverMessage, FirstMessage>;

// The whole frame of a message, with its size.
Frame frame_of(const ClientMessage& message);
Frame frame_of(const ServerMessage& message);

// Of a frame without its size. Throw ProtocolError, which says what is wrong with the frame.
ClientMessage parse_message(std::span<const std::byte> frame, KeptTexts& texts);
ServerMessage parse_server_message(std::span<const std::byte> frame);

}  // namespace gang::harness
