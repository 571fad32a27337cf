// Runs a program file on one rank.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "harness/program_file/operation_call.h"
#include "harness/program_file/program_file.h"
#include "harness/program_file/sizes_only_gang.h"

namespace gang::harness::program_file {
namespace {

// One rank's program: its gangs and started operations by name, and its place in the loops.
class Interpreter {
 public:
  Interpreter(const ProgramFile& file, Rank& rank) : file_(file), rank_(rank) {
    variables_ = {.rank = rank.rank(), .world = rank.world_size(), .iteration = 0};
    root_ = rank.root();
    if (!file.has_data)
      root_ = without_data(
          root_, has_batches(file.blocks) ? MessageSizes::unknown : MessageSizes::checked);
    gangs_["root"] = root_;
  }

  void run() {
    make_layout();
    for (const DeclaredGang& gang : file_.gangs) make_declared(gang);
    run_blocks(file_.blocks);
  }

 private:
  enum class Flow : std::uint8_t { continues, ends };

  struct Started {
    std::unique_ptr<OperationCall> operation;
    Work work;
  };

  void make_layout() {
    if (!file_.layout) return;
    const CallSite site = CallSite::at(file_.layout->place.file, file_.layout->place.line);
    Gangs gangs = create_parallel_gangs(root_, file_.layout->sizes, site);
    if (file_.layout->intra_node_size)
      gangs = create_fsdp_gangs(gangs, file_.layout->intra_node_size, site);
    for (const char* name : {"dp", "rdp", "sdp", "tp", "pp"}) gangs_[name] = gangs.at(name);
  }

  void make_declared(const DeclaredGang& declared) {
    Gang::Split split;
    for (std::size_t list = 0; list < declared.rank_lists.size(); ++list) {
      const std::vector<int>& ranks = declared.rank_lists[list];
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] != rank_.rank()) continue;
        split = {.color = static_cast<int>(list), .key = static_cast<int>(i)};
      }
    }
    gangs_[declared.name] = root_->split(split, {.name = declared.name},
                                         CallSite::at(declared.place.file, declared.place.line));
  }

  Flow run_blocks(const std::vector<Block>& blocks) {
    for (const Block& block : blocks)
      if (block.ranks.contains(rank_.rank()) && run_block(block) == Flow::ends) return Flow::ends;
    return Flow::continues;
  }

  Flow run_block(const Block& block) {
    const std::int64_t outer_iteration = variables_.iteration;
    for (std::int64_t i = 0; i < block.repeat; ++i) {
      if (block.repeat > 1) variables_.iteration = i;
      if (block.when && block.when->evaluate(variables_) == 0) continue;
      for (const Call& call : block.calls)
        if (run_call(call) == Flow::ends) return Flow::ends;
      if (run_blocks(block.blocks) == Flow::ends) return Flow::ends;
    }
    variables_.iteration = outer_iteration;
    return Flow::continues;
  }

  Flow run_call(const Call& call) {
    switch (call.action) {
      case Call::Action::operation:
        run_operation(call);
        break;
      case Call::Action::wait:
        for (const std::string& name : call.works) wait_for(call, name);
        break;
      case Call::Action::wait_any:
        wait_for_any(call);
        break;
      case Call::Action::test:
        if (started(call, call.works.front()).work.test()) complete(call.works.front());
        break;
      case Call::Action::sleep:
        rank_.runtime().sleep_for(*call.duration);
        break;
      case Call::Action::yield:
        rank_.runtime().yield();
        break;
      case Call::Action::fail:
        throw std::runtime_error(call.label);
      case Call::Action::end_program:
        return Flow::ends;
      case Call::Action::abort_gang:
        gang_of(call).abort();
        break;
      case Call::Action::close_gang:
        gang_of(call).close();
        break;
    }
    return Flow::continues;
  }

  void run_operation(const Call& call) {
    const auto contents =
        file_.has_data ? OperationCall::Contents::filled : OperationCall::Contents::none;
    auto operation = std::make_unique<OperationCall>(call, gang_of(call), variables_, contents);
    Work work = operation->perform();
    if (!call.created.empty()) gangs_[call.created] = operation->created();
    if (!call.starts) {
      output_results(*operation);
    } else {
      const std::string name = call.works.empty() ? std::string{} : call.works.front();
      Started& started = works_[name];
      started.work = std::move(work);  // Drops any unfinished work of this name.
      started.operation = std::move(operation);
    }
  }

  void wait_for(const Call& call, const std::string& name) {
    Started& waited = started(call, name);
    if (!call.duration) {
      waited.work.wait();
      complete(name);
    } else if (waited.work.wait(*call.duration)) {
      complete(name);
    }
  }

  void wait_for_any(const Call& call) {
    std::vector<Work> works;
    for (const std::string& name : call.works) works.push_back(std::move(started(call, name).work));
    const std::size_t index = Work::wait_any(works);
    for (std::size_t i = 0; i < works.size(); ++i)
      started(call, call.works[i]).work = std::move(works[i]);
    wait_for(call, call.works[index]);
  }

  void complete(const std::string& name) {
    const auto done = works_.extract(name);
    output_results(*done.mapped().operation);
  }

  void output_results(const OperationCall& operation) {
    if (!file_.has_data) return;
    const std::string name = to_string(operation.call().site());
    for (const TensorView& output : operation.outputs()) rank_.output(name, output);
  }

  Gang& gang_of(const Call& call) {
    const auto found = gangs_.find(call.gang);
    if (found == gangs_.end() || found->second == nullptr)
      fail_at(call.place,
              fmt::format("rank {} is not a member of gang '{}'", rank_.rank(), call.gang));
    return *found->second;
  }

  Started& started(const Call& call, const std::string& name) {
    const auto found = works_.find(name);
    if (found == works_.end())
      fail_at(call.place, fmt::format("rank {} has not started {}", rank_.rank(), name));
    return found->second;
  }

  const ProgramFile& file_;
  Rank& rank_;
  Variables variables_;
  std::shared_ptr<Gang> root_;
  std::map<std::string, std::shared_ptr<Gang>> gangs_;
  std::map<std::string, Started> works_;  // destroyed before the gangs
};

}  // namespace

bool has_batches(const std::vector<Block>& blocks) {
  return std::ranges::any_of(blocks, [](const Block& block) {
    return has_batches(block.blocks) || std::ranges::any_of(block.calls, [](const Call& call) {
             return call.operation == OperationKind::batch;
           });
  });
}

bool RankSelection::contains(int rank) const noexcept {
  for (const Range& range : ranges)
    if (rank >= range.first && rank <= range.last && (rank - range.first) % range.step == 0)
      return true;
  return false;
}

void interpret(const ProgramFile& file, Rank& rank) { Interpreter{file, rank}.run(); }

Program make_program(std::shared_ptr<const ProgramFile> file, ProgramTexts texts) {
  return {
      .name = std::move(texts.name),
      .description = std::move(texts.description),
      .run = [file](Rank& rank) { interpret(*file, rank); },
      .validate = [file](int world_size, const ParameterValues&) { validate(*file, world_size); },
      .source = std::move(texts.source)};
}

}  // namespace gang::harness::program_file
