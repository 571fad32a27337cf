#include "sim/injection/corruption.h"

#include <cstdint>
#include <cstring>
#include <limits>

namespace gang::sim {
namespace {

// The bytes of a NaN of `type`; empty if the type has no NaN.
std::size_t nan_of(DataType type, std::array<std::byte, 8>& bytes) {
  const auto put = [&bytes](auto value) {
    std::memcpy(bytes.data(), &value, sizeof value);
    return sizeof value;
  };
  switch (type) {
    case DataType::f16:
      return put(std::uint16_t{0x7e00});
    case DataType::bf16:
      return put(std::uint16_t{0x7fc0});
    case DataType::f32:
      return put(std::numeric_limits<float>::quiet_NaN());
    case DataType::f64:
      return put(std::numeric_limits<double>::quiet_NaN());
    default:
      return 0;
  }
}

}  // namespace

void SavedBytes::restore() const noexcept {
  if (count != 0) std::memcpy(place, bytes.data(), count);
}

SavedBytes corrupt(const Elements& tensor, Corruption how, RandomStream& stream) {
  SavedBytes saved;
  saved.count = size_bytes(tensor.type());
  const std::uint64_t element = stream.below(static_cast<std::uint64_t>(tensor.count()));
  saved.place = static_cast<std::byte*>(tensor.data()) + element * saved.count;
  std::memcpy(saved.bytes.data(), saved.place, saved.count);
  const std::uint64_t bit = stream.below(8 * saved.count);
  std::array<std::byte, 8> nan = saved.bytes;
  if (how == Corruption::nan && nan_of(tensor.type(), nan) != 0 && nan != saved.bytes)
    std::memcpy(saved.place, nan.data(), saved.count);
  else if (tensor.type() == DataType::boolean)
    *saved.place ^= std::byte{1};
  else
    saved.place[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  return saved;
}

bool contributes(const Operation& operation, int member) {
  const Collective& call = operation.collective;
  if (operation.input.size_bytes() == 0) return false;
  if (call.kind == OperationKind::broadcast) return call.peer == member;
  return call.kind < OperationKind::broadcast || call.kind == OperationKind::send;
}

Elements result_of(const Operation& operation, int member) {
  const Collective& call = operation.collective;
  if (call.kind == OperationKind::reduce && call.peer != member) return {};
  if (call.kind == OperationKind::broadcast && call.peer == member) return {};
  if (call.kind == OperationKind::send || call.kind > OperationKind::recv) return {};
  if (operation.output.size_bytes() != 0) return operation.output;
  return operation.extras->outputs.empty() ? Elements{}
                                           : Elements(operation.extras->outputs.front());
}

bool keeps_input(const Operation& operation, int member) {
  const Collective& call = operation.collective;
  if (call.kind == OperationKind::broadcast || call.kind == OperationKind::send) return true;
  if (call.kind == OperationKind::reduce && call.peer != member) return true;
  return operation.output.data() != operation.input.data();
}

bool is_of_data(FaultKind kind) {
  return kind == FaultKind::corrupt_contribution || kind == FaultKind::corrupt_result ||
         kind == FaultKind::late_copy;
}

bool has_such_data(FaultKind kind, const Operation& operation, int member) {
  if (kind == FaultKind::late_copy)
    return !operation.collective.blocking && contributes(operation, member);
  if (kind == FaultKind::corrupt_contribution)
    return operation.collective.blocking && contributes(operation, member);
  return result_of(operation, member).size_bytes() != 0;
}

}  // namespace gang::sim
