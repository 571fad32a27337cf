#include "harness/program_file/call.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/text/suggestion.h"

namespace gang::harness::program_file {
namespace {

std::vector<std::string> operation_names() {
  std::vector<std::string> names = {"start", "abort", "close"};
  for (const OperationKind kind : all_operation_kinds) names.emplace_back(to_string(kind));
  return names;
}

bool can_start(OperationKind kind) {
  return kind != OperationKind::broadcast_objects && kind != OperationKind::monitored_barrier &&
         kind != OperationKind::create_gang && kind != OperationKind::split;
}

class CallParser {
 public:
  CallParser(std::string_view line, const Place& place) : tokens_(line, place) {
    call_.place = place;
  }

  Call parse() && {
    const Token first = tokens_.peek();
    if (first.kind != Token::Kind::name) tokens_.fail("a gang, wait, test, sleep, throw or return");
    if (!parse_statement()) parse_gang_call();
    tokens_.expect_end();
    return std::move(call_);
  }

 private:
  using Action = Call::Action;

  // Parses a statement that is not a call on a gang; false if it is one.
  bool parse_statement() {
    if (tokens_.peek(1).text == "=") return false;
    if (tokens_.take("wait")) {
      parse_works(Action::wait);
    } else if (tokens_.take("wait_any")) {
      parse_works(Action::wait_any);
    } else if (tokens_.take("test")) {
      call_.action = Action::test;
      call_.works.push_back(tokens_.expect(Token::Kind::name, "the name of a started operation"));
    } else if (tokens_.take("sleep")) {
      call_.action = Action::sleep;
      call_.duration = parse_duration_text();
    } else if (tokens_.take("yield")) {
      call_.action = Action::yield;
    } else if (tokens_.take("throw")) {
      call_.action = Action::fail;
      call_.label = tokens_.expect(Token::Kind::text, "a quoted string");
    } else if (tokens_.take("return")) {
      call_.action = Action::end_program;
    } else {
      return false;
    }
    return true;
  }

  void parse_works(Action action) {
    call_.action = action;
    do {
      call_.works.push_back(tokens_.expect(Token::Kind::name, "the name of a started operation"));
      tokens_.take(",");
    } while (!tokens_.at_end() && !tokens_.at("timeout"));
    if (tokens_.take("timeout")) call_.duration = parse_duration_text();
  }

  void parse_gang_call() {
    const Place named_at = tokens_.peek().place;
    if (tokens_.peek(1).text == "=") {
      call_.works.push_back(tokens_.next().text);
      tokens_.expect("=");
    }
    call_.gang = tokens_.expect(Token::Kind::name, "the name of a gang");
    if (tokens_.take("abort")) {
      call_.action = Action::abort_gang;
    } else if (tokens_.take("close")) {
      call_.action = Action::close_gang;
    } else {
      call_.starts = tokens_.take("start");
      parse_operation();
    }
    if (!call_.works.empty() && !call_.starts)
      fail_at(named_at, "only a started operation can have a name; write 'NAME = GANG start ...'");
  }

  void parse_operation() {
    const Token token = tokens_.peek();
    const auto kind = parse_operation_kind(token.text);
    if (token.kind != Token::Kind::name || !kind)
      fail_at(token.place, "operation " + unknown_name(token.text, operation_names()));
    tokens_.next();
    call_.operation = *kind;
    if (call_.starts && !can_start(*kind))
      fail_at(token.place, fmt::format("{} has no start form", to_string(*kind)));
    if (reduces(*kind)) parse_reduce_operation();
    if (has_tensor(*kind)) call_.tensor = parse_tensor();
    parse_arguments();
    parse_options();
  }

  // Parses what stands between the tensor and the options.
  void parse_arguments() {
    switch (call_.operation) {
      case OperationKind::broadcast_objects:
        call_.count =
            tokens_.peek().kind == Token::Kind::number ? Expression::parse(tokens_) : Expression{1};
        break;
      case OperationKind::send:
      case OperationKind::recv:
        parse_peer(call_);
        break;
      case OperationKind::batch:
        parse_batch();
        break;
      case OperationKind::all_gather:
        if (tokens_.take("counts")) parse_list(call_.by_rank);
        break;
      case OperationKind::create_gang:
        parse_list(call_.by_rank);
        parse_created();
        break;
      case OperationKind::split:
        parse_split();
        parse_created();
        break;
      default:
        break;
    }
    if (has_root(call_.operation) && tokens_.take("root")) call_.peer = Expression::parse(tokens_);
  }

  void parse_options() {
    while (!tokens_.at_end()) {
      if (tokens_.take("label"))
        call_.label = tokens_.expect(Token::Kind::text, "a quoted string");
      else if (tokens_.take("timeout"))
        call_.duration = parse_duration_text();
      else if (tokens_.take("at"))
        parse_other_place();
      else if (call_.operation == OperationKind::monitored_barrier && tokens_.take("all"))
        call_.names_all_missing = true;
      else
        tokens_.fail(
            has_root(call_.operation)
                ? "root RANK, label \"TEXT\", timeout DURATION, at \"FILE:LINE\" or the end"
                : "label \"TEXT\", timeout DURATION, at \"FILE:LINE\" or the end");
    }
  }

  void parse_other_place() {
    const Place place = tokens_.peek().place;
    const std::string text = tokens_.expect(Token::Kind::text, "\"FILE:LINE\"");
    const std::size_t colon = text.rfind(':');
    const char* const end = text.data() + text.size();
    const char* const line = colon == std::string::npos ? end : text.data() + colon + 1;
    const auto [stop, error] = std::from_chars(line, end, call_.other_place.line);
    if (error != std::errc{} || stop != end || colon == 0)
      fail_at(place, fmt::format("'{}' is not a place; must be \"FILE:LINE\"", text));
    call_.other_place.file = text.substr(0, colon);
  }

  void parse_reduce_operation() {
    const Token token = tokens_.peek();
    std::vector<std::string> names;
    for (const ReduceOperation operation : all_reduce_operations)
      names.emplace_back(to_string(operation));
    const auto operation = gang::parse_reduce_operation(token.text);
    if (!operation) {
      if (token.kind == Token::Kind::end) tokens_.fail("a reduce operation");
      fail_at(token.place, "reduce operation " + unknown_name(token.text, names));
    }
    call_.reduce_operation = *operation;
    tokens_.next();
  }

  TensorText parse_tensor() {
    const Token token = tokens_.peek();
    const auto type = parse_data_type(token.text);
    if (!type) {
      if (token.kind == Token::Kind::end) tokens_.fail("a tensor, such as f32[1024]");
      std::vector<std::string> names;
      for (const DataType each : all_data_types) names.emplace_back(to_string(each));
      fail_at(token.place, "data type " + unknown_name(token.text, names));
    }
    tokens_.next();
    TensorText tensor{.type = *type, .extents = {}};
    tokens_.expect("[");
    while (!tokens_.take("]")) {
      if (!tensor.extents.empty()) tokens_.expect(",");
      if (tensor.extents.size() == Shape::max_rank) tokens_.fail("']'");
      tensor.extents.push_back(Expression::parse(tokens_));
    }
    return tensor;
  }

  // "to RANK [tag T]" of a send, "[from RANK|any] [tag T|any]" of a receive.
  void parse_peer(Call& call) {
    if (call.operation == OperationKind::send) {
      tokens_.expect("to");
      call.peer = Expression::parse(tokens_);
    } else if (tokens_.take("from") && !tokens_.take("any")) {
      call.peer = Expression::parse(tokens_);
    }
    call.tag = Expression{0};
    if (!tokens_.take("tag")) return;
    if (call.operation == OperationKind::recv && tokens_.take("any"))
      call.tag = std::nullopt;
    else
      call.tag = Expression::parse(tokens_);
  }

  // "send f32[4] to 1, recv f32[4] from 1".
  void parse_batch() {
    do {
      Call part{.place = tokens_.peek().place};
      if (tokens_.take("send"))
        part.operation = OperationKind::send;
      else if (tokens_.take("recv"))
        part.operation = OperationKind::recv;
      else
        tokens_.fail("send or recv");
      part.tensor = parse_tensor();
      parse_peer(part);
      call_.batch.push_back(std::move(part));
    } while (tokens_.take(","));
  }

  void parse_list(std::vector<Expression>& list) {
    tokens_.expect("[");
    while (!tokens_.take("]")) {
      if (!list.empty()) tokens_.expect(",");
      list.push_back(Expression::parse(tokens_));
    }
  }

  // "color EXPRESSION|none [key EXPRESSION]".
  void parse_split() {
    tokens_.expect("color");
    if (!tokens_.take("none")) call_.color = Expression::parse(tokens_);
    if (tokens_.take("key")) call_.key = Expression::parse(tokens_);
  }

  void parse_created() {
    tokens_.expect("as");
    call_.created = tokens_.expect(Token::Kind::name, "a name for the new gang");
  }

  Duration parse_duration_text() {
    const Place place = tokens_.peek().place;
    std::string text = tokens_.next().text;
    const bool has_unit = tokens_.peek().kind == Token::Kind::name;
    if (has_unit && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
      text += tokens_.next().text;
    try {
      return parse_duration(text);
    } catch (const InvalidArgument& error) {
      fail_at(place, error.what());
    }
  }

  Tokens tokens_;
  Call call_;
};

}  // namespace

Call parse_call(std::string_view line, const Place& place) {
  return CallParser{line, place}.parse();
}

}  // namespace gang::harness::program_file
