#include "gang/operation_checks.h"

#include <algorithm>

namespace gang {
namespace {

bool share_bytes(const TensorView& a, const TensorView& b) {
  const std::size_t a_size = a.size_bytes();
  const std::size_t b_size = b.size_bytes();
  if (a_size == 0 || b_size == 0) return false;
  const auto a_first = reinterpret_cast<std::uintptr_t>(a.data());
  const auto b_first = reinterpret_cast<std::uintptr_t>(b.data());
  return a_first < b_first + b_size && b_first < a_first + a_size;
}

bool same_bytes(const TensorView& a, const TensorView& b) {
  return a.data() == b.data() && a.size_bytes() == b.size_bytes();
}

bool is_stack(const Shape& whole, const Shape& chunk, int size) {
  return whole.dimensions() == chunk.dimensions() + 1 && whole[0] == size &&
         std::ranges::equal(whole.extents().subspan(1), chunk.extents());
}

bool is_concatenation(const Shape& whole, const Shape& chunk, int size) {
  return whole.dimensions() == chunk.dimensions() && chunk.dimensions() > 0 &&
         whole[0] % size == 0 && whole[0] / size == chunk[0] &&
         std::ranges::equal(whole.extents().subspan(1), chunk.extents().subspan(1));
}

std::string entry_text(std::string_view role, std::size_t index) {
  return std::string(role) + "[" + std::to_string(index) + "]";
}

}  // namespace

std::string text_of(const Call& call) {
  return std::string(to_string(call.kind)) + " on " + label_of(call.gang.info());
}

void throw_closed(const Call& call) {
  throw ClosedGang(text_of(call) + ": the gang is closed", call.call_site);
}

void throw_timeout(const Call& call, Duration timeout) {
  throw Refused<InvalidArgument>(
      text_of(call) + ": timeout " + to_string(timeout) +
          " is not positive; accepted are positive durations and no_timeout",
      call.call_site);
}

void throw_bad_tensor(const Call& call, std::string_view role, const TensorView& tensor) {
  const std::string subject = text_of(call) + ": " + std::string(role);
  const std::string device = to_string(call.gang.device());
  if (!tensor.is_contiguous())
    throw Refused<InvalidArgument>(
        subject + " is not contiguous; accepted are contiguous tensors on " + device,
        call.call_site);
  if (tensor.device() != call.gang.device())
    throw Refused<InvalidArgument>(subject + " is on " + to_string(tensor.device()) +
                                       "; accepted are contiguous tensors on " + device,
                                   call.call_site);
  throw Refused<InvalidArgument>(
      subject + " " + to_string(tensor) +
          " has no memory; accepted without memory are tensors without elements",
      call.call_site);
}

void throw_other_type(const Call& call, std::string_view role, const TensorView& tensor,
                      const TensorView& expected) {
  throw Refused<InvalidArgument>(text_of(call) + ": " + std::string(role) + " is " +
                                     to_string(tensor) + " where the other operand is " +
                                     to_string(expected) + "; accepted is one data type for both",
                                 call.call_site);
}

void throw_other_count(const Call& call, std::string_view role, const TensorView& tensor,
                       std::string_view accepted) {
  throw Refused<InvalidArgument>(text_of(call) + ": " + std::string(role) + " " +
                                     to_string(tensor) + " has " + std::to_string(tensor.count()) +
                                     " elements; accepted are " + std::string(accepted),
                                 call.call_site);
}

void throw_bad_chunks(const Call& call, std::string_view whole_role, const TensorView& whole,
                      const TensorView& chunk) {
  const std::string size = std::to_string(call.gang.size());
  throw Refused<InvalidArgument>(text_of(call) + ": " + std::string(whole_role) + " " +
                                     to_string(whole) + " does not hold " + size + " chunks " +
                                     to_string(chunk) + "; accepted are their stack [" + size +
                                     ", *chunk] and their concatenation along dimension 0",
                                 call.call_site);
}

void throw_overlap(const Call& call, std::string_view what) {
  throw Refused<InvalidArgument>(text_of(call) + ": " + std::string(what), call.call_site);
}

void throw_undefined_reduction(const Call& call, ReduceOperation operation, DataType type) {
  std::string accepted;
  for (const ReduceOperation other : all_reduce_operations)
    if (is_defined(other, type))
      accepted += (accepted.empty() ? "" : ", ") + std::string(to_string(other));
  throw Refused<NotSupported>(text_of(call) + ": " + std::string(to_string(operation)) +
                                  " has no meaning for " + std::string(to_string(type)) +
                                  " on any backend; " + "accepted are " + accepted,
                              call.call_site);
}

void throw_bad_rank(const Call& call, std::string_view role, int rank,
                    std::string_view also_accepted) {
  throw Refused<InvalidArgument>(text_of(call) + ": " + std::string(role) + " is " +
                                     std::to_string(rank) + "; accepted are 0 to " +
                                     std::to_string(call.gang.size() - 1) +
                                     std::string(also_accepted),
                                 call.call_site);
}

void throw_bad_tag(const Call& call, int tag, std::string_view also_accepted) {
  throw Refused<InvalidArgument>(text_of(call) + ": tag is " + std::to_string(tag) +
                                     "; accepted are 0 and more" + std::string(also_accepted),
                                 call.call_site);
}

void throw_bad_list(const Call& call, std::string_view role, std::size_t length,
                    std::size_t accepted) {
  throw Refused<InvalidArgument>(text_of(call) + ": " + std::string(role) + " has " +
                                     std::to_string(length) + " entries on rank " +
                                     std::to_string(call.gang.rank()) + "; accepted are " +
                                     std::to_string(accepted),
                                 call.call_site);
}

void check_alike(const Call& call, std::string_view role, const TensorView& tensor,
                 const TensorView& expected) {
  check_same_type(call, role, tensor, expected);
  if (tensor.count() != expected.count())
    throw_other_count(call, role, tensor, std::to_string(expected.count()));
}

void check_overlap(const Call& call, const TensorView& output, const TensorView& input,
                   Identical identical) {
  if (!share_bytes(output, input)) return;
  if (identical == Identical::accepted && same_bytes(output, input)) return;
  throw_overlap(call, identical == Identical::accepted
                          ? "output and input overlap; accepted are disjoint or identical memory"
                          : "output and input overlap; accepted is disjoint memory");
}

void check_chunks(const Call& call, std::string_view whole_role, const TensorView& whole,
                  const TensorView& chunk) {
  check_same_type(call, whole_role, whole, chunk);
  const int size = call.gang.size();
  if (!is_stack(whole.shape(), chunk.shape(), size) &&
      !is_concatenation(whole.shape(), chunk.shape(), size))
    throw_bad_chunks(call, whole_role, whole, chunk);
}

void check_list(const Call& call, std::string_view role, std::span<const TensorView> list,
                const TensorView& single) {
  const auto size = static_cast<std::size_t>(call.gang.size());
  const auto own = static_cast<std::size_t>(call.gang.rank());
  if (list.size() != size) throw_bad_list(call, role, list.size(), size);
  for (std::size_t i = 0; i < size; ++i) {
    const TensorView& entry = list[i];
    check_tensor(call, role, entry);
    check_alike(call, role, entry, single);
    const bool is_own = i == own && same_bytes(entry, single);
    if (!is_own && share_bytes(entry, single))
      throw_overlap(call, entry_text(role, i) +
                              " overlaps the other operand; accepted are disjoint memory and, for "
                              "the entry of this rank, identical memory");
  }
}

}  // namespace gang
