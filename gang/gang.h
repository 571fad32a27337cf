// The Gang: a set of ranks that perform collective operations together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gang/call_site.h"
#include "gang/call_text.h"
#include "gang/error.h"
#include "gang/gang_label.h"
#include "gang/operation.h"
#include "gang/reduce_operation.h"
#include "gang/tensor_view.h"
#include "gang/work.h"

namespace gang {

class ObjectSpan;  // gang/object.h, which shows nlohmann's JSON

// What all members of a gang know about it. Shared by the members in one process.
struct GangInfo {
  std::string name;             // "dp"
  std::vector<int> root_ranks;  // member i is rank root_ranks[i] of the root gang
  Device device;
  Duration timeout = default_timeout;
  std::string backend;  // "sim", "fake", ...
  int size = 1;         // root_ranks.size(); root_ranks is empty where members are imaginary (fake)

  friend bool operator==(const GangInfo&, const GangInfo&) = default;
};

// "dp[0,2]", "dp[0-1022:2]", "root[0-7]": the name and the members as root ranks, cut off with
// "..." after about 40 characters. gang_label_of: the same in its parts.
std::string label_of(const GangInfo& info);
GangLabel gang_label_of(const GangInfo& info);

// The peer of a call on the gang as a rank of the root gang; any_rank and no_rank as they are.
int peer_in_root(const Collective& call, const GangInfo& gang) noexcept;

// The call as reports tell of it, whose ranks are all ranks of the root gang.
CallText describe(const Collective& call, const GangInfo& gang);

// The name of a child that was not given one: "root.0" is the first child of "root".
std::string default_child_name(const GangInfo& parent, std::uint64_t index);

// A set of ranks that perform collective operations together.
//
// Ranks passed to a method are always **this gang's** ranks. Every operation but the
// point-to-point ones is collective: all members call it, and the k-th call of one member matches
// the k-th call of every other. Operations have a blocking form, which returns when the result is
// in place, and a start_ form, which returns a Work at once; CallOptions::mode makes a start_ form
// block. A blocking call on one member matches a start_ call on another.
//
// Tensors are contiguous and on `device()`, output and input disjoint or identical (all_to_all:
// disjoint); zero elements are legal. Errors of every operation, not repeated below:
//   InvalidArgument   the call itself is wrong; nothing was sent, the gang stays usable;
//   InvalidOperation  the gang is closed;
//   NotSupported      the backend cannot do it; nothing was sent, the gang stays usable;
//   GangError         timeout after `timeout()`, peer_failed, mismatch, aborted, connection,
//                     corrupt: the gang is broken, output contents are unspecified, and later calls
//                     fail at once with the first cause.
// Threads: one thread at a time per gang; different gangs may be used from different threads.
// Ownership: a resource, held by shared_ptr; the destructor closes it. (A backend's own destructor
// releases what do_close would have released: ~Gang cannot call a backend's functions.)
class Gang {
 public:
  Gang(const Gang&) = delete;
  Gang& operator=(const Gang&) = delete;
  virtual ~Gang();

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return info_->size; }
  Device device() const noexcept { return info_->device; }
  const std::string& name() const noexcept { return info_->name; }
  Duration timeout() const noexcept { return info_->timeout; }
  const GangInfo& info() const noexcept { return *info_; }

  // -- Reductions --

  // Reduces over the ranks and leaves the result on every rank: in `tensor`, or in `output` with
  // `input` unchanged. All ranks pass the same data type and number of elements. NotSupported if
  // `operation` is not defined for the type (reduce_operation.h).
  void all_reduce(const TensorView& tensor, ReduceOperation operation,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  void all_reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_all_reduce(const TensorView& tensor, ReduceOperation operation,
                        const CallOptions& options = no_options,
                        CallSite call_site = CallSite::here());
  Work start_all_reduce(const TensorView& output, const TensorView& input,
                        ReduceOperation operation, const CallOptions& options = no_options,
                        CallSite call_site = CallSite::here());

  // Reduces to `destination_rank`; the tensors of the other ranks are unchanged. In the
  // out-of-place form, `output` matters on the destination only.
  void reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
              const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  void reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
              int destination_rank, const CallOptions& options = no_options,
              CallSite call_site = CallSite::here());
  Work start_reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                    const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                    int destination_rank, const CallOptions& options = no_options,
                    CallSite call_site = CallSite::here());

  // Reduces and leaves chunk r on rank r. `input` is [size, *output] or the chunks concatenated
  // along dimension 0; both hold the same elements in the same order.
  void reduce_scatter(const TensorView& output, const TensorView& input, ReduceOperation operation,
                      const CallOptions& options = no_options,
                      CallSite call_site = CallSite::here());
  Work start_reduce_scatter(const TensorView& output, const TensorView& input,
                            ReduceOperation operation, const CallOptions& options = no_options,
                            CallSite call_site = CallSite::here());

  // Reduces over the ranks up to this one, in rank order, and leaves that on this rank:
  // scan over ranks 0 to rank(); exclusive_scan over ranks 0 to rank() - 1, so that the output of
  // rank 0 stays as it is. All ranks pass the same data type and number of elements. A mean is
  // InvalidArgument, since each rank would divide by a different number.
  void scan(const TensorView& tensor, ReduceOperation operation,
            const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  void scan(const TensorView& output, const TensorView& input, ReduceOperation operation,
            const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_scan(const TensorView& tensor, ReduceOperation operation,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_scan(const TensorView& output, const TensorView& input, ReduceOperation operation,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  void exclusive_scan(const TensorView& tensor, ReduceOperation operation,
                      const CallOptions& options = no_options,
                      CallSite call_site = CallSite::here());
  void exclusive_scan(const TensorView& output, const TensorView& input, ReduceOperation operation,
                      const CallOptions& options = no_options,
                      CallSite call_site = CallSite::here());
  Work start_exclusive_scan(const TensorView& tensor, ReduceOperation operation,
                            const CallOptions& options = no_options,
                            CallSite call_site = CallSite::here());
  Work start_exclusive_scan(const TensorView& output, const TensorView& input,
                            ReduceOperation operation, const CallOptions& options = no_options,
                            CallSite call_site = CallSite::here());

  // -- Gathers and scatters --

  // Leaves the inputs of all ranks, in rank order, on every rank. `output` is [size, *input] or the
  // inputs concatenated along dimension 0.
  void all_gather(const TensorView& output, const TensorView& input,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_all_gather(const TensorView& output, const TensorView& input,
                        const CallOptions& options = no_options,
                        CallSite call_site = CallSite::here());

  // The same for inputs of different sizes: rank i passes counts[i] elements, >= 0. All ranks pass
  // the same size() counts, which add up to the count of `output`. Lists that differ between
  // members are a mismatch.
  void all_gather(const TensorView& output, const TensorView& input,
                  std::span<const std::int64_t> counts, const CallOptions& options = no_options,
                  CallSite call_site = CallSite::here());
  Work start_all_gather(const TensorView& output, const TensorView& input,
                        std::span<const std::int64_t> counts,
                        const CallOptions& options = no_options,
                        CallSite call_site = CallSite::here());

  // As the first form, into size() tensors with the type and number of elements of `input`.
  void all_gather_to_list(std::span<const TensorView> outputs, const TensorView& input,
                          const CallOptions& options = no_options,
                          CallSite call_site = CallSite::here());
  Work start_all_gather_to_list(std::span<const TensorView> outputs, const TensorView& input,
                                const CallOptions& options = no_options,
                                CallSite call_site = CallSite::here());

  // Copies the inputs of all ranks into size() tensors on `destination_rank`; others pass an empty
  // list.
  void gather(std::span<const TensorView> outputs, const TensorView& input, int destination_rank,
              const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_gather(std::span<const TensorView> outputs, const TensorView& input,
                    int destination_rank, const CallOptions& options = no_options,
                    CallSite call_site = CallSite::here());

  // Copies inputs[r] of `source_rank` to `output` of rank r; the other ranks pass an empty list.
  void scatter(const TensorView& output, std::span<const TensorView> inputs, int source_rank,
               const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_scatter(const TensorView& output, std::span<const TensorView> inputs, int source_rank,
                     const CallOptions& options = no_options,
                     CallSite call_site = CallSite::here());

  // Chunk i of rank j goes to slot j of rank i. Chunks are even: output and input have the same
  // count, which is divisible by size().
  void all_to_all(const TensorView& output, const TensorView& input,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_all_to_all(const TensorView& output, const TensorView& input,
                        const CallOptions& options = no_options,
                        CallSite call_site = CallSite::here());

  // Element counts per rank: `splits.input[i]` elements go to rank i, `splits.output[j]` come from
  // rank j. Each list has size() entries >= 0 that add up to the count of its tensor.
  struct SplitSizes {
    std::span<const std::int64_t> output;
    std::span<const std::int64_t> input;
  };
  void all_to_all(const TensorView& output, const TensorView& input, const SplitSizes& splits,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_all_to_all(const TensorView& output, const TensorView& input, const SplitSizes& splits,
                        const CallOptions& options = no_options,
                        CallSite call_site = CallSite::here());

  // -- Broadcasts and barriers --

  // Copies the data of `source_rank` to every rank.
  void broadcast(const TensorView& tensor, int source_rank = 0,
                 const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_broadcast(const TensorView& tensor, int source_rank = 0,
                       const CallOptions& options = no_options,
                       CallSite call_site = CallSite::here());

  // Copies the objects of `source_rank` to every rank, by value. All ranks pass the same number of
  // objects; a different number on some rank is a mismatch (GangError), not an InvalidArgument.
  // Callers include gang/object.h: a vector or an array of Object is an ObjectSpan.
  void broadcast_objects(ObjectSpan objects, int source_rank = 0,
                         const CallOptions& options = no_options,
                         CallSite call_site = CallSite::here());

  // Returns when all members have arrived.
  void barrier(const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_barrier(const CallOptions& options = no_options,
                     CallSite call_site = CallSite::here());

  enum class MissingRanks : std::uint8_t { first, all };
  // A barrier with its own timeout (> 0). If it fails, every rank that arrived gets GangError
  // timeout, whose ranks_at_fault are the missing ranks, or only the first of them.
  void monitored_barrier(Duration timeout, MissingRanks report = MissingRanks::first,
                         const CallOptions& options = no_options,
                         CallSite call_site = CallSite::here());

  // -- Point to point --

  // Sends to `destination_rank` (another rank or this one); tag >= 0. Messages with the same
  // source, destination and tag arrive in order. May block until the receive has been called.
  void send(const TensorView& tensor, int destination_rank, int tag = 0,
            const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_send(const TensorView& tensor, int destination_rank, int tag = 0,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());

  // Receives from `source_rank` or any_rank, with `tag` or any_tag; the type and number of elements
  // are those of the send. Returns the source and the tag.
  Received recv(const TensorView& tensor, int source_rank = any_rank, int tag = 0,
                const CallOptions& options = no_options, CallSite call_site = CallSite::here());
  Work start_recv(const TensorView& tensor, int source_rank = any_rank, int tag = 0,
                  const CallOptions& options = no_options, CallSite call_site = CallSite::here());

  // All sends and receives of the list progress together; the batch completes when all have.
  void batch(std::span<const PointToPoint> operations, const CallOptions& options = no_options,
             CallSite call_site = CallSite::here());
  Work start_batch(std::span<const PointToPoint> operations,
                   const CallOptions& options = no_options, CallSite call_site = CallSite::here());

  // -- Groups and lifetime --

  // A gang of `ranks` (of this gang): member ranks[i] gets rank i; the other ranks get null.
  // Collective over all members of this gang. `ranks` must be non-empty and unique, each in
  // [0, size()); otherwise every caller gets InvalidArgument and nothing is sent. Lists that differ
  // between members are a mismatch.
  std::shared_ptr<Gang> create_gang(std::span<const int> ranks, const GangOptions& options = {},
                                    CallSite call_site = CallSite::here());

  // One gang per color (>= 0; no_color gives null), ordered by (key, rank here). Collective; costs
  // O(size) in total, so this is how to build a mesh at scale.
  struct Split {
    int color = no_color;
    int key = 0;
  };
  std::shared_ptr<Gang> split(Split split, const GangOptions& options = {},
                              CallSite call_site = CallSite::here());

  // A gang of the members that are still there, with which the survivors of a GangError continue.
  // Every member that is there calls it, whether or not the gang is broken. Blocks until each other
  // member has called it or is known to be gone, or until `grace` has passed since the first call.
  // The members that have called it by then agree on one gang, in their old order; if all the
  // others are gone, it is a gang of one. From then on this gang is broken (peer_failed); the
  // shrunk gang is not a child of it, and outlives it. Not matched with other operations; has no
  // sequence number. Errors: InvalidArgument (grace is not positive, or infinite); InvalidOperation
  // (closed, or this member has already shrunk the gang); GangError peer_failed (this member called
  // too late, or is a former incarnation of its rank, and the others continued without it);
  // NotSupported.
  std::shared_ptr<Gang> shrink(const ShrinkOptions& options = {},
                               CallSite call_site = CallSite::here());

  // Breaks the gang now: every pending and later operation on it, on every member, fails with
  // GangError aborted. Not collective; idempotent.
  void abort();

  // Closes this rank's side of the gang and of the gangs made from it. Not collective; idempotent.
  // Using the gang afterwards is InvalidOperation.
  void close();
  bool is_closed() const noexcept { return closed_; }

 protected:
  // `rank` in [0, info->size). The first sequence number is 0.
  Gang(std::shared_ptr<const GangInfo> info, int rank) noexcept;

  // Starts `operation`, whose arguments have been checked, and returns without blocking: what every
  // backend must implement. May throw NotSupported before sending anything. WorkState::received
  // tells what a receive got. create_gang and split set `*extras->created` before completion.
  virtual Work do_start(Operation& operation) = 0;

  // The blocking form; starts and waits, unless a backend has a shorter way.
  virtual Received do_run(Operation& operation);

  // `options` have been checked and include a grace. Throws NotSupported unless overridden.
  virtual std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site);

  virtual void do_abort() = 0;
  virtual void do_close() noexcept = 0;

  // `child` has been made by a call on this gang, and is to be closed with it; it may go before.
  // ParentGang lists them, for backends that do not know their gangs otherwise.
  virtual void add_child(const std::shared_ptr<Gang>& child) = 0;
  // Closes the children that are still there. Called once, before do_close.
  virtual void close_children() noexcept = 0;

  // For a gang that forwards to `gang`: its info, and operations that have already been checked. A
  // gang that `run_on` creates becomes a child of `gang`, to be closed with it.
  static std::shared_ptr<const GangInfo> shared_info(const Gang& gang) { return gang.info_; }
  static Work start_on(Gang& gang, Operation& operation) { return gang.do_start(operation); }
  static Received run_on(Gang& gang, Operation& operation);

  // What close does, for a gang that closes many at a time: only the mark, which every call sees.
  void mark_closed() noexcept { closed_ = true; }

 private:
  Received run(Operation operation) { return do_run(operation); }
  Work start(Operation operation, CallMode mode) {
    operation.collective.blocking = mode == CallMode::blocking;
    return mode == CallMode::started ? do_start(operation) : Work(do_run(operation));
  }
  std::shared_ptr<Gang> create(Operation operation, OperationExtras extras);

  std::shared_ptr<const GangInfo> info_;
  std::int32_t rank_;
  bool closed_ = false;
};

}  // namespace gang
