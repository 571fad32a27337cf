// The log of the ranks that were asked for.
#pragma once

#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace gang::harness {

// Some ranks of a world: "all", "none", or ranks and ranges, "0,8-11,16-31:2". A value.
class RankSelection {
 public:
  // None.
  RankSelection() = default;

  // Throws InvalidArgument: the text, what is accepted.
  explicit RankSelection(std::string_view text);

  bool contains(int rank) const noexcept;

  // Throws InvalidArgument unless every rank that is named is one of a world of `world_size`.
  void check_within(int world_size) const;

  const std::string& text() const noexcept { return text_; }

 private:
  struct Range {
    int first = 0;
    int last = 0;
    int stride = 1;
  };

  static Range parse_range(std::string_view text, std::string_view whole);

  std::string text_ = "none";
  std::vector<Range> ranges_;
};

// Writes lines of the selected ranks, "[3] the line", each at once and whole: processes may share
// the stream. Borrows the stream. Threads: any.
class RankLog {
 public:
  RankLog(RankSelection ranks, std::ostream& out) : ranks_(std::move(ranks)), out_(out) {}

  bool covers(int rank) const noexcept { return ranks_.contains(rank); }
  void write(int rank, std::string_view line) const;

 private:
  RankSelection ranks_;
  std::ostream& out_;
  mutable std::mutex mutex_;
};

}  // namespace gang::harness
