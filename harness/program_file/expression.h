// Whole-number expressions of a program file: "rank % 2 == 0 and iteration > 3".
#pragma once

#include <cstdint>
#include <memory>

#include "harness/program_file/token.h"

namespace gang::harness::program_file {

// What the names in an expression stand for.
struct Variables {
  std::int64_t rank = 0;  // of the root
  std::int64_t world = 1;
  std::int64_t iteration = 0;  // of the innermost repeat
};

// An expression over rank, world and iteration, in 64-bit whole numbers: or, and, not;
// == != < <= > >=; + -; * / %; unary minus; parentheses. A comparison is 1 or 0; everything but 0
// is true. Division rounds down and the remainder has the divisor's sign: (rank - 1) % world is a
// rank. A value; copies share.
class Expression {
 public:
  struct Node;

  Expression() = default;  // 0
  explicit Expression(std::int64_t constant);

  // Parses the expression at the next word of `tokens` and stops before the first word after it.
  // Throws if there is none.
  static Expression parse(Tokens& tokens);

  // Throws InvalidArgument with the place for a division by zero or a result that needs more than
  // 64 bits.
  std::int64_t evaluate(const Variables& variables) const;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace gang::harness::program_file
