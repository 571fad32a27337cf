// What a rank's process says, as values (PROTOCOL.md).
#pragma once

#include <cstdint>
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

inline constexpr std::uint32_t protocol_version = 1;

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
  std::uint32_t threads = 0;  // if it is blocking
};

struct WaitMessage {
  std::vector<std::uint64_t> ids;
  bool is_for_any = false;  // one of them suffices: at least one, and all different
  std::uint32_t threads = 0;
  CallSite call_site;
};

struct TestMessage {
  std::uint64_t id = 0;
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
  std::uint32_t threads = 0;
  CallSite call_site;
};

struct OutputMessage {
  std::string name;
  DataType type = DataType::u8;
  std::vector<std::byte> values;
};

// An exception is about to end the process.
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
    std::string name;
    std::vector<CallSite> frames;
  };
  std::vector<Thread> threads;
};

using ClientMessage =
    std::variant<HelloMessage, GroupMessage, OperationMessage, WaitMessage, TestMessage,
                 DropMessage, CloseMessage, AbortMessage, BlockMessage, StoreMessage, OutputMessage,
                 FailedMessage, FindingMessage, ByeMessage, StackMessage>;

// Throws ProtocolError, which says what is wrong with the frame.
ClientMessage parse_message(std::span<const std::byte> frame, KeptTexts& texts);

// What the conductor says: the kinds of its frames.
enum class ServerKind : std::uint8_t {
  welcome = 128,
  refused,
  done,
  tested,
  stored,
  ask_stack,
  over,
  first
};

// How an operation ended, in `done`, `stored` and `over`.
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

}  // namespace gang::harness
