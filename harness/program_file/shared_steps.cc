#include "harness/program_file/shared_steps.h"

#include <algorithm>
#include <map>
#include <span>

namespace gang::harness::program_file {
namespace {

using Steps = std::vector<std::uint32_t>;

// Pairs of steps that may be compared in all; beyond that, ranks that differ get lists of their
// own.
constexpr std::size_t most_comparisons = 200'000'000;
constexpr std::size_t most_lists = 8;  // that a rank is compared with

// Ranks that do the same.
struct Alike {
  const Steps* steps = nullptr;
  std::vector<int> ranks;
};

// A step and those who do it, by their index in a list.
struct Merged {
  std::uint32_t step = 0;
  std::vector<std::uint32_t> owners;
};

// Steps that both lists have, as pairs of places.
class Alignment {
 public:
  Alignment(const std::vector<Merged>& one, const Steps& other, std::size_t& comparisons)
      : one_(one), other_(other) {
    std::size_t begin = 0;
    std::size_t one_end = one.size();
    std::size_t other_end = other.size();
    for (; begin < one_end && begin < other_end && are_same(begin, begin); ++begin)
      pairs_.emplace_back(begin, begin);
    while (begin < one_end && begin < other_end && are_same(one_end - 1, other_end - 1))
      --one_end, --other_end;
    const std::size_t cells = (one_end - begin) * (other_end - begin);
    if (cells <= comparisons) {
      comparisons -= cells;
      align(begin, one_end, other_end);
    }
    for (; other_end < other.size(); ++one_end, ++other_end)
      pairs_.emplace_back(one_end, other_end);
  }

  // Ascending.
  const std::vector<std::pair<std::size_t, std::size_t>>& pairs() const noexcept { return pairs_; }

 private:
  bool are_same(std::size_t one, std::size_t other) const {
    return one_[one].step == other_[other];
  }

  // The longest common subsequence from `begin` on.
  void align(std::size_t begin, std::size_t one_end, std::size_t other_end) {
    if (begin == one_end || begin == other_end) return;
    const std::size_t width = other_end - begin + 1;
    std::vector<std::uint32_t> lengths((one_end - begin + 1) * width, 0);  // from there to the end
    const auto length = [&](std::size_t one, std::size_t other) -> std::uint32_t& {
      return lengths[(one - begin) * width + (other - begin)];
    };
    for (std::size_t i = one_end; i-- > begin;)
      for (std::size_t k = other_end; k-- > begin;)
        length(i, k) = are_same(i, k) ? length(i + 1, k + 1) + 1
                                      : std::max(length(i + 1, k), length(i, k + 1));
    for (std::size_t i = begin, k = begin; i < one_end && k < other_end;) {
      if (are_same(i, k))
        pairs_.emplace_back(i++, k++);
      else if (length(i + 1, k) >= length(i, k + 1))
        ++i;
      else
        ++k;
    }
  }

  const std::vector<Merged>& one_;
  const Steps& other_;
  std::vector<std::pair<std::size_t, std::size_t>> pairs_;
};

// Groups of ranks that share a list.
struct Shared {
  std::vector<const Alike*> owners;
  std::vector<Merged> steps;

  void add(const Alike& alike, std::span<const std::pair<std::size_t, std::size_t>> pairs) {
    const auto owner = static_cast<std::uint32_t>(owners.size());
    std::vector<Merged> merged;
    std::size_t one = 0;
    std::size_t other = 0;
    const auto go_to = [&](std::size_t to_one, std::size_t to_other) {
      while (one < to_one) merged.push_back(std::move(steps[one++]));
      while (other < to_other) merged.push_back({(*alike.steps)[other++], {owner}});
    };
    for (const auto& [to_one, to_other] : pairs) {
      go_to(to_one, to_other);
      merged.push_back(std::move(steps[one++]));
      merged.back().owners.push_back(owner);
      ++other;
    }
    go_to(steps.size(), alike.steps->size());
    steps = std::move(merged);
    owners.push_back(&alike);
  }

  SharedSteps take() const {
    SharedSteps shared;
    std::map<std::vector<std::uint32_t>, std::uint32_t> indexes;
    const auto index_of = [&](const std::vector<std::uint32_t>& some) {
      const auto [place, is_new] =
          indexes.try_emplace(some, static_cast<std::uint32_t>(shared.sets.size()));
      if (is_new) {
        std::vector<int>& ranks = shared.sets.emplace_back();
        for (const std::uint32_t owner : some)
          ranks.insert(ranks.end(), owners[owner]->ranks.begin(), owners[owner]->ranks.end());
        std::ranges::sort(ranks);
      }
      return place->second;
    };
    std::vector<std::uint32_t> all;
    for (std::uint32_t owner = 0; owner < owners.size(); ++owner) all.push_back(owner);
    index_of(all);
    for (const Merged& step : steps) shared.steps.push_back({step.step, index_of(step.owners)});
    return shared;
  }
};

std::vector<Alike> group_alike(const std::vector<Steps>& steps_of_rank) {
  std::map<Steps, std::size_t> indexes;
  std::vector<Alike> groups;
  for (std::size_t rank = 0; rank < steps_of_rank.size(); ++rank) {
    if (steps_of_rank[rank].empty()) continue;
    const auto [place, is_new] = indexes.try_emplace(steps_of_rank[rank], groups.size());
    if (is_new) groups.push_back({.steps = &steps_of_rank[rank], .ranks = {}});
    groups[place->second].ranks.push_back(static_cast<int>(rank));
  }
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const Alike& alike) { return alike.ranks.size(); });
  return groups;
}

}  // namespace

std::vector<SharedSteps> share_steps(const std::vector<Steps>& steps_of_rank) {
  const std::vector<Alike> groups = group_alike(steps_of_rank);
  std::vector<Shared> lists;
  std::size_t comparisons = most_comparisons;
  for (const Alike& alike : groups) {
    bool is_added = false;
    for (std::size_t i = 0; !is_added && i < std::min(lists.size(), most_lists); ++i) {
      const Alignment alignment(lists[i].steps, *alike.steps, comparisons);
      is_added = 2 * alignment.pairs().size() >= alike.steps->size();
      if (is_added) lists[i].add(alike, alignment.pairs());
    }
    if (!is_added) lists.emplace_back().add(alike, {});
  }
  std::vector<SharedSteps> shared;
  for (const Shared& list : lists) {
    shared.push_back(list.take());
    shared.back().are_all_ranks = shared.back().ranks().size() == steps_of_rank.size();
  }
  return shared;
}

}  // namespace gang::harness::program_file
