#include "harness/conductor/messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "harness/conductor/frame_fields.h"

namespace gang::harness {
namespace {

// As the protocol numbers them.
constexpr std::array operation_kinds = {
    OperationKind::all_reduce,     OperationKind::reduce,
    OperationKind::reduce_scatter, OperationKind::all_gather,
    OperationKind::gather,         OperationKind::scatter,
    OperationKind::all_to_all,     OperationKind::broadcast,
    OperationKind::barrier,        OperationKind::monitored_barrier,
    OperationKind::create_gang,    OperationKind::split,
    OperationKind::send,           OperationKind::recv,
    OperationKind::shrink,         OperationKind::scan,
    OperationKind::exclusive_scan};
constexpr std::array store_functions = {
    StoreFunction::set,   StoreFunction::get,         StoreFunction::add,
    StoreFunction::wait,  StoreFunction::check,       StoreFunction::erase,
    StoreFunction::count, StoreFunction::compare_set, StoreFunction::append};
constexpr std::array statuses = [] {
  using enum Status;
  return std::array{done,       invalid_argument, invalid_operation, not_supported,
                    timeout,    peer_failed,      mismatch,          aborted,
                    connection, corrupt,          run_over,          failed};
}();
constexpr std::array roles = {false, true};

// -- The fields of messages, in their order, to read them or to write them --

// Whether `Message`, which may be const, is a `Kind`.
template <typename Message, typename Kind>
concept Is = std::same_as<std::remove_const_t<Message>, Kind>;

void fields(auto& io, Is<HelloMessage> auto& message) {
  io.template number<std::uint32_t>(message.version);
  io.template number<std::int32_t>(message.rank);
  io.template number<std::int32_t>(message.world_size);
  io.template number<std::uint32_t>(message.process);
  io.template number<std::uint32_t>(message.thread);
  io.entry(roles, message.is_watcher, "role");
  io.text(message.thread_name);
}

void fields(auto& io, Is<GroupMessage> auto& message) {
  io.template number<std::uint32_t>(message.group);
  io.text(message.name);
  io.text(message.role);
  io.numbers(message.ranks);
  io.timeout(message.timeout);
  io.site(message.call_site);
}

void fields(auto& io, Is<OperationMessage> auto& message) {
  io.template number<std::uint64_t>(message.id);
  io.template number<std::uint32_t>(message.group);
  io.entry(operation_kinds, message.kind, "the kind of an operation");
  io.entry(all_data_types, message.type, "a data type");
  io.entry(all_reduce_operations, message.reduce, "a reduction");
  io.flags(message.from_any, message.any_tag, message.all_missing);
  io.template number<std::int32_t>(message.peer);
  io.template number<std::int32_t>(message.tag);
  io.size(message.count, "a count");
  io.template number<std::uint64_t>(message.result);
  io.template number<std::uint32_t>(message.block);
  io.numbers(message.first);
  io.numbers(message.second);
  io.text(message.label);
  io.site(message.call_site);
  io.bytes(message.data);
  if (message.is_blocking) io.numbers(message.threads);
}

void fields(auto& io, Is<WaitMessage> auto& message) {
  io.numbers(message.ids);
  if (!message.is_for_any) io.timeout(message.timeout);
  io.numbers(message.threads);
  io.site(message.call_site);
}

void fields(auto& io, Is<TestMessage> auto& message) {
  io.template number<std::uint64_t>(message.id);
  io.numbers(message.threads);
}

void fields(auto& io, Is<DropMessage> auto& message) {
  io.template number<std::uint64_t>(message.id);
  io.site(message.call_site);
}

void fields(auto& io, Is<CloseMessage> auto& message) {
  io.template number<std::uint32_t>(message.group);
}

void fields(auto& io, Is<AbortMessage> auto& message) {
  io.template number<std::uint32_t>(message.group);
}

void fields(auto& io, Is<BlockMessage> auto& message) {
  io.template number<std::uint32_t>(message.block);
  io.template number<std::uint64_t>(message.size);
}

void fields(auto& io, Is<StoreMessage> auto& message) {
  io.entry(store_functions, message.function, "a function of the store");
  io.template number<std::int64_t>(message.number);
  io.list(message.keys, [&io](auto& key) { io.text(key); });
  io.list(message.values, [&io](auto& value) { io.bytes(value); });
  io.timeout(message.timeout);
  io.numbers(message.threads);
  io.site(message.call_site);
}

void fields(auto& io, Is<OutputMessage> auto& message) {
  io.text(message.name);
  io.entry(all_data_types, message.type, "a data type");
  io.size(message.count, "a count");
  io.bytes(message.values);
}

void fields(auto& io, Is<FailedMessage> auto& message) {
  io.text(message.type);
  io.text(message.message);
  io.text(message.traceback);
  io.site(message.call_site);
}

void fields(auto& io, Is<FindingMessage> auto& message) {
  io.text(message.id);
  io.text(message.message);
  io.numbers(message.ranks);
  io.site(message.call_site);
}

void fields(auto&, Is<ByeMessage> auto&) {}

void fields(auto& io, Is<StackMessage> auto& message) {
  io.list(message.threads, [&io](auto& thread) {
    io.template number<std::uint32_t>(thread.id);
    io.text(thread.name);
    io.list(thread.frames, [&io](auto& frame) { io.site(frame); });
  });
}

void fields(auto& io, Is<NewGroupMessage> auto& message) {
  io.template number<std::uint32_t>(message.init);
  io.text(message.name);
  io.numbers(message.ranks);
  io.site(message.call_site);
}

void fields(auto& io, Is<WelcomeMessage> auto& message) {
  io.template number<std::uint32_t>(message.version);
  io.template number<std::int32_t>(message.world_size);
  io.template number<std::uint64_t>(message.seed);
  io.flags(message.is_stream_ordered);
}

void fields(auto& io, Is<RefusedMessage> auto& message) { io.text(message.reason); }

void fields(auto& io, Is<DoneMessage> auto& message) {
  io.list(message.results, [&io](auto& result) {
    io.entry(statuses, result.status, "a status");
    io.template number<std::int32_t>(result.source);
    io.template number<std::int32_t>(result.tag);
    io.numbers(result.ranks);
    io.text(result.error);
    io.bytes(result.data);
  });
}

void fields(auto& io, Is<TestedMessage> auto& message) { io.flags(message.is_complete); }

void fields(auto& io, Is<StoredMessage> auto& message) {
  io.entry(statuses, message.status, "a status");
  io.template number<std::int64_t>(message.number);
  io.list(message.values, [&io](auto& value) { io.bytes(value); });
  io.text(message.error);
}

void fields(auto&, Is<AskStackMessage> auto&) {}

void fields(auto& io, Is<FirstMessage> auto& message) {
  io.template number<std::uint32_t>(message.index);
}

void fields(auto& io, Is<OverMessage> auto& message) {
  io.entry(statuses, message.status, "a status");
  io.text(message.error);
}

// What fields alone cannot say.

void check(const auto&) {}

void check(const StoreMessage& message) {
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
}

void check(const WaitMessage& message) {
  if (!message.is_for_any) return;
  if (message.ids.empty()) throw ProtocolError("wait_any has no operations; must have one or more");
  std::vector<std::uint64_t> ids = message.ids;
  std::ranges::sort(ids);
  if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end())
    throw ProtocolError(fmt::format("wait_any has operation {} twice", *twice));
}

void check(const OutputMessage& message) {
  const std::size_t element = size_bytes(message.type);
  if (message.values.size() % element != 0 ||
      message.values.size() / element != static_cast<std::uint64_t>(message.count))
    throw ProtocolError(fmt::format("an output of {} elements of {} bytes has {} bytes",
                                    message.count, element, message.values.size()));
}

// -- Kinds --

// The kinds of a client's frames are the alternatives in their order, from 1, except that an
// operation has two: 3, and 4 if it is blocking; so has a wait: 5, and the last one if it is for
// any.
constexpr std::size_t operation_index = 2;
constexpr std::size_t wait_index = 3;
constexpr std::size_t wait_any_kind = std::variant_size_v<ClientMessage> + 2;

std::uint8_t kind_of(const ClientMessage& message) {
  const std::size_t index = message.index();
  const auto* const wait = std::get_if<WaitMessage>(&message);
  if (wait != nullptr && wait->is_for_any) return wait_any_kind;
  const auto* const operation = std::get_if<OperationMessage>(&message);
  const bool is_second = operation != nullptr ? operation->is_blocking : index > operation_index;
  return static_cast<std::uint8_t>(index + (is_second ? 2 : 1));
}

std::uint8_t kind_of(const ServerMessage& message) {
  return static_cast<std::uint8_t>(128 + message.index());
}

// Alternative `index`, with its fields still to be read.
template <typename Message, std::size_t... Index>
Message alternative(std::size_t index, std::index_sequence<Index...>) {
  Message message;
  static_cast<void>(((Index == index && (message.template emplace<Index>(), true)) || ...));
  return message;
}

template <typename Message>
Message alternative(std::size_t index) {
  return alternative<Message>(index, std::make_index_sequence<std::variant_size_v<Message>>());
}

template <typename Message>
Message read(FrameReader& frame, Message message, KeptTexts* texts) {
  Reading io(frame, texts);
  std::visit(
      [&io](auto& known) {
        fields(io, known);
        check(std::as_const(known));
      },
      message);
  frame.finish();
  return message;
}

template <typename Message>
Frame written(const Message& message) {
  FrameWriter frame(kind_of(message));
  Writing io(frame);
  std::visit([&io](const auto& known) { fields(io, known); }, message);
  return frame.finish();
}

}  // namespace

Frame frame_of(const ClientMessage& message) { return written(message); }

Frame frame_of(const ServerMessage& message) { return written(message); }

ClientMessage parse_message(std::span<const std::byte> frame, KeptTexts& texts) {
  constexpr std::size_t most = wait_any_kind;
  FrameReader reader(frame);
  const std::size_t kind = reader.number<std::uint8_t>();
  if (kind < 1 || kind > most)
    throw ProtocolError(fmt::format("a frame has kind {}; must be 1 to {}", kind, most));
  auto message = alternative<ClientMessage>(kind == wait_any_kind         ? wait_index
                                            : kind <= operation_index + 1 ? kind - 1
                                                                          : kind - 2);
  if (auto* const operation = std::get_if<OperationMessage>(&message))
    operation->is_blocking = kind == operation_index + 2;
  if (auto* const wait = std::get_if<WaitMessage>(&message))
    wait->is_for_any = kind == wait_any_kind;
  return read(reader, std::move(message), &texts);
}

ServerMessage parse_server_message(std::span<const std::byte> frame) {
  constexpr std::size_t first = 128;
  constexpr std::size_t count = std::variant_size_v<ServerMessage>;
  FrameReader reader(frame);
  const std::size_t kind = reader.number<std::uint8_t>();
  if (kind < first || kind >= first + count)
    throw ProtocolError(
        fmt::format("a frame has kind {}; must be {} to {}", kind, first, first + count - 1));
  return read(reader, alternative<ServerMessage>(kind - first), nullptr);
}

}  // namespace gang::harness
