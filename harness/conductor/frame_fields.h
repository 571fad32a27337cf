// Two ways through the fields of a message: what describes them once both reads and writes them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gang/call_site.h"
#include "gang/duration.h"
#include "harness/conductor/frame.h"
#include "harness/conductor/messages.h"

namespace gang::harness {

class Reading {
 public:
  // `texts`: null for messages without call sites.
  Reading(FrameReader& frame, KeptTexts* texts) : frame_(frame), texts_(texts) {}

  template <std::integral Wire, typename Value>
  void number(Value& value) {
    value = static_cast<Value>(frame_.number<Wire>());
  }
  // Of elements.
  void size(std::int64_t& value, const char* what) {
    const auto size = frame_.number<std::uint64_t>();
    if (size > std::uint64_t{std::numeric_limits<std::int64_t>::max()} / 16)
      throw ProtocolError(fmt::format("{} is {}, more than any memory holds", what, size));
    value = static_cast<std::int64_t>(size);
  }
  // An element of a table that the protocol numbers.
  template <typename Table, typename Value>
  void entry(const Table& table, Value& value, const char* what) {
    const auto index = frame_.number<std::uint8_t>();
    if (index >= table.size())
      throw ProtocolError(fmt::format("{} is {}; must be 0 to {}", what, index, table.size() - 1));
    value = table[index];
  }
  // The lowest bit first.
  template <typename... Flags>
  void flags(Flags&... flags) {
    auto bits = frame_.number<std::uint8_t>();
    ((flags = (bits & 1U) != 0, bits = static_cast<std::uint8_t>(bits >> 1U)), ...);
  }
  void timeout(std::optional<Duration>& value) {
    if (const auto timeout = frame_.number<std::int64_t>(); timeout > 0) value = Duration{timeout};
  }
  void text(std::string& value) { value = frame_.text(); }
  void bytes(std::vector<std::byte>& value) {
    const std::span<const std::byte> bytes = frame_.bytes();
    value.assign(bytes.begin(), bytes.end());
  }
  void site(CallSite& site) {
    std::string texts(frame_.text());
    const auto line = frame_.number<std::uint32_t>();
    texts += '\0';
    texts += frame_.text();
    site = CallSite::in_function(texts_->keep(texts), line);
  }
  template <std::integral Value>
  void numbers(std::vector<Value>& values) {
    values = frame_.numbers<Value>();
  }
  template <typename Value, typename Each>
  void list(std::vector<Value>& values, const Each& each) {
    for (auto count = frame_.number<std::uint32_t>(); count > 0; --count)
      each(values.emplace_back());
  }

 private:
  FrameReader& frame_;
  KeptTexts* texts_;
};

class Writing {
 public:
  explicit Writing(FrameWriter& frame) : frame_(frame) {}

  template <std::integral Wire, typename Value>
  void number(Value value) {
    frame_.number(static_cast<Wire>(value));
  }
  void size(std::int64_t value, const char*) { frame_.number(static_cast<std::uint64_t>(value)); }
  template <typename Table, typename Value>
  void entry(const Table& table, Value value, const char*) {
    frame_.number(static_cast<std::uint8_t>(std::ranges::find(table, value) - table.begin()));
  }
  template <typename... Flags>
  void flags(Flags... flags) {
    unsigned bits = 0;
    unsigned bit = 1;
    ((bits |= flags ? bit : 0U, bit <<= 1U), ...);
    frame_.number(static_cast<std::uint8_t>(bits));
  }
  void timeout(const std::optional<Duration>& value) {
    frame_.number(std::int64_t{value ? value->count() : 0});
  }
  void text(const std::string& value) { frame_.text(value); }
  void bytes(const std::vector<std::byte>& value) { frame_.bytes(value); }
  void site(const CallSite& site) {
    frame_.text(site.file());
    frame_.number(std::uint32_t{site.line()});
    frame_.text(site.function());
  }
  template <std::integral Value>
  void numbers(const std::vector<Value>& values) {
    frame_.numbers(std::span<const Value>(values));
  }
  template <typename Value, typename Each>
  void list(const std::vector<Value>& values, const Each& each) {
    frame_.number(static_cast<std::uint32_t>(values.size()));
    for (const Value& value : values) each(value);
  }

 private:
  FrameWriter& frame_;
};

}  // namespace gang::harness
