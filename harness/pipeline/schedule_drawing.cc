#include <algorithm>

#include <fmt/format.h>

#include "harness/pipeline/schedule_timeline.h"

namespace gang::harness {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t most_lines = 200;
constexpr std::size_t most_ranks = 64;

class Drawing {
 public:
  Drawing(const ScheduleTimeline& timeline, const PipelineSizes& sizes)
      : timeline_(timeline), sizes_(sizes) {
    // The widest label or time above it, and a space.
    const StagePass widest{sizes.stages() - 1, sizes.microbatches - 1, Pass::forward};
    const std::size_t time_width =
        fmt::format("{}", std::max<std::int64_t>(0, timeline.length - 1)).size();
    cell_width_ = std::max(label_of(widest).size(), time_width) + 1;
    margin_ = fmt::format("  rank {:>{}}", sizes.ranks - 1, 3).size();
    units_ = std::max<std::size_t>(1, (columns - margin_ - 1) / cell_width_);
  }

  std::string run() const {
    const std::size_t ranks = std::min(timeline_.by_rank.size(), most_ranks);
    const std::size_t most_tables = std::max<std::size_t>(1, most_lines / (ranks + 2));
    const auto length = static_cast<std::size_t>(timeline_.length);
    std::string text;
    for (std::size_t first = 0, table = 0; first < length; first += units_, ++table) {
      if (table == most_tables)
        return text + fmt::format("\n  ... until {}; --json has all of it\n", length);
      text += draw_table(first, std::min(first + units_, length), ranks);
    }
    return text;
  }

 private:
  std::string label_of(const StagePass& pass) const {
    const std::string of_stage =
        sizes_.stages_per_rank > 1 ? fmt::format("{}", pass.stage) : std::string{};
    return fmt::format("{}{}{}", of_stage, letter_of(pass.pass), pass.microbatch);
  }

  std::string draw_table(std::size_t first, std::size_t end, std::size_t ranks) const {
    std::string text = fmt::format("\n{:<{}}", "  time", margin_);
    for (std::size_t time = first; time < end; ++time)
      text += fmt::format("{:>{}}", time, cell_width_);
    text += '\n';
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      text += fmt::format("  rank {:>3}", rank);
      for (std::size_t time = first; time < end; ++time)
        text += fmt::format("{:>{}}", cell_at(rank, static_cast<std::int64_t>(time)), cell_width_);
      text += '\n';
    }
    if (ranks < timeline_.by_rank.size())
      text += fmt::format("  ... {} ranks\n", timeline_.by_rank.size());
    return text;
  }

  std::string cell_at(std::size_t rank, std::int64_t time) const {
    const std::vector<TimedPass>& passes = timeline_.by_rank[rank];
    const auto next = std::ranges::upper_bound(passes, time, {}, &TimedPass::start);
    if (next == passes.begin()) return ".";
    const TimedPass& last = *std::prev(next);
    if (time >= last.end) return ".";
    return time == last.start ? label_of(last.pass) : std::string(cell_width_ - 1, '=');
  }

  const ScheduleTimeline& timeline_;
  const PipelineSizes& sizes_;
  std::size_t cell_width_ = 3;
  std::size_t margin_ = 10;
  std::size_t units_ = 1;
};

}  // namespace

std::string draw(const ScheduleTimeline& timeline, const PipelineSizes& sizes) {
  return Drawing(timeline, sizes).run();
}

}  // namespace gang::harness
