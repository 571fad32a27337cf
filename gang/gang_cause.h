// Why a gang is broken, and the error that says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gang/error.h"

namespace gang {

struct GangInfo;
struct Operation;
class Store;
class StoreError;

struct GangCause {
  GangErrorKind kind = GangErrorKind::aborted;
  std::vector<int> ranks_at_fault = {};
  std::string reason = {};
  bool is_wanted = false;  // by this rank, so its watchdog has no reason to act

  friend bool operator==(const GangCause&, const GangCause&) = default;
};

// The error of `call` on rank `rank` of `gang`, `elapsed` after the call began.
GangError error_for(const GangInfo& gang, int rank, const Collective& call, GangCause cause,
                    Duration elapsed = {});

// The call whose failure is that a gang of `size` cannot be made.
Collective creation_of(int size);

// The store that the members meet in failed.
GangCause cause_of(const StoreError& error);

// `rank` has done something, such as "closed the gang", that ends the gang for everyone.
GangCause aborted_by(int rank, std::string_view deed);
GangCause gave_up(int rank);

// In an all_to_all with split sizes, `rank` does not send itself what it expects; none if it does.
std::optional<GangCause> own_split_mismatch(const Operation& operation, int rank);

// The source of a broadcast_objects sent `sent` objects, which `rank` did not expect.
GangCause object_count_mismatch(const Collective& call, int rank, std::int64_t sent);

// The note that members leave for each other, without `is_wanted`, which concerns one rank only.
// None for a text that is not such a note.
std::string to_note(const GangCause& cause);
std::optional<GangCause> parse_note(const std::string& note);

// Leaves a note of the gang `prefix` in `store`, unless there is one, and finds it. A store that
// went away with its process has no notes.
void leave_note(Store& store, const std::string& prefix, std::string_view text) noexcept;
std::optional<std::string> find_note(Store& store, const std::string& prefix) noexcept;

}  // namespace gang
