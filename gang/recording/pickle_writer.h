// Writes Python's pickle format, protocol 2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gang {

// Values one after the other; those of a map, list or tuple stand between begin_ and end_.
// Source: CPython, Lib/pickletools.py.
class PickleWriter {
 public:
  PickleWriter() : bytes_("\x80\x02") {}

  void none() { bytes_ += 'N'; }
  void flag(bool value) { bytes_ += value ? '\x88' : '\x89'; }
  void number(std::int64_t value);
  void text(std::string_view value);

  void begin_map() { bytes_ += "}("; }
  void end_map() { bytes_ += 'u'; }
  void begin_list() { bytes_ += "]("; }
  void end_list() { bytes_ += 'e'; }
  void begin_tuple() { bytes_ += '('; }
  void end_tuple() { bytes_ += 't'; }

  std::string take() { return std::move(bytes_) + '.'; }

 private:
  void append_number(std::uint64_t value, int bytes);

  std::string bytes_;
};

}  // namespace gang
