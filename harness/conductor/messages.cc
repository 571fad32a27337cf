#include "harness/conductor/messages.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace gang::harness {
namespace {

constexpr std::array operation_kinds = {
    OperationKind::all_reduce,     OperationKind::reduce,
    OperationKind::reduce_scatter, OperationKind::all_gather,
    OperationKind::gather,         OperationKind::scatter,
    OperationKind::all_to_all,     OperationKind::broadcast,
    OperationKind::barrier,        OperationKind::monitored_barrier,
    OperationKind::create_gang,    OperationKind::split,
    OperationKind::send,           OperationKind::recv,
    OperationKind::shrink};

constexpr std::uint8_t from_any_flag = 1;
constexpr std::uint8_t any_tag_flag = 2;
constexpr std::uint8_t all_missing_flag = 4;

// Element `index` of a table that the protocol numbers.
template <typename Table>
auto entry(const Table& table, std::uint8_t index, const char* what) {
  if (index >= table.size())
    throw ProtocolError(fmt::format("{} is {}; must be 0 to {}", what, index, table.size() - 1));
  return table[index];
}

CallSite call_site(FrameReader& frame, KeptTexts& texts) {
  CallSite site;
  site.file = texts.keep(frame.text());
  site.line = frame.number<std::uint32_t>();
  site.function = texts.keep(frame.text());
  return site;
}

std::int64_t signed_size(std::uint64_t size, const char* what) {
  if (size > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / 16)
    throw ProtocolError(fmt::format("{} is {}, which no memory holds", what, size));
  return static_cast<std::int64_t>(size);
}

HelloMessage hello(FrameReader& frame) {
  HelloMessage message;
  message.version = frame.number<std::uint32_t>();
  message.rank = frame.number<std::int32_t>();
  message.world_size = frame.number<std::int32_t>();
  message.process = frame.number<std::uint32_t>();
  message.thread = frame.number<std::uint32_t>();
  message.is_watcher = entry(std::array{false, true}, frame.number<std::uint8_t>(), "role");
  message.thread_name = frame.text();
  return message;
}

GroupMessage group(FrameReader& frame, KeptTexts& texts) {
  GroupMessage message;
  message.group = frame.number<std::uint32_t>();
  message.name = frame.text();
  message.role = frame.text();
  for (const std::int32_t rank : frame.numbers<std::int32_t>()) message.ranks.push_back(rank);
  if (const auto timeout = frame.number<std::int64_t>(); timeout > 0)
    message.timeout = Duration{timeout};
  message.call_site = call_site(frame, texts);
  return message;
}

OperationMessage operation(FrameReader& frame, KeptTexts& texts, bool is_blocking) {
  OperationMessage message;
  message.is_blocking = is_blocking;
  message.id = frame.number<std::uint64_t>();
  message.group = frame.number<std::uint32_t>();
  message.kind = entry(operation_kinds, frame.number<std::uint8_t>(), "the kind of an operation");
  message.type = entry(all_data_types, frame.number<std::uint8_t>(), "a data type");
  message.reduce = entry(all_reduce_operations, frame.number<std::uint8_t>(), "a reduction");
  const auto flags = frame.number<std::uint8_t>();
  message.from_any = (flags & from_any_flag) != 0;
  message.any_tag = (flags & any_tag_flag) != 0;
  message.all_missing = (flags & all_missing_flag) != 0;
  message.peer = frame.number<std::int32_t>();
  message.tag = frame.number<std::int32_t>();
  message.count = signed_size(frame.number<std::uint64_t>(), "a count");
  message.result = static_cast<std::uint32_t>(frame.number<std::uint64_t>());
  message.block = frame.number<std::uint32_t>();
  message.first = frame.numbers<std::int64_t>();
  message.second = frame.numbers<std::int64_t>();
  message.label = frame.text();
  message.call_site = call_site(frame, texts);
  const std::span<const std::byte> data = frame.bytes();
  message.data.assign(data.begin(), data.end());
  if (is_blocking) message.threads = frame.number<std::uint32_t>();
  return message;
}

void check_alternatives(std::vector<std::uint64_t> ids) {
  if (ids.empty()) throw ProtocolError("wait_any has no operations; must have one or more");
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end())
    throw ProtocolError(fmt::format("wait_any has operation {} twice", *twice));
}

WaitMessage wait(FrameReader& frame, KeptTexts& texts, bool is_for_any) {
  WaitMessage message;
  message.ids = frame.numbers<std::uint64_t>();
  message.is_for_any = is_for_any;
  if (is_for_any) check_alternatives(message.ids);
  message.threads = frame.number<std::uint32_t>();
  message.call_site = call_site(frame, texts);
  return message;
}

StoreMessage store(FrameReader& frame, KeptTexts& texts) {
  constexpr std::array functions = {
      StoreFunction::set,   StoreFunction::get,         StoreFunction::add,
      StoreFunction::wait,  StoreFunction::check,       StoreFunction::erase,
      StoreFunction::count, StoreFunction::compare_set, StoreFunction::append};
  StoreMessage message;
  message.function = entry(functions, frame.number<std::uint8_t>(), "a function of the store");
  message.number = frame.number<std::int64_t>();
  for (const auto& key : frame.list_of_bytes())
    message.keys.emplace_back(reinterpret_cast<const char*>(key.data()), key.size());
  message.values = frame.list_of_bytes();
  frame.number<std::int64_t>();  // a timeout: a wait that cannot end ends with a verdict
  message.threads = frame.number<std::uint32_t>();
  message.call_site = call_site(frame, texts);
  const bool takes_one = message.function != StoreFunction::wait &&
                         message.function != StoreFunction::check &&
                         message.function != StoreFunction::count;
  const std::size_t values =
      message.function == StoreFunction::compare_set                                        ? 2
      : message.function == StoreFunction::set || message.function == StoreFunction::append ? 1
                                                                                            : 0;
  if ((takes_one && message.keys.size() != 1) || message.values.size() != values)
    throw ProtocolError(fmt::format("a request to the store has {} keys and {} values",
                                    message.keys.size(), message.values.size()));
  return message;
}

OutputMessage output(FrameReader& frame) {
  OutputMessage message;
  message.name = frame.text();
  message.type = entry(all_data_types, frame.number<std::uint8_t>(), "a data type");
  const auto count = frame.number<std::uint64_t>();
  const std::span<const std::byte> values = frame.bytes();
  const std::size_t element = size_bytes(message.type);
  if (values.size() % element != 0 || values.size() / element != count)
    throw ProtocolError(fmt::format("an output of {} elements of {} bytes has {} bytes", count,
                                    element, values.size()));
  message.values.assign(values.begin(), values.end());
  return message;
}

FailedMessage failed(FrameReader& frame, KeptTexts& texts) {
  FailedMessage message;
  message.type = frame.text();
  message.message = frame.text();
  message.traceback = frame.text();
  message.call_site = call_site(frame, texts);
  return message;
}

FindingMessage finding(FrameReader& frame, KeptTexts& texts) {
  FindingMessage message;
  message.id = frame.text();
  message.message = frame.text();
  for (const std::int32_t rank : frame.numbers<std::int32_t>()) message.ranks.push_back(rank);
  message.call_site = call_site(frame, texts);
  return message;
}

StackMessage stack(FrameReader& frame, KeptTexts& texts) {
  StackMessage message;
  const auto threads = frame.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < threads; ++i) {
    StackMessage::Thread& thread = message.threads.emplace_back();
    thread.name = frame.text();
    const auto frames = frame.number<std::uint32_t>();
    for (std::uint32_t j = 0; j < frames; ++j) thread.frames.push_back(call_site(frame, texts));
  }
  return message;
}

ClientMessage fields(std::uint8_t kind, FrameReader& frame, KeptTexts& texts) {
  switch (kind) {
    case 1:
      return hello(frame);
    case 2:
      return group(frame, texts);
    case 3:
      return operation(frame, texts, false);
    case 4:
      return operation(frame, texts, true);
    case 5:
      return wait(frame, texts, false);
    case 6:
      return TestMessage{frame.number<std::uint64_t>()};
    case 7: {
      const auto id = frame.number<std::uint64_t>();
      return DropMessage{id, call_site(frame, texts)};
    }
    case 8:
      return CloseMessage{frame.number<std::uint32_t>()};
    case 9:
      return AbortMessage{frame.number<std::uint32_t>()};
    case 10: {
      const auto block = frame.number<std::uint32_t>();
      return BlockMessage{block, frame.number<std::uint64_t>()};
    }
    case 11:
      return store(frame, texts);
    case 12:
      return output(frame);
    case 13:
      return failed(frame, texts);
    case 14:
      return finding(frame, texts);
    case 15:
      return ByeMessage{};
    case 16:
      return stack(frame, texts);
    case 17:
      return wait(frame, texts, true);
    default:
      throw ProtocolError(fmt::format("a frame has kind {}; must be 1 to 17", kind));
  }
}

}  // namespace

ClientMessage parse_message(std::span<const std::byte> frame, KeptTexts& texts) {
  FrameReader reader(frame);
  ClientMessage message = fields(reader.number<std::uint8_t>(), reader, texts);
  reader.finish();
  return message;
}

}  // namespace gang::harness
