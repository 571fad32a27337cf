#include "harness/program_file/retold_program.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "harness/program_file/recorded_call_texts.h"
#include "harness/program_file/step_folding.h"
#include "sim/text/rank_ranges.h"

namespace gang::harness::program_file {
namespace {

using StepsOfRank = std::vector<std::vector<std::uint32_t>>;

std::size_t count_different(StepsOfRank steps) {
  std::ranges::sort(steps);
  const auto rest = std::ranges::unique(steps);
  return static_cast<std::size_t>(rest.begin() - steps.begin());
}

StepsOfRank to_texts(const std::vector<std::vector<RecordedStep>>& steps,
                     RecordedCallTexts& texts) {
  StepsOfRank indexes;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    std::vector<std::uint32_t>& own = indexes.emplace_back();
    for (const RecordedStep& step : steps[rank])
      own.push_back(texts.index_of(step, static_cast<int>(rank)));
  }
  return indexes;
}

bool has_messages(const Recording& recording) {
  return std::ranges::any_of(recording.ranks, [](const RankRecording& rank) {
    return std::ranges::any_of(rank.calls, &RankCall::is_message);
  });
}

// A TOML string: literal where it can be.
std::string quoted_toml(const std::string& text) {
  if (text.find('"') == std::string::npos && text.find('\\') == std::string::npos)
    return '"' + text + '"';
  if (text.find('\'') == std::string::npos) return '\'' + text + '\'';
  std::string escaped = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') escaped += '\\';
    escaped += character;
  }
  return escaped + '"';
}

std::string all_ranges(const std::vector<int>& ranks) {
  return sim::to_rank_ranges(ranks, ranks.size());
}

class TomlWriter {
 public:
  explicit TomlWriter(const RecordedCallTexts& texts) : texts_(texts) {}

  void write(const std::vector<FoldedBlock>& blocks, const std::string& key) {
    for (const FoldedBlock& block : blocks) {
      toml_ += fmt::format("\n[[{}]]\n", key);
      if (!block.ranks.empty()) toml_ += fmt::format("ranks = \"{}\"\n", all_ranges(block.ranks));
      if (block.repeat > 1) toml_ += fmt::format("repeat = {}\n", block.repeat);
      if (!block.when.empty()) toml_ += fmt::format("when = \"{}\"\n", block.when);
      if (!block.steps.empty()) write_calls(block.steps);
      write(block.blocks, key + ".do");
    }
  }

  std::string toml_;

 private:
  void write_calls(const std::vector<std::uint32_t>& steps) {
    toml_ += "calls = [\n";
    for (const std::uint32_t step : steps) {
      toml_ += fmt::format("  {},\n", quoted_toml(texts_[step]));
    }
    toml_ += "]\n";
  }

  const RecordedCallTexts& texts_;
};

class FileBuilder {
 public:
  FileBuilder(const RecordedCallTexts& texts, const ProgramFile& file)
      : texts_(texts), file_(file) {}

  std::vector<Block> blocks(const std::vector<FoldedBlock>& folded) {
    std::vector<Block> blocks;
    for (const FoldedBlock& one : folded) {
      Block& block = blocks.emplace_back();
      block.place = {.file = file_.path.c_str()};
      block.ranks = ranks_of(one.ranks);
      block.repeat = one.repeat;
      if (!one.when.empty()) {
        Tokens tokens(one.when, block.place);
        block.when = Expression::parse(tokens);
      }
      for (const std::uint32_t step : one.steps)
        block.calls.push_back(parse_call(texts_[step], block.place));
      block.blocks = this->blocks(one.blocks);
    }
    return blocks;
  }

 private:
  static RankSelection ranks_of(const std::vector<int>& ranks) {
    if (ranks.empty()) return {.ranges = {{0, sim::SimulationOptions::max_world_size, 1}}};
    RankSelection selection{.ranges = {}, .largest = ranks.back()};
    for (const sim::RankRange& range : sim::rank_ranges(ranks))
      selection.ranges.push_back({range.first, range.last, range.stride});
    return selection;
  }

  const RecordedCallTexts& texts_;
  const ProgramFile& file_;
};

std::string head_of(const RetoldProgram& program, const RecordedGangs& gangs,
                    const Recording& recording, const std::string& name) {
  const std::string evidence = to_string(sim::Certainty{.recorded = recording.evidence});
  std::string toml = fmt::format("# What the ranks of {} called, {}.\n", name, evidence);
  toml += fmt::format("world = {}\ndata = false  # tensors have sizes, but no contents\n",
                      program.world_size);
  const std::vector<RecordedGangs::Gang> declared = gangs.declared();
  if (!declared.empty()) toml += "\n[gangs]\n";
  for (const RecordedGangs::Gang& gang : declared) {
    std::vector<std::string> lists;
    for (const std::vector<int>& ranks : gang.rank_lists)
      lists.push_back(fmt::format("[{}]", fmt::join(ranks, ", ")));
    toml += fmt::format("{} = [{}]\n", gang.name, fmt::join(lists, ", "));
  }
  if (program.execution != sim::ExecutionModel::independent)
    toml += fmt::format("\n[options]\nexecution = \"{}\"\n", to_string(program.execution));
  return toml;
}

}  // namespace

RetoldProgram retell(const Recording& recording, const std::string& name) {
  const OpenCalls open = find_open_calls(recording);
  const std::vector<std::vector<RecordedStep>> steps = steps_of(recording, open);
  const RecordedGangs gangs(recording);
  RecordedCallTexts texts(recording, gangs, PeerText::number);
  StepsOfRank indexes = to_texts(steps, texts);
  // Neighbours are better written as distances if more ranks do the same then.
  RecordedCallTexts distances(recording, gangs, PeerText::distance);
  bool uses_distances = false;
  if (has_messages(recording)) {
    StepsOfRank other = to_texts(steps, distances);
    uses_distances = count_different(other) < count_different(indexes);
    if (uses_distances) indexes = std::move(other);
  }
  const RecordedCallTexts& chosen = uses_distances ? distances : texts;
  const std::vector<FoldedBlock> folded = fold_steps(indexes);
  if (folded.empty())
    throw InvalidArgument(fmt::format("{} has no calls that a program could make", name));

  RetoldProgram program{.world_size = recording.world_size()};
  if (is_stream_ordered(recording, open)) program.execution = sim::ExecutionModel::stream_ordered;
  TomlWriter writer(chosen);
  writer.write(folded, "do");
  program.toml = head_of(program, gangs, recording, name) + writer.toml_;

  const auto file = std::make_shared<ProgramFile>();
  file->path = name;
  file->has_data = false;
  for (RecordedGangs::Gang& gang : gangs.declared())
    file->gangs.push_back({.name = std::move(gang.name),
                           .rank_lists = std::move(gang.rank_lists),
                           .place = {.file = file->path.c_str()}});
  file->blocks = FileBuilder(chosen, *file).blocks(folded);
  program.file = file;
  return program;
}

}  // namespace gang::harness::program_file
