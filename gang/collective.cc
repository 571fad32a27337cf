#include "gang/collective.h"

namespace gang {
namespace {

bool has_tensor(OperationKind kind) {
  return kind <= OperationKind::broadcast || kind == OperationKind::send ||
         kind == OperationKind::recv;
}

std::string peer_text(int rank) {
  return rank == any_rank ? "any rank" : "rank " + std::to_string(rank);
}

std::string direction_of(const Collective& collective) {
  switch (collective.kind) {
    case OperationKind::reduce:
    case OperationKind::gather:
    case OperationKind::send:
      return " to " + peer_text(collective.peer);
    case OperationKind::scatter:
    case OperationKind::broadcast:
    case OperationKind::broadcast_objects:
    case OperationKind::recv:
      return " from " + peer_text(collective.peer);
    default:
      return "";
  }
}

std::string tag_of(const Collective& collective) {
  if (collective.kind != OperationKind::send && collective.kind != OperationKind::recv) return "";
  if (collective.tag == 0) return "";
  return collective.tag == any_tag ? " any tag" : " tag " + std::to_string(collective.tag);
}

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return " " + std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

std::string payload_of(const Collective& collective) {
  switch (collective.kind) {
    case OperationKind::broadcast_objects:
      return counted(collective.count, "object", "objects");
    case OperationKind::create_gang:
      return " of" + counted(collective.count, "rank", "ranks");
    case OperationKind::batch:
      return " of" + counted(collective.count, "operation", "operations");
    default:
      break;
  }
  if (!has_tensor(collective.kind)) return "";
  std::string text;
  if (reduces(collective.kind)) text += " " + std::string(to_string(collective.reduce_operation));
  return text + " " + std::string(to_string(collective.data_type)) + to_string(collective.shape);
}

}  // namespace

std::string to_string(const Collective& collective) {
  std::string text(to_string(collective.kind));
  if (!is_point_to_point(collective.kind) && collective.kind != OperationKind::shrink)
    text += " #" + std::to_string(collective.sequence_number);
  text += payload_of(collective) + direction_of(collective) + tag_of(collective);
  if (!collective.label.empty()) text += " \"" + std::string(collective.label) + "\"";
  return text;
}

}  // namespace gang
