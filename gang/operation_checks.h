// The checks of a call's arguments, made once for all backends, on their way to an Operation.
//
// Used by the files that implement class Gang. The checks are inline and build no text; a failed
// one ends in a throw_ function, which says in one sentence what is wrong and what would be right.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gang/gang.h"

namespace gang {

// A call of a Gang's method, before its operands are known. Borrows everything.
struct Call {
  Call(const Gang& on, const CallOptions& with, const CallSite& at,
       OperationKind as = OperationKind::barrier)
      : gang(on), options(with), call_site(at.in_words()), kind(as) {}
  // Field by field, where a check has failed. Were it a copy as a whole, every call would be put
  // together in memory for it.
  [[gnu::always_inline]] Call(const Call& other)
      : gang(other.gang),
        options(other.options),
        call_site(other.call_site),
        kind(other.kind),
        timeout(other.timeout) {}
  Call& operator=(const Call&) = delete;

  const Gang& gang;
  const CallOptions& options;
  CallSite call_site;
  OperationKind kind;   // set by begin
  Duration timeout{0};  // the same
};

// Where a refused call was made: what the errors below know besides their message.
class RefusedCall {
 public:
  explicit RefusedCall(const CallSite& call_site) : call_site_(call_site) {}
  virtual ~RefusedCall() = default;

  const CallSite& call_site() const noexcept { return call_site_; }

 protected:
  RefusedCall(const RefusedCall&) = default;
  RefusedCall& operator=(const RefusedCall&) = default;

 private:
  CallSite call_site_;
};

// The InvalidArgument or NotSupported of a call, with the place of that call.
template <typename Kind>
class Refused : public Kind, public RefusedCall {
 public:
  Refused(const std::string& message, const CallSite& call_site)
      : Kind(message), RefusedCall(call_site) {}
};

// An operation was called on a closed gang.
class ClosedGang : public Refused<InvalidOperation> {
 public:
  using Refused::Refused;
};

// Throws InvalidArgument "all_reduce on dp[0,2]: PROBLEM". This and the others take the call by
// value so that nothing holds its address.
[[noreturn]] void refuse(Call call, std::string_view problem);

[[noreturn]] void throw_closed(Call call);
[[noreturn]] void throw_timeout(Call call, Duration timeout);
[[noreturn]] void throw_bad_tensor(Call call, std::string_view role, const TensorView& tensor);
[[noreturn]] void throw_other_type(Call call, std::string_view role, const TensorView& tensor,
                                   const TensorView& expected);
[[noreturn]] void throw_other_count(Call call, std::string_view role, const TensorView& tensor,
                                    std::string_view expected);
[[noreturn]] void throw_undefined_reduction(Call call, ReduceOperation operation, DataType type);
[[noreturn]] void throw_bad_rank(Call call, std::string_view role, int rank,
                                 std::string_view alternative);
[[noreturn]] void throw_bad_list(Call call, std::string_view role, std::size_t length,
                                 std::size_t expected);

// What the checks of all operations have in common. Throws InvalidOperation on a closed gang.
[[gnu::always_inline]] inline void begin(Call& call, OperationKind kind) {
  call.kind = kind;
  if (call.gang.is_closed()) [[unlikely]]
    throw_closed(call);
  call.timeout = call.options.timeout ? *call.options.timeout : call.gang.timeout();
  if (call.timeout <= Duration::zero()) [[unlikely]]
    throw_timeout(call, call.timeout);
}

// In place of a tensor that an operation does not have.
inline const TensorView no_tensor;

// What a call says of its data.
struct Operands {
  const TensorView& sized;  // the tensor that fixes the size
  const TensorView& input = no_tensor;
  const TensorView& output = no_tensor;
  ReduceOperation reduce_operation = ReduceOperation::sum;
  int peer = no_rank;
  int tag = 0;
};

// The operation of a call whose operands have been checked. Each field is written once, from what
// is known: this is on the way of every call.
[[gnu::always_inline]] inline Operation operation_of(const Call& call, const Operands& operands) {
  return {.collective = {.kind = call.kind,
                         .data_type = operands.sized.type(),
                         .reduce_operation = operands.reduce_operation,
                         .peer = operands.peer,
                         .tag = operands.tag,
                         .count = operands.sized.count(),
                         .label = call.options.label,
                         .call_site = call.call_site,
                         .shape = operands.sized.shape()},
          .timeout = call.timeout,
          .input = operands.input,
          .output = operands.output,
          .guarded = call.options.guarded};
}

// The same for an operation on `count` things that are not elements of a tensor.
inline Operation operation_on(const Call& call, std::size_t count) {
  const auto things = static_cast<std::int64_t>(count);
  return {.collective = {.kind = call.kind,
                         .count = things,
                         .label = call.options.label,
                         .call_site = call.call_site,
                         .shape = Shape::vector(things)},
          .timeout = call.timeout,
          .guarded = call.options.guarded};
}

// The same for an operation on nothing.
inline Operation operation_of(const Call& call) {
  return {
      .collective = {.kind = call.kind, .label = call.options.label, .call_site = call.call_site},
      .timeout = call.timeout,
      .guarded = call.options.guarded};
}

// Contiguous, on the gang's device, with memory if it has elements. `role`: "tensor", "output", ...
[[gnu::always_inline]] inline void check_tensor(const Call& call, std::string_view role,
                                                const TensorView& tensor) {
  const bool is_good = tensor.is_contiguous() && tensor.device() == call.gang.device() &&
                       (tensor.data() != nullptr || tensor.count() == 0);
  if (!is_good) [[unlikely]]
    throw_bad_tensor(call, role, tensor);
}

inline void check_same_type(const Call& call, std::string_view role, const TensorView& tensor,
                            const TensorView& expected) {
  if (tensor.type() != expected.type()) [[unlikely]]
    throw_other_type(call, role, tensor, expected);
}

inline void check_reduction(const Call& call, ReduceOperation operation, DataType type) {
  if (!is_defined(operation, type)) [[unlikely]]
    throw_undefined_reduction(call, operation, type);
}

// `role` is "source_rank" or "destination_rank".
inline void check_rank(const Call& call, std::string_view role, int rank) {
  // Both bounds at once: a negative rank is a very large one.
  if (static_cast<unsigned>(rank) >= static_cast<unsigned>(call.gang.size())) [[unlikely]]
    throw_bad_rank(call, role, rank, "");
}

// `tensor` has the type and number of elements of `expected`.
inline void check_alike(const Call& call, std::string_view role, const TensorView& tensor,
                        const TensorView& expected) {
  check_same_type(call, role, tensor, expected);
  if (tensor.count() != expected.count()) [[unlikely]]
    throw_other_count(call, role, tensor, std::to_string(expected.count()));
}

// Whether `a_bytes` at `a` and `b_bytes` at `b` share none, as far as that is quickly seen: not of
// an empty one that lies in the other.
inline bool are_apart(const std::byte* a, std::size_t a_bytes, const std::byte* b,
                      std::size_t b_bytes) noexcept {
  // Each is no longer than the way from it to the other, which may lead round the address space.
  const auto a_first = reinterpret_cast<std::uintptr_t>(a);
  const auto b_first = reinterpret_cast<std::uintptr_t>(b);
  return b_first - a_first >= a_bytes && a_first - b_first >= b_bytes;
}

// Two operands share no byte or, where `identical` is accepted, are the same memory. Decided here
// where they are_apart, else by check_shared_memory.
enum class Identical : std::uint8_t { accepted, refused };
void check_shared_memory(Call call, const TensorView& output, const TensorView& input,
                         Identical identical);

[[gnu::always_inline]] inline void check_overlap(const Call& call, const TensorView& output,
                                                 const TensorView& input, Identical identical) {
  if (!are_apart(output.data(), output.size_bytes(), input.data(), input.size_bytes())) [[unlikely]]
    check_shared_memory(call, output, input, identical);
}

// `whole` is [size, *chunk] or `size` chunks concatenated along dimension 0. Decided here where
// both are vectors, else by check_shaped_chunks.
void check_shaped_chunks(Call call, std::string_view whole_role, const TensorView& whole,
                         const TensorView& chunk);

inline void check_chunks(const Call& call, std::string_view whole_role, const TensorView& whole,
                         const TensorView& chunk) {
  check_same_type(call, whole_role, whole, chunk);
  std::int64_t count = 0;
  const bool are_chunks = whole.shape().dimensions() == 1 && chunk.shape().dimensions() == 1 &&
                          !__builtin_mul_overflow(chunk.count(), call.gang.size(), &count) &&
                          whole.count() == count;
  if (!are_chunks) [[unlikely]]
    check_shaped_chunks(call, whole_role, whole, chunk);
}

// A list of size() tensors like `single`, which is disjoint from all of them or is entry rank().
void check_list(Call call, std::string_view role, std::span<const TensorView> list,
                const TensorView& single);

}  // namespace gang
