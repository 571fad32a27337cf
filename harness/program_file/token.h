// The words of a program file's calls and conditions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gang::harness::program_file {

// A place in a file, from 1 as editors count.
struct Place {
  const char* file = "";  // outlives the program
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// Throws InvalidArgument "FILE:LINE:COLUMN: MESSAGE".
[[noreturn]] void fail_at(const Place& place, std::string_view message);

struct Token {
  enum class Kind : std::uint8_t { name, number, text, symbol, end };

  Kind kind = Kind::end;
  std::string text;  // of a text: without its quotes
  Place place;
};

// Reads the words of one line of text from left to right.
//
// Names are letters, digits and underscores; numbers are whole and not negative; texts are in
// double quotes; symbols are [ ] ( ) , : = == != < <= > >= + - * / %. Errors are fail_at: what was
// found and what is accepted.
class Tokens {
 public:
  // `place` is that of the first character of `line`. Throws for a character that begins no word.
  Tokens(std::string_view line, const Place& place);

  const Token& peek(std::size_t ahead = 0) const noexcept;
  Token next();

  bool at_end() const noexcept { return peek().kind == Token::Kind::end; }
  bool at(std::string_view word) const noexcept;  // a name or symbol that reads so
  bool take(std::string_view word);               // the same, and goes past it

  // The next word must be this one, or of this kind; `accepted` is for the error.
  void expect(std::string_view word);
  std::string expect(Token::Kind kind, std::string_view accepted);
  std::int64_t expect_number(std::string_view accepted);
  void expect_end();

  // Throws at the next word: "found 'x'; accepted: ...".
  [[noreturn]] void fail(std::string_view accepted) const;

 private:
  std::vector<Token> tokens_;  // the last is the end
  std::size_t position_ = 0;
};

}  // namespace gang::harness::program_file
