#include "gang/store/tcp_store_protocol.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gang/enum_names.h"

namespace gang {
namespace {

using Command = TcpStoreCommand;
using Field = TcpStoreField;

constexpr std::nullopt_t lacking = std::nullopt;

// In the order of TcpStoreCommand.
constexpr std::array layouts = {
    TcpStoreLayout{Command::validate, "validate", lacking, 0, {Field::magic}},
    TcpStoreLayout{Command::set, "set", 0, 1, {Field::key, Field::value}},
    TcpStoreLayout{
        Command::compare_set, "compare_set", 1, 2, {Field::key, Field::value, Field::value}},
    TcpStoreLayout{Command::get, "get", 2, 3, {Field::key}},
    TcpStoreLayout{Command::add, "add", 3, 4, {Field::key, Field::number}},
    TcpStoreLayout{Command::check, "check", 4, 5, {Field::keys}},
    TcpStoreLayout{Command::wait, "wait", 5, 6, {Field::keys}},
    TcpStoreLayout{Command::num_keys, "num_keys", 6, 7, {}},
    TcpStoreLayout{Command::delete_key, "delete_key", 8, 8, {Field::key}},
    TcpStoreLayout{Command::append, "append", lacking, 9, {Field::key, Field::value}},
    TcpStoreLayout{Command::multi_get, "multi_get", lacking, 10, {Field::keys}},
    TcpStoreLayout{Command::multi_set, "multi_set", lacking, 11, {Field::pairs}},
    TcpStoreLayout{Command::cancel_wait, "cancel_wait", lacking, 12, {}},
    TcpStoreLayout{Command::ping, "ping", lacking, 13, {Field::nonce}},
};

std::optional<std::uint8_t> code_of(const TcpStoreLayout& layout, TcpStoreDialect dialect) {
  return dialect == TcpStoreDialect::pytorch_1_13 ? layout.code_1_13 : layout.code_2;
}

template <typename Integer>
void encode_integer(Integer value, std::vector<std::byte>& out) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    out.push_back(static_cast<std::byte>(value >> (8U * i)));
}

template <typename Integer>
Integer decode_integer(std::span<const std::byte, sizeof(Integer)> bytes) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value |= std::to_integer<Integer>(bytes[i]) << (8U * i);
  return value;
}

void encode_key(const std::string& key, std::vector<std::byte>& out) {
  encode_bytes(as_store_bytes(key), out);
}

void encode_pairs(const TcpStoreRequest& request, std::vector<std::byte>& out) {
  encode_u64(request.keys.size(), out);
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    encode_key(request.keys[i], out);
    encode_bytes(request.values.at(i), out);
  }
}

}  // namespace

std::string_view to_string(TcpStoreDialect dialect) noexcept {
  static constexpr auto names =
      names_in_order<TcpStoreDialect>("automatic", "PyTorch 1.13", "PyTorch 2");
  return name_of(names, dialect);
}

std::string_view to_string(TcpStoreCommand command) noexcept {
  return wire_layout_of(command).name;
}

const TcpStoreLayout& wire_layout_of(TcpStoreCommand command) noexcept {
  return layouts[static_cast<std::size_t>(command)];
}

const TcpStoreLayout* find_layout(std::uint8_t code, TcpStoreDialect dialect) noexcept {
  const auto found = std::ranges::find_if(layouts, [code, dialect](const TcpStoreLayout& layout) {
    return code_of(layout, dialect) == code;
  });
  return found == layouts.end() ? nullptr : &*found;
}

void encode(const TcpStoreRequest& request, TcpStoreDialect dialect, std::vector<std::byte>& out) {
  const TcpStoreLayout& layout = wire_layout_of(request.command);
  const std::optional<std::uint8_t> code = code_of(layout, dialect);
  if (!code)
    throw NotSupported(
        fmt::format("{}: the store's server speaks the dialect of {}, which lacks this command; "
                    "must be PyTorch 2",
                    layout.name, to_string(dialect)));
  out.push_back(static_cast<std::byte>(*code));
  std::size_t value = 0;
  for (const Field field : layout.fields) {
    switch (field) {
      case Field::none:
        break;
      case Field::key:
        encode_key(request.keys.at(0), out);
        break;
      case Field::value:
        encode_bytes(request.values.at(value++), out);
        break;
      case Field::number:
        encode_u64(static_cast<std::uint64_t>(request.number), out);
        break;
      case Field::keys:
        encode_u64(request.keys.size(), out);
        for (const std::string& key : request.keys) encode_key(key, out);
        break;
      case Field::pairs:
        encode_pairs(request, out);
        break;
      case Field::nonce:
        encode_u32(static_cast<std::uint32_t>(request.number), out);
        break;
      case Field::magic:
        encode_u32(tcp_store_magic, out);
        break;
    }
  }
}

void encode_bytes(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  encode_u64(bytes.size(), out);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void encode_u64(std::uint64_t value, std::vector<std::byte>& out) { encode_integer(value, out); }
void encode_u32(std::uint32_t value, std::vector<std::byte>& out) { encode_integer(value, out); }

std::uint64_t decode_u64(std::span<const std::byte, 8> bytes) noexcept {
  return decode_integer<std::uint64_t>(bytes);
}

std::uint32_t decode_u32(std::span<const std::byte, 4> bytes) noexcept {
  return decode_integer<std::uint32_t>(bytes);
}

}  // namespace gang
