#include "harness/program_file/expression.h"

#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace gang::harness::program_file {

using NodePointer = std::shared_ptr<const Expression::Node>;

enum class Operator : std::uint8_t {
  constant,
  rank,
  world,
  iteration,
  either,
  both,
  inverse,
  equal,
  unequal,
  less,
  at_most,
  greater,
  at_least,
  plus,
  minus,
  times,
  over,
  modulo,
};

struct Expression::Node {
  Operator operation = Operator::constant;
  std::int64_t constant = 0;
  mutable NodePointer left;
  NodePointer right;
  Place place;

  // A chain of ten thousand terms is a tree of that depth, on its left: no recursion follows it.
  ~Node() {
    NodePointer next = std::move(left);
    while (next != nullptr && next.use_count() == 1) next = NodePointer(std::move(next->left));
  }
};

namespace {

using Spelling = std::pair<std::string_view, Operator>;

// Binary operators by how tightly they bind, loosest first. `not` stands between both and equal.
constexpr std::array<Spelling, 1> either_level = {{{"or", Operator::either}}};
constexpr std::array<Spelling, 1> both_level = {{{"and", Operator::both}}};
constexpr std::array<Spelling, 6> comparison_level = {{{"==", Operator::equal},
                                                       {"!=", Operator::unequal},
                                                       {"<=", Operator::at_most},
                                                       {">=", Operator::at_least},
                                                       {"<", Operator::less},
                                                       {">", Operator::greater}}};
constexpr std::array<Spelling, 2> sum_level = {{{"+", Operator::plus}, {"-", Operator::minus}}};
constexpr std::array<Spelling, 3> product_level = {
    {{"*", Operator::times}, {"/", Operator::over}, {"%", Operator::modulo}}};
constexpr std::array<Spelling, 3> variables_by_name = {
    {{"rank", Operator::rank}, {"world", Operator::world}, {"iteration", Operator::iteration}}};
constexpr int deepest = 64;  // nested parentheses, nots and minuses

constexpr std::string_view expected = "a whole-number expression over rank, world and iteration";

class Parser {
 public:
  explicit Parser(Tokens& tokens) : tokens_(tokens) {}

  NodePointer parse_either() {
    return parse_binary(either_level, [this] { return parse_both(); });
  }

 private:
  NodePointer parse_both() {
    return parse_binary(both_level, [this] { return parse_not(); });
  }

  NodePointer parse_not() {
    const Place place = tokens_.peek().place;
    if (!tokens_.take("not")) return parse_comparison();
    return nested([&] { return make(Operator::inverse, place, parse_not()); });
  }

  NodePointer parse_comparison() {
    return parse_binary(comparison_level, [this] { return parse_sum(); });
  }

  NodePointer parse_sum() {
    return parse_binary(sum_level, [this] { return parse_product(); });
  }

  NodePointer parse_product() {
    return parse_binary(product_level, [this] { return parse_factor(); });
  }

  NodePointer parse_factor() {
    const Token token = tokens_.peek();
    if (token.kind == Token::Kind::number) {
      const std::int64_t constant = tokens_.expect_number(expected);
      return std::make_shared<Expression::Node>(
          Expression::Node{Operator::constant, constant, nullptr, nullptr, token.place});
    }
    for (const auto& [name, variable] : variables_by_name)
      if (tokens_.take(name)) return make(variable, token.place);
    if (tokens_.take("-")) {
      return nested([&] {
        return make(Operator::minus, token.place, make(Operator::constant, token.place),
                    parse_factor());
      });
    }
    if (!tokens_.take("(")) tokens_.fail(expected);
    NodePointer inner = nested([this] { return parse_either(); });
    tokens_.expect(")");
    return inner;
  }

  template <typename ParseOperand>
  NodePointer parse_binary(std::span<const Spelling> level, const ParseOperand& parse_operand) {
    NodePointer left = parse_operand();
    while (true) {
      const Place place = tokens_.peek().place;
      const Spelling* taken = nullptr;
      for (const Spelling& spelling : level)
        if (taken == nullptr && tokens_.take(spelling.first)) taken = &spelling;
      if (taken == nullptr) return left;
      left = make(taken->second, place, left, parse_operand());
    }
  }

  template <typename Parse>
  NodePointer nested(const Parse& parse) {
    if (++depth_ > deepest) fail_at(tokens_.peek().place, "the expression is nested too deeply");
    NodePointer node = parse();
    --depth_;
    return node;
  }

  static NodePointer make(Operator operation, const Place& place, NodePointer left = nullptr,
                          NodePointer right = nullptr) {
    return std::make_shared<Expression::Node>(
        Expression::Node{operation, 0, std::move(left), std::move(right), place});
  }

  Tokens& tokens_;
  int depth_ = 0;
};

// Rounds down; `right` is neither 0 nor, with the smallest number, -1.
std::int64_t floor_divide(std::int64_t left, std::int64_t right) {
  const std::int64_t quotient = left / right;
  return quotient * right != left && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

std::int64_t divide(Operator operation, std::int64_t left, std::int64_t right, const Place& place) {
  if (right == 0) fail_at(place, "division by zero");
  if (right == -1 && left == std::numeric_limits<std::int64_t>::min())
    fail_at(place, "the result does not fit in 64 bits");
  const std::int64_t quotient = floor_divide(left, right);
  return operation == Operator::over ? quotient : left - quotient * right;
}

std::int64_t calculate(Operator operation, std::int64_t left, std::int64_t right,
                       const Place& place) {
  std::int64_t result = 0;
  const bool overflows = operation == Operator::plus ? __builtin_add_overflow(left, right, &result)
                         : operation == Operator::minus
                             ? __builtin_sub_overflow(left, right, &result)
                             : __builtin_mul_overflow(left, right, &result);
  if (overflows) fail_at(place, "the result does not fit in 64 bits");
  return result;
}

std::int64_t evaluate_node(const Expression::Node& node, const Variables& variables);

// `value` is that of the left operand, if the node has one.
std::int64_t evaluate_with(const Expression::Node& node, std::int64_t value,
                           const Variables& variables) {
  const auto left = [value] { return value; };
  const auto right = [&] { return evaluate_node(*node.right, variables); };
  switch (node.operation) {
    case Operator::constant:
      return node.constant;
    case Operator::rank:
      return variables.rank;
    case Operator::world:
      return variables.world;
    case Operator::iteration:
      return variables.iteration;
    case Operator::either:
      return left() != 0 || right() != 0;
    case Operator::both:
      return left() != 0 && right() != 0;
    case Operator::inverse:
      return left() == 0;
    case Operator::equal:
      return left() == right();
    case Operator::unequal:
      return left() != right();
    case Operator::less:
      return left() < right();
    case Operator::at_most:
      return left() <= right();
    case Operator::greater:
      return left() > right();
    case Operator::at_least:
      return left() >= right();
    case Operator::over:
    case Operator::modulo:
      return divide(node.operation, left(), right(), node.place);
    case Operator::plus:
    case Operator::minus:
    case Operator::times:
      break;
  }
  return calculate(node.operation, left(), right(), node.place);
}

std::int64_t evaluate_node(const Expression::Node& node, const Variables& variables) {
  std::vector<const Expression::Node*> chain;  // from the node to its leftmost operand
  for (const Expression::Node* next = &node; next != nullptr; next = next->left.get())
    chain.push_back(next);
  std::int64_t value = 0;
  for (auto next = chain.rbegin(); next != chain.rend(); ++next)
    value = evaluate_with(**next, value, variables);
  return value;
}

}  // namespace

Expression::Expression(std::int64_t constant)
    : root_(std::make_shared<Node>(Node{Operator::constant, constant, nullptr, nullptr, {}})) {}

Expression Expression::parse(Tokens& tokens) {
  Expression expression;
  expression.root_ = Parser{tokens}.parse_either();
  return expression;
}

std::int64_t Expression::evaluate(const Variables& variables) const {
  return root_ == nullptr ? 0 : evaluate_node(*root_, variables);
}

}  // namespace gang::harness::program_file
