#include "harness/program/output.h"

#include <algorithm>
#include <span>

namespace gang::harness {

OutputRecorder::OutputRecorder(int world_size, KeepOutputs keep)
    : digests_(static_cast<std::size_t>(world_size)), world_size_(world_size) {
  if (keep == KeepOutputs::data) kept_.resize(static_cast<std::size_t>(world_size));
}

void OutputRecorder::begin_rank(int rank) {
  const auto index = static_cast<std::size_t>(rank);
  digests_[index] = Digest{};
  if (!kept_.empty()) kept_[index].clear();
}

void OutputRecorder::record(int rank, std::string_view name, const TensorView& values) {
  const auto index = static_cast<std::size_t>(rank);
  const std::span<const std::byte> bytes{values.data(), values.size_bytes()};
  Digest& digest = digests_[index];
  digest.add(name);
  digest.add(static_cast<std::uint64_t>(values.type()));
  digest.add(bytes);
  if (kept_.empty()) return;
  kept_[index].push_back({.name = std::string{name},
                          .type = values.type(),
                          .count = values.count(),
                          .data = {bytes.begin(), bytes.end()}});
}

void OutputRecorder::record_wrong_result(int rank, std::string message, SourceLocation location) {
  const std::lock_guard lock{mutex_};
  if (wrong_ranks_.empty() || rank < first_wrong_rank_) {
    first_wrong_rank_ = rank;
    first_message_ = std::move(message);
    first_location_ = std::move(location);
  }
  wrong_ranks_.push_back(rank);
}

Outputs OutputRecorder::take_outputs() {
  Digest all;
  for (const Digest& digest : digests_) all.add(digest.value());
  return {.digest = all.value(), .by_rank = std::move(kept_)};
}

void OutputRecorder::record_note(int rank, std::string note) {
  const std::lock_guard lock{mutex_};
  notes_.resize(static_cast<std::size_t>(world_size_));
  notes_[static_cast<std::size_t>(rank)] = std::move(note);
}

std::vector<std::string> OutputRecorder::take_notes() {
  const std::lock_guard lock{mutex_};
  return std::move(notes_);
}

WrongResults OutputRecorder::wrong_results() const {
  const std::lock_guard lock{mutex_};
  WrongResults results{
      .ranks = wrong_ranks_, .first_message = first_message_, .first_location = first_location_};
  std::ranges::sort(results.ranks);
  const auto [first, last] = std::ranges::unique(results.ranks);
  results.ranks.erase(first, last);
  return results;
}

}  // namespace gang::harness
