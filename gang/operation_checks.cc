#include "gang/operation_checks.h"

#include <algorithm>

#include <fmt/format.h>

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

std::string text_of(const Call& call, std::string_view problem) {
  return fmt::format("{} on {}: {}", to_string(call.kind), label_of(call.gang.info()), problem);
}

}  // namespace

void refuse(Call call, std::string_view problem) {
  throw Refused<InvalidArgument>(text_of(call, problem), call.call_site);
}

void throw_closed(Call call) {
  throw ClosedGang(text_of(call, "the gang is closed"), call.call_site);
}

void throw_timeout(Call call, Duration timeout) {
  refuse(call, fmt::format("timeout is {}; must be positive or no_timeout", to_string(timeout)));
}

void throw_bad_tensor(Call call, std::string_view role, const TensorView& tensor) {
  if (!tensor.is_contiguous())
    refuse(call, fmt::format("{} is not contiguous; must be contiguous", role));
  if (tensor.device() != call.gang.device())
    refuse(call, fmt::format("{} is on {}; must be on {}", role, to_string(tensor.device()),
                             to_string(call.gang.device())));
  refuse(call, fmt::format("{} {} has no memory; only tensors without elements may have none", role,
                           to_string(tensor)));
}

void throw_other_type(Call call, std::string_view role, const TensorView& tensor,
                      const TensorView& expected) {
  refuse(call,
         fmt::format("{} is {} but the other operand is {}; both must have the same data type",
                     role, to_string(tensor), to_string(expected)));
}

void throw_other_count(Call call, std::string_view role, const TensorView& tensor,
                       std::string_view expected) {
  refuse(call, fmt::format("{} {} has {} elements; must have {}", role, to_string(tensor),
                           tensor.count(), expected));
}

void throw_undefined_reduction(Call call, ReduceOperation operation, DataType type) {
  std::string defined;
  for (const ReduceOperation other : all_reduce_operations)
    if (is_defined(other, type))
      defined += (defined.empty() ? "" : ", ") + std::string(to_string(other));
  throw Refused<NotSupported>(
      text_of(call, fmt::format("{} is not defined for {} on any backend; must be one of: {}",
                                to_string(operation), to_string(type), defined)),
      call.call_site);
}

void throw_bad_rank(Call call, std::string_view role, int rank, std::string_view alternative) {
  refuse(call,
         fmt::format("{} is {}; must be 0 to {}{}", role, rank, call.gang.size() - 1, alternative));
}

void throw_bad_list(Call call, std::string_view role, std::size_t length, std::size_t expected) {
  refuse(call, fmt::format("{} has {} entries on rank {}; must have {}", role, length,
                           call.gang.rank(), expected));
}

void check_shared_memory(Call call, const TensorView& output, const TensorView& input,
                         Identical identical) {
  if (!share_bytes(output, input)) return;
  if (identical == Identical::refused)
    refuse(call, "output and input overlap; must be disjoint memory");
  if (!same_bytes(output, input))
    refuse(call, "output and input overlap; must be disjoint or identical memory");
}

void check_shaped_chunks(Call call, std::string_view whole_role, const TensorView& whole,
                         const TensorView& chunk) {
  const int size = call.gang.size();
  if (is_stack(whole.shape(), chunk.shape(), size) ||
      is_concatenation(whole.shape(), chunk.shape(), size))
    return;
  refuse(call, fmt::format("{} {} does not hold {} chunks {}; must be [{}, *chunk] or the chunks "
                           "concatenated along dimension 0",
                           whole_role, to_string(whole), size, to_string(chunk), size));
}

namespace {

// Whether all entries of `list` are seen at a glance to be as they should be: like `single`, which
// is contiguous and on the gang's device, and apart from it. One at the null address is not.
bool are_alike_and_apart(std::span<const TensorView> list, const TensorView& single) noexcept {
  const Device device = single.device();
  const DataType type = single.type();
  const std::int64_t count = single.count();
  const std::size_t size = single.size_bytes();
  // Those of one size are apart if one begins after the end of the other: an entry does so in
  // [1, below], or beyond `last`, the last byte of `single`.
  const auto single_begin = reinterpret_cast<std::uintptr_t>(single.data());
  const std::uintptr_t below = single_begin >= size ? single_begin - size : 0;
  const std::uintptr_t last = single_begin + size - 1;
  for (const TensorView& entry : list) {
    const auto begin = reinterpret_cast<std::uintptr_t>(entry.data());
    const bool is_good = entry.is_contiguous() && entry.device() == device &&
                         entry.type() == type && entry.count() == count &&
                         (begin - 1 < below || begin > last);
    if (!is_good) return false;
  }
  return true;
}

// Entry by entry, check by check.
[[gnu::noinline]] void check_entries(Call call, std::string_view role,
                                     std::span<const TensorView> list, const TensorView& single) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const TensorView& entry = list[i];
    check_tensor(call, role, entry);
    check_alike(call, role, entry, single);
    const bool is_own = i == static_cast<std::size_t>(call.gang.rank());
    if (share_bytes(entry, single) && !(is_own && same_bytes(entry, single)))
      refuse(call, fmt::format("{}[{}] overlaps the other operand; must be disjoint memory (or "
                               "identical, for this rank's own entry)",
                               role, i));
  }
}

}  // namespace

void check_list(Call call, std::string_view role, std::span<const TensorView> list,
                const TensorView& single) {
  const auto size = static_cast<std::size_t>(call.gang.size());
  if (list.size() != size) throw_bad_list(call, role, list.size(), size);
  if (!are_alike_and_apart(list, single)) check_entries(call, role, list, single);
}

}  // namespace gang
