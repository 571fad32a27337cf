// The frames of a client, from the values that they parse to; and the answers.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/conductor/messages.h"

namespace gang::harness::test {

// As the protocol numbers them.
inline constexpr std::array operation_kinds = {
    OperationKind::all_reduce,     OperationKind::reduce,
    OperationKind::reduce_scatter, OperationKind::all_gather,
    OperationKind::gather,         OperationKind::scatter,
    OperationKind::all_to_all,     OperationKind::broadcast,
    OperationKind::barrier,        OperationKind::monitored_barrier,
    OperationKind::create_gang,    OperationKind::split,
    OperationKind::send,           OperationKind::recv,
    OperationKind::shrink};

inline Frame without_size(FrameWriter& writer) {
  const std::span<const std::byte> whole = writer.finish();
  return {whole.begin() + sizeof(std::uint32_t), whole.end()};
}

inline Frame finished(FrameWriter& writer) {
  const std::span<const std::byte> whole = writer.finish();
  return {whole.begin(), whole.end()};
}

inline void add(FrameWriter& frame, const CallSite& site) {
  frame.text(site.file);
  frame.number(std::uint32_t{site.line});
  frame.text(site.function);
}

inline Frame frame_of(const HelloMessage& message) {
  FrameWriter frame(1);
  frame.number(message.version);
  frame.number(std::int32_t{message.rank});
  frame.number(std::int32_t{message.world_size});
  frame.number(message.process);
  frame.number(message.thread);
  frame.number(std::uint8_t{message.is_watcher});
  frame.text(message.thread_name);
  return finished(frame);
}

inline Frame frame_of(const GroupMessage& message) {
  FrameWriter frame(2);
  frame.number(message.group);
  frame.text(message.name);
  frame.text(message.role);
  frame.numbers(std::span<const std::int32_t>(message.ranks));
  frame.number(std::int64_t{message.timeout ? message.timeout->count() : 0});
  add(frame, message.call_site);
  return finished(frame);
}

inline Frame frame_of(const OperationMessage& message) {
  FrameWriter frame(message.is_blocking ? 4 : 3);
  frame.number(message.id);
  frame.number(message.group);
  frame.number(static_cast<std::uint8_t>(std::ranges::find(operation_kinds, message.kind) -
                                         operation_kinds.begin()));
  frame.number(static_cast<std::uint8_t>(message.type));
  frame.number(static_cast<std::uint8_t>(message.reduce));
  frame.number(static_cast<std::uint8_t>((message.from_any ? 1 : 0) | (message.any_tag ? 2 : 0) |
                                         (message.all_missing ? 4 : 0)));
  frame.number(std::int32_t{message.peer});
  frame.number(std::int32_t{message.tag});
  frame.number(static_cast<std::uint64_t>(message.count));
  frame.number(std::uint64_t{message.result});
  frame.number(message.block);
  frame.numbers(std::span<const std::int64_t>(message.first));
  frame.numbers(std::span<const std::int64_t>(message.second));
  frame.text(message.label);
  add(frame, message.call_site);
  frame.bytes(message.data);
  if (message.is_blocking) frame.number(message.threads);
  return finished(frame);
}

inline Frame frame_of(const WaitMessage& message) {
  FrameWriter frame(message.is_for_any ? 17 : 5);
  frame.numbers(std::span<const std::uint64_t>(message.ids));
  frame.number(message.threads);
  add(frame, message.call_site);
  return finished(frame);
}

inline Frame frame_of(const TestMessage& message) {
  FrameWriter frame(6);
  frame.number(message.id);
  return finished(frame);
}

inline Frame frame_of(const DropMessage& message) {
  FrameWriter frame(7);
  frame.number(message.id);
  add(frame, message.call_site);
  return finished(frame);
}

inline Frame frame_of(const CloseMessage& message) {
  FrameWriter frame(8);
  frame.number(message.group);
  return finished(frame);
}

inline Frame frame_of(const AbortMessage& message) {
  FrameWriter frame(9);
  frame.number(message.group);
  return finished(frame);
}

inline Frame frame_of(const BlockMessage& message) {
  FrameWriter frame(10);
  frame.number(message.block);
  frame.number(message.size);
  return finished(frame);
}

inline Frame frame_of(const StoreMessage& message) {
  FrameWriter frame(11);
  frame.number(static_cast<std::uint8_t>(message.function));
  frame.number(message.number);
  frame.number(static_cast<std::uint32_t>(message.keys.size()));
  for (const std::string& key : message.keys) frame.text(key);
  frame.number(static_cast<std::uint32_t>(message.values.size()));
  for (const auto& value : message.values) frame.bytes(value);
  frame.number(std::int64_t{0});
  frame.number(message.threads);
  add(frame, message.call_site);
  return finished(frame);
}

inline Frame frame_of(const OutputMessage& message) {
  FrameWriter frame(12);
  frame.text(message.name);
  frame.number(static_cast<std::uint8_t>(message.type));
  frame.number(std::uint64_t{message.values.size() / size_bytes(message.type)});
  frame.bytes(message.values);
  return finished(frame);
}

inline Frame frame_of(const FailedMessage& message) {
  FrameWriter frame(13);
  frame.text(message.type);
  frame.text(message.message);
  frame.text(message.traceback);
  add(frame, message.call_site);
  return finished(frame);
}

inline Frame frame_of(const FindingMessage& message) {
  FrameWriter frame(14);
  frame.text(message.id);
  frame.text(message.message);
  frame.numbers(std::span<const std::int32_t>(message.ranks));
  add(frame, message.call_site);
  return finished(frame);
}

inline Frame frame_of(const ByeMessage&) {
  FrameWriter frame(15);
  return finished(frame);
}

inline Frame frame_of(const StackMessage& message) {
  FrameWriter frame(16);
  frame.number(static_cast<std::uint32_t>(message.threads.size()));
  for (const StackMessage::Thread& thread : message.threads) {
    frame.text(thread.name);
    frame.number(static_cast<std::uint32_t>(thread.frames.size()));
    for (const CallSite& site : thread.frames) add(frame, site);
  }
  return finished(frame);
}

// -- Values --

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

template <typename T>
std::vector<T> values_in(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// -- Answers --

struct Result {
  Status status = Status::failed;
  int source = 0;
  int tag = 0;
  std::vector<int> ranks;
  std::string error;
  std::vector<std::byte> data;

  template <typename T>
  std::vector<T> values() const {
    return values_in<T>(data);
  }
};

// The results that a frame `done` holds.
inline std::vector<Result> results_in(const Frame& frame) {
  FrameReader reader(frame);
  reader.number<std::uint8_t>();
  std::vector<Result> results(reader.number<std::uint32_t>());
  for (Result& result : results) {
    result.status = static_cast<Status>(reader.number<std::uint8_t>());
    result.source = reader.number<std::int32_t>();
    result.tag = reader.number<std::int32_t>();
    for (const std::int32_t rank : reader.numbers<std::int32_t>()) result.ranks.push_back(rank);
    result.error = reader.text();
    const std::span<const std::byte> data = reader.bytes();
    result.data.assign(data.begin(), data.end());
  }
  reader.finish();
  return results;
}

struct Stored {
  Status status = Status::failed;
  std::int64_t number = 0;
  std::vector<std::string> values;
  std::string error;
};

inline Stored stored_in(const Frame& frame) {
  FrameReader reader(frame);
  reader.number<std::uint8_t>();
  Stored stored;
  stored.status = static_cast<Status>(reader.number<std::uint8_t>());
  stored.number = reader.number<std::int64_t>();
  for (const auto& value : reader.list_of_bytes())
    stored.values.emplace_back(reinterpret_cast<const char*>(value.data()), value.size());
  stored.error = reader.text();
  reader.finish();
  return stored;
}

}  // namespace gang::harness::test
