#include "gang/message_pack.h"

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace gang {
namespace {

using nlohmann::json;

// Lets a value pass that is not nested too deeply, and stops before the reader recurses further.
class NestingCheck final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return begin(); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return begin(); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  bool begin() { return ++depth_ <= deepest_nesting; }
  bool end() {
    --depth_;
    return true;
  }

  int depth_ = 0;
};

}  // namespace

std::optional<json> parse_message_pack(std::span<const std::byte> bytes) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto* const last = first + bytes.size();
  NestingCheck check;
  if (!json::sax_parse(first, last, &check, json::input_format_t::msgpack)) return std::nullopt;
  return json::from_msgpack(first, last);
}

}  // namespace gang
