#include "gang/call_text.h"

#include <string_view>

#include "gang/collective.h"
#include "gang/visible_text.h"

namespace gang {
namespace {

using Direction = CallText::Direction;

Direction direction_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::reduce:
    case OperationKind::gather:
    case OperationKind::send:
      return Direction::to;
    case OperationKind::scatter:
    case OperationKind::broadcast:
    case OperationKind::broadcast_objects:
    case OperationKind::recv:
      return Direction::from;
    default:
      return Direction::none;
  }
}

std::string counted(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string payload_of(const Collective& collective) {
  switch (collective.kind) {
    case OperationKind::broadcast_objects:
      return counted(collective.count, "object", "objects");
    case OperationKind::create_gang:
      return "of " + counted(collective.count, "rank", "ranks");
    case OperationKind::batch:
      return "of " + counted(collective.count, "operation", "operations");
    default:
      break;
  }
  if (!has_tensor(collective.kind)) return "";
  std::string text;
  if (reduces(collective.kind) && collective.reduce_operation != unknown_reduce_operation)
    text = std::string(to_string(collective.reduce_operation)) + " ";
  text += to_string(collective.data_type);
  // With splits, each rank has counts of its own, and none is described.
  if (collective.kind == OperationKind::all_to_all && collective.count == 0) return text;
  return text + to_string(collective.shape);
}

void append(std::string& text, std::string_view part) {
  if (part.empty()) return;
  if (!text.empty()) text += ' ';
  text += part;
}

std::string qualifiers_of(const Collective& collective) {
  std::string text;
  if (collective.kind == OperationKind::send || collective.kind == OperationKind::recv) {
    if (collective.tag == any_tag)
      text = "any tag";
    else if (collective.tag != 0)
      text = "tag " + std::to_string(collective.tag);
  }
  if (!collective.label.empty()) append(text, "\"" + visible(collective.label) + "\"");
  return text;
}

std::string peer_text(std::optional<int> peer) {
  if (!peer) return "one rank each";
  return *peer == any_rank ? "any rank" : "rank " + std::to_string(*peer);
}

}  // namespace

CallText describe(const Collective& collective) {
  CallText call;
  call.kind = to_string(collective.kind);
  if (!is_point_to_point(collective.kind) && collective.kind != OperationKind::shrink)
    call.sequence = collective.sequence_number;
  call.payload = payload_of(collective);
  if (collective.peer != no_rank) call.direction = direction_of(collective.kind);
  if (call.direction != Direction::none) call.peer = collective.peer;
  call.qualifiers = qualifiers_of(collective);
  return call;
}

std::string to_string(const CallText& call) {
  std::string text = call.kind;
  if (call.sequence) text += " #" + std::to_string(*call.sequence);
  append(text, arguments_text(call));
  return text;
}

std::string arguments_text(const CallText& call) {
  std::string text = call.payload;
  if (call.direction != Direction::none)
    append(text, (call.direction == Direction::to ? "to " : "from ") + peer_text(call.peer));
  append(text, call.qualifiers);
  return text;
}

CallText with_any_peer(CallText call) {
  const bool is_message =
      call.kind == to_string(OperationKind::send) || call.kind == to_string(OperationKind::recv);
  if (is_message && call.peer != any_rank) call.peer.reset();
  return call;
}

}  // namespace gang
