#include "gang/store/tcp_store_request_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace gang {
namespace {

// What a key or value takes in addition to its bytes.
constexpr std::size_t item_overhead_bytes = 32;

[[noreturn]] void throw_unknown_command(std::uint8_t code, TcpStoreDialect dialect) {
  throw StoreError(StoreErrorKind::dialect,
                   fmt::format("{} is not a command of {}", code, to_string(dialect)));
}

[[noreturn]] void throw_exceeded(std::string_view what, std::uint64_t size, std::size_t limit) {
  throw StoreError(StoreErrorKind::corrupt,
                   fmt::format("size of {} is {}; must be at most {}", what, size, limit));
}

}  // namespace

TcpStoreRequestReader::TcpStoreRequestReader(TcpStoreDialect dialect, const TcpStoreLimits& limits)
    : dialect_(dialect), limits_(limits) {}

std::optional<TcpStoreRequest> TcpStoreRequestReader::read(std::span<const std::byte>& input) {
  while (!is_complete_)
    if (!advance(input)) return std::nullopt;
  is_complete_ = false;
  step_ = Step::command;
  request_bytes_ = 0;
  return std::exchange(request_, {});
}

// Takes one step; false if `input` is used up first.
bool TcpStoreRequestReader::advance(std::span<const std::byte>& input) {
  switch (step_) {
    case Step::command:
      if (!fill(input, 1)) return false;
      begin_request(std::to_integer<std::uint8_t>(integer_[0]));
      return true;
    case Step::first_bytes:
      if (!fill(input, 4)) return false;
      tell_dialect_by_first_bytes();
      return true;
    case Step::number:
      if (!fill(input, 8)) return false;
      request_.number = static_cast<std::int64_t>(number());
      end_field();
      return true;
    case Step::nonce:
      if (!fill(input, 4)) return false;
      request_.number = decode_u32(std::span(integer_).first<4>());
      end_field();
      return true;
    case Step::magic:
      if (!fill(input, 4)) return false;
      check_magic();
      end_field();
      return true;
    case Step::count:
      if (!fill(input, 8)) return false;
      begin_list();
      return true;
    case Step::length:
      if (!fill(input, 8)) return false;
      begin_item();
      return true;
    case Step::bytes:
      return take_bytes(input);
  }
  return false;
}

// Collects `size` bytes in integer_; returns whether all of them are there.
bool TcpStoreRequestReader::fill(std::span<const std::byte>& input, std::size_t size) {
  const std::size_t taken = std::min(size - have_, input.size());
  std::copy_n(input.begin(), taken, integer_.begin() + static_cast<std::ptrdiff_t>(have_));
  input = input.subspan(taken);
  have_ += taken;
  if (have_ < size) return false;
  have_ = 0;
  return true;
}

std::uint64_t TcpStoreRequestReader::number() const noexcept { return decode_u64(integer_); }

void TcpStoreRequestReader::begin_request(std::uint8_t code) {
  if (dialect_ == TcpStoreDialect::automatic) {
    // Zero is 2.x's greeting or 1.13's set; any other first byte is 1.13's.
    if (code == 0) {
      step_ = Step::first_bytes;
      return;
    }
    dialect_ = TcpStoreDialect::pytorch_1_13;
  }
  layout_ = find_layout(code, dialect_);
  if (layout_ == nullptr) throw_unknown_command(code, dialect_);
  if (dialect_ == TcpStoreDialect::pytorch_2) {
    const bool is_greeting = layout_->command == TcpStoreCommand::validate;
    if (is_greeting == is_greeted_)
      throw StoreError(StoreErrorKind::dialect,
                       is_greeted_ ? "a second greeting"
                                   : fmt::format("{} before the greeting of {}", layout_->name,
                                                 to_string(dialect_)));
    is_greeted_ = true;
  }
  request_.command = layout_->command;
  field_ = 0;
  begin_field();
}

// After a zero comes either the magic number or the length of the key to set, which would exceed
// every limit if its first half were equal to that number.
void TcpStoreRequestReader::tell_dialect_by_first_bytes() {
  const bool is_greeting = decode_u32(std::span(integer_).first<4>()) == tcp_store_magic;
  dialect_ = is_greeting ? TcpStoreDialect::pytorch_2 : TcpStoreDialect::pytorch_1_13;
  begin_request(0);
  have_ = 4;  // they belong to this field
}

void TcpStoreRequestReader::begin_field() {
  // In the order of TcpStoreField.
  static constexpr std::array first_steps = {Step::command, Step::length, Step::length,
                                             Step::number,  Step::count,  Step::count,
                                             Step::nonce,   Step::magic};
  const TcpStoreField field =
      field_ < std::size(layout_->fields) ? layout_->fields[field_] : TcpStoreField::none;
  is_complete_ = field == TcpStoreField::none;
  if (!is_complete_) step_ = first_steps[static_cast<std::size_t>(field)];
}

void TcpStoreRequestReader::end_field() {
  const TcpStoreField field = layout_->fields[field_];
  if (field == TcpStoreField::pairs && items_left_ > 0) is_pair_value_ = !is_pair_value_;
  const bool is_list_item_done = !is_pair_value_;
  if (items_left_ > 0 && is_list_item_done) --items_left_;
  continue_list();
}

void TcpStoreRequestReader::begin_list() {
  if (number() > limits_.max_keys_per_request)
    throw_exceeded("a list", number(), limits_.max_keys_per_request);
  items_left_ = number();
  is_pair_value_ = false;
  continue_list();
}

// The next item of the list, or the next field.
void TcpStoreRequestReader::continue_list() {
  if (items_left_ > 0) {
    step_ = Step::length;
    return;
  }
  ++field_;
  begin_field();
}

TcpStoreField TcpStoreRequestReader::item_field() const noexcept {
  const TcpStoreField field = layout_->fields[field_];
  if (field == TcpStoreField::keys) return TcpStoreField::key;
  if (field != TcpStoreField::pairs) return field;
  return is_pair_value_ ? TcpStoreField::value : TcpStoreField::key;
}

void TcpStoreRequestReader::begin_item() {
  const bool is_key = item_field() == TcpStoreField::key;
  const std::size_t limit = is_key ? limits_.max_key_bytes : limits_.max_value_bytes;
  if (number() > limit) throw_exceeded(is_key ? "a key" : "a value", number(), limit);
  request_bytes_ += item_overhead_bytes;
  if (request_bytes_ + number() > limits_.max_request_bytes)
    throw_exceeded("a request", request_bytes_ + number(), limits_.max_request_bytes);
  bytes_left_ = number();
  if (is_key)
    request_.keys.emplace_back();
  else
    request_.values.emplace_back();
  if (bytes_left_ == 0) return end_field();
  step_ = Step::bytes;
}

bool TcpStoreRequestReader::take_bytes(std::span<const std::byte>& input) {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_left_, input.size()));
  const std::span bytes = input.first(taken);
  if (item_field() == TcpStoreField::key)
    request_.keys.back() += as_store_text(bytes);
  else
    request_.values.back().insert(request_.values.back().end(), bytes.begin(), bytes.end());
  input = input.subspan(taken);
  request_bytes_ += taken;
  bytes_left_ -= taken;
  if (bytes_left_ > 0) return false;
  end_field();
  return true;
}

void TcpStoreRequestReader::check_magic() const {
  const std::uint32_t said = decode_u32(std::span(integer_).first<4>());
  if (said != tcp_store_magic)
    throw StoreError(StoreErrorKind::dialect,
                     fmt::format("the greeting {:#010x} is not {:#010x}", said, tcp_store_magic));
}

}  // namespace gang
