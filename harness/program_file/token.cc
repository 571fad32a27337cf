#include "harness/program_file/token.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness::program_file {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

bool is_name_character(char character) {
  return is_digit(character) || character == '_' || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z');
}

std::size_t length_while(std::string_view text, bool (*belongs)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, belongs) - text.begin());
}

// The symbol that `text` begins with; empty if there is none.
std::string_view symbol_at(std::string_view text) {
  constexpr std::array<std::string_view, 18> symbols = {
      "==", "!=", "<=", ">=", "[", "]", "(", ")", ",", ":", "=", "<", ">", "+", "-", "*", "/", "%"};
  const auto found = std::ranges::find_if(
      symbols, [text](std::string_view symbol) { return text.starts_with(symbol); });
  return found == symbols.end() ? std::string_view{} : *found;
}

// Reads the token that `text` begins with and returns its length; 0 if there is none.
std::size_t read_token(std::string_view text, Token& token) {
  if (is_digit(text.front())) {
    const std::size_t length = length_while(text, is_digit);
    // "4k" is not a number but a name that begins with a digit.
    const std::size_t whole = length_while(text, is_name_character);
    token.kind = whole == length ? Token::Kind::number : Token::Kind::name;
    token.text = text.substr(0, whole);
    return whole;
  }
  if (is_name_character(text.front())) {
    token.kind = Token::Kind::name;
    token.text = text.substr(0, length_while(text, is_name_character));
    return token.text.size();
  }
  if (text.front() == '"') {
    const std::size_t close = text.find('"', 1);
    if (close == std::string_view::npos) return 0;
    token.kind = Token::Kind::text;
    token.text = text.substr(1, close - 1);
    return close + 1;
  }
  token.kind = Token::Kind::symbol;
  token.text = symbol_at(text);
  return token.text.size();
}

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end";
  return fmt::format("'{}'", token.text);
}

}  // namespace

void fail_at(const Place& place, std::string_view message) {
  throw InvalidArgument(fmt::format("{}:{}:{}: {}", place.file, place.line, place.column, message));
}

Tokens::Tokens(std::string_view line, const Place& place) {
  Place here = place;
  while (true) {
    const std::size_t spaces = std::min(line.find_first_not_of(" \t"), line.size());
    line.remove_prefix(spaces);
    here.column += static_cast<std::uint32_t>(spaces);
    Token token{.place = here};
    if (line.empty()) {
      tokens_.push_back(std::move(token));
      return;
    }
    const std::size_t length = read_token(line, token);
    if (length == 0)
      fail_at(here, line.front() == '"' ? "the text has no closing quote"
                                        : fmt::format("unexpected character '{}'", line.front()));
    tokens_.push_back(std::move(token));
    line.remove_prefix(length);
    here.column += static_cast<std::uint32_t>(length);
  }
}

const Token& Tokens::peek(std::size_t ahead) const noexcept {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token Tokens::next() {
  Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Tokens::at(std::string_view word) const noexcept {
  const Token& token = peek();
  return (token.kind == Token::Kind::name || token.kind == Token::Kind::symbol) &&
         token.text == word;
}

bool Tokens::take(std::string_view word) {
  if (!at(word)) return false;
  next();
  return true;
}

void Tokens::expect(std::string_view word) {
  if (!take(word)) fail(fmt::format("'{}'", word));
}

std::string Tokens::expect(Token::Kind kind, std::string_view expected) {
  if (peek().kind != kind) fail(expected);
  return next().text;
}

std::int64_t Tokens::expect_number(std::string_view expected) {
  const Token token = peek();
  const std::string text = expect(Token::Kind::number, expected);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) fail_at(token.place, fmt::format("{} is too large", text));
  return value;
}

void Tokens::expect_end() {
  if (!at_end()) fail("the end");
}

void Tokens::fail(std::string_view expected) const {
  fail_at(peek().place, fmt::format("expected {}, found {}", expected, describe(peek())));
}

}  // namespace gang::harness::program_file
