#include "harness/recording/pickle_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "harness/recording/dump_error.h"

namespace gang::harness {
namespace {

using Value = ValueTree::Value;

struct Opcode {
  char code;
  std::string_view name;
};

// They import a name, call it, or let the file choose what is made.
constexpr std::array executing = {
    Opcode{'c', "GLOBAL"},    Opcode{'\x93', "STACK_GLOBAL"},
    Opcode{'R', "REDUCE"},    Opcode{'b', "BUILD"},
    Opcode{'i', "INST"},      Opcode{'o', "OBJ"},
    Opcode{'\x81', "NEWOBJ"}, Opcode{'\x92', "NEWOBJ_EX"},
    Opcode{'\x82', "EXT1"},   Opcode{'\x83', "EXT2"},
    Opcode{'\x84', "EXT4"},   Opcode{'P', "PERSID"},
    Opcode{'Q', "BINPERSID"},
};

// They are harmless, and no dump has them.
constexpr std::array unused = {
    Opcode{'0', "POP"},
    Opcode{'1', "POP_MARK"},
    Opcode{'2', "DUP"},
    Opcode{'F', "FLOAT"},
    Opcode{'I', "INT"},
    Opcode{'L', "LONG"},
    Opcode{'S', "STRING"},
    Opcode{'T', "BINSTRING"},
    Opcode{'U', "SHORT_BINSTRING"},
    Opcode{'V', "UNICODE"},
    Opcode{'d', "DICT"},
    Opcode{'l', "LIST"},
    Opcode{'g', "GET"},
    Opcode{'p', "PUT"},
    Opcode{'\x8b', "LONG4"},
    Opcode{'B', "BINBYTES"},
    Opcode{'C', "SHORT_BINBYTES"},
    Opcode{'\x8e', "BINBYTES8"},
    Opcode{'\x8f', "EMPTY_SET"},
    Opcode{'\x90', "ADDITEMS"},
    Opcode{'\x91', "FROZENSET"},
    Opcode{'\x96', "BYTEARRAY8"},
    Opcode{'\x97', "NEXT_BUFFER"},
    Opcode{'\x98', "READONLY_BUFFER"},
};

template <std::size_t count>
const Opcode* find_in(const std::array<Opcode, count>& opcodes, char code) {
  const auto place = std::ranges::find(opcodes, code, &Opcode::code);
  return place == opcodes.end() ? nullptr : &*place;
}

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  ValueTree run() {
    if (!looks_like_pickle(bytes_)) throw InvalidArgument("not a pickle of protocol 2 or later");
    while (!is_over_) step();
    return std::move(tree_);
  }

 private:
  void step();
  bool push_constant(char code);
  bool push_number(char code);
  bool push_text(char code);
  bool build(char code);
  bool remember(char code);
  [[noreturn]] void refuse(char code) const;
  [[noreturn]] void fail(std::string_view problem) const;

  std::string_view take(std::size_t size, std::string_view what) {
    if (size > bytes_.size() - at_)
      throw CutOffDump(fmt::format("it is cut off at byte {}: {} at byte {} needs {} bytes more",
                                   bytes_.size(), what, opcode_at_, size - (bytes_.size() - at_)));
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  // Little-endian, as everything in a pickle except BINFLOAT.
  std::uint64_t take_number(std::size_t size) {
    const std::string_view bytes = take(size, "a number");
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return number;
  }

  // Signed, of up to eight bytes.
  std::int64_t take_signed(std::size_t size) {
    if (size == 0) return 0;
    const int unused_bits = static_cast<int>(64 - 8 * size);
    return static_cast<std::int64_t>(take_number(size) << unused_bits) >> unused_bits;
  }

  void push(const Value& value) {
    if (stack_.size() == ValueTree::most_values) fail("is one value too many");
    stack_.push_back(value);
  }

  // The stack above which the values of the opcode begin: `count` of them, or those of the mark.
  std::size_t top(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() < floor + count) fail("finds too few values");
    return stack_.size() - count;
  }
  std::size_t take_mark() {
    if (marks_.empty()) fail("finds no MARK");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  void make_list(std::size_t begin) {
    const ValueTree::Container list = tree_.add_container(false);
    tree_.append(list, std::span(stack_).subspan(begin));
    stack_.resize(begin);
    push(list);
  }

  // Adds the values from `begin` on to the container below them.
  void add_to_container(std::size_t begin, bool is_map) {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (begin <= floor) fail("finds nothing to add to");
    const auto* container = std::get_if<ValueTree::Container>(&stack_[begin - 1]);
    if (container == nullptr || container->is_map != is_map)
      fail(is_map ? "finds no map to add to" : "finds no list to add to");
    const std::span<const Value> values = std::span(stack_).subspan(begin);
    if (is_map && values.size() % 2 != 0) fail("finds a key without a value");
    tree_.append(*container, values);
    stack_.resize(begin);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t opcode_at_ = 0;
  ValueTree tree_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Value> memo_;                                // of small numbers, as they come
  std::unordered_map<std::uint64_t, Value> distant_memo_;  // of numbers that leave gaps
  bool is_over_ = false;
};

void Machine::fail(std::string_view problem) const {
  throw InvalidArgument(fmt::format("byte {} is wrong: the opcode there {}", opcode_at_, problem));
}

void Machine::refuse(char code) const {
  const auto printable = code > ' ' && code < '\x7f'
                             ? fmt::format("'{}'", code)
                             : fmt::format("0x{:02x}", static_cast<unsigned char>(code));
  if (const Opcode* opcode = find_in(executing, code))
    throw InvalidArgument(fmt::format("opcode {} ({}) at byte {} would run code; nothing was run",
                                      opcode->name, printable, opcode_at_));
  if (const Opcode* opcode = find_in(unused, code))
    throw InvalidArgument(fmt::format("opcode {} ({}) at byte {} is not one that dumps use",
                                      opcode->name, printable, opcode_at_));
  throw InvalidArgument(
      fmt::format("byte {} is {}, which is not an opcode", opcode_at_, printable));
}

void Machine::step() {
  opcode_at_ = at_;
  const char code = take(1, "an opcode").front();
  if (push_text(code) || remember(code) || build(code) || push_number(code) || push_constant(code))
    return;
  if (code != '.') refuse(code);
  if (stack_.size() != 1 || !marks_.empty()) fail("ends the pickle with values left over");
  tree_.set_root(stack_.front());
  is_over_ = true;
}

bool Machine::push_constant(char code) {
  switch (code) {
    case '\x80':  // PROTO
      take(1, "PROTO");
      return true;
    case '\x95':  // FRAME
      take(8, "FRAME");
      return true;
    case 'N':
      push(std::monostate{});
      return true;
    case '\x88':
      push(true);
      return true;
    case '\x89':
      push(false);
      return true;
    default:
      return false;
  }
}

bool Machine::push_number(char code) {
  switch (code) {
    case 'K':  // BININT1
      push(static_cast<std::int64_t>(take_number(1)));
      return true;
    case 'M':  // BININT2
      push(static_cast<std::int64_t>(take_number(2)));
      return true;
    case 'J':  // BININT
      push(take_signed(4));
      return true;
    case '\x8a': {  // LONG1
      const std::size_t size = take_number(1);
      if (size > 8) fail(fmt::format("has an integer of {} bytes; must be 8 or fewer", size));
      push(take_signed(size));
      return true;
    }
    case 'G': {  // BINFLOAT, big-endian
      std::uint64_t bits = 0;
      for (const char byte : take(8, "BINFLOAT"))
        bits = bits << 8 | static_cast<unsigned char>(byte);
      push(std::bit_cast<double>(bits));
      return true;
    }
    default:
      return false;
  }
}

bool Machine::push_text(char code) {
  std::size_t length_bytes = 0;
  switch (code) {
    case '\x8c':  // SHORT_BINUNICODE
      length_bytes = 1;
      break;
    case 'X':  // BINUNICODE
      length_bytes = 4;
      break;
    case '\x8d':  // BINUNICODE8
      length_bytes = 8;
      break;
    default:
      return false;
  }
  const std::uint64_t length = take_number(length_bytes);
  push(take(length, "a text"));
  return true;
}

bool Machine::remember(char code) {
  const auto put = [this](std::uint64_t place) {
    const Value& value = stack_[top(1)];
    if (memo_.size() + distant_memo_.size() == ValueTree::most_values) fail("remembers too much");
    if (place < memo_.size())
      memo_[place] = value;
    else if (place == memo_.size())
      memo_.push_back(value);
    else
      distant_memo_[place] = value;
  };
  const auto get = [this](std::uint64_t place) {
    if (place < memo_.size()) return push(memo_[place]);
    const auto known = distant_memo_.find(place);
    if (known == distant_memo_.end())
      fail(fmt::format("recalls value {}, which is unknown", place));
    push(known->second);
  };
  switch (code) {
    case 'q':  // BINPUT
      put(take_number(1));
      return true;
    case 'r':  // LONG_BINPUT
      put(take_number(4));
      return true;
    case '\x94':  // MEMOIZE
      put(memo_.size() + distant_memo_.size());
      return true;
    case 'h':  // BINGET
      get(take_number(1));
      return true;
    case 'j':  // LONG_BINGET
      get(take_number(4));
      return true;
    default:
      return false;
  }
}

bool Machine::build(char code) {
  switch (code) {
    case '(':  // MARK
      if (marks_.size() == ValueTree::most_values) fail("is one MARK too many");
      marks_.push_back(stack_.size());
      return true;
    case '}':  // EMPTY_DICT
      push(tree_.add_container(true));
      return true;
    case ']':  // EMPTY_LIST
    case ')':  // EMPTY_TUPLE
      push(tree_.add_container(false));
      return true;
    case 's':  // SETITEM
      add_to_container(top(2), true);
      return true;
    case 'u':  // SETITEMS
      add_to_container(take_mark(), true);
      return true;
    case 'a':  // APPEND
      add_to_container(top(1), false);
      return true;
    case 'e':  // APPENDS
      add_to_container(take_mark(), false);
      return true;
    case 't':  // TUPLE
      make_list(take_mark());
      return true;
    case '\x85':  // TUPLE1
    case '\x86':  // TUPLE2
    case '\x87':  // TUPLE3
      make_list(top(static_cast<unsigned char>(code) - 0x84U));
      return true;
    default:
      return false;
  }
}

}  // namespace

bool looks_like_pickle(std::string_view bytes) noexcept {
  return bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

ValueTree read_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace gang::harness
