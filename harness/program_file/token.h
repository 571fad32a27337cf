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
  std::string text;  // without its quotes, if it has any
  Place place;
};

// Reads the words of one line of text from left to right.
//
// Names are letters, digits and underscores; numbers are whole and not negative; texts are in
// double quotes; symbols are [ ] ( ) , : = == != < <= > >= + - * / %. Errors are fail_at: what was
// expected and what was found.
class Tokens {
 public:
  // `place` is that of the first character of `line`. Throws for a character that cannot begin a
  // word.
  Tokens(std::string_view line, const Place& place);

  const Token& peek(std::size_t ahead = 0) const noexcept;
  Token next();

  bool at_end() const noexcept { return peek().kind == Token::Kind::end; }
  bool at(std::string_view word) const noexcept;  // whether the next name or symbol is `word`
  bool take(std::string_view word);               // the same; if so, moves past it

  // Takes the next word, which must be this one or of this kind; `expected` is for the error.
  void expect(std::string_view word);
  std::string expect(Token::Kind kind, std::string_view expected);
  std::int64_t expect_number(std::string_view expected);
  void expect_end();

  // Throws at the next word: "expected ..., found 'x'".
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  std::vector<Token> tokens_;  // the last is the end
  std::size_t position_ = 0;
};

}  // namespace gang::harness::program_file
