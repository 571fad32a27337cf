#include "harness/recording/recorded_program.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/recording/dump_writer.h"
#include "gang/recording/recording_gang.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

std::string note_of(const CallRing& ring, ProgramEnd end) {
  CallTable calls;
  const Dump dump = ring.dump(calls, end);
  return to_pickle(dump, calls);
}

}  // namespace

Program recorded(Program program, bool is_in_stream) {
  program.run = [run = std::move(program.run), is_in_stream](Rank& rank) {
    const auto ring = std::make_shared<CallRing>(CallRing::Options{
        .rank = rank.rank(), .is_in_stream = is_in_stream, .runtime = &rank.runtime()});
    const std::shared_ptr<Gang> root = std::make_shared<RecordingGang>(rank.root(), ring);
    Rank recording(rank, root);
    try {
      run(recording);
    } catch (const std::exception&) {
      rank.note(note_of(*ring, ProgramEnd::failed));
      throw;
    } catch (...) {  // the simulation is over
      rank.note(note_of(*ring, ProgramEnd::none));
      throw;
    }
    rank.note(note_of(*ring, ProgramEnd::returned));
  };
  return program;
}

bool runs_in_streams(const RunSpecification& specification) {
  return specification.backend == BackendKind::nccl ||
         specification.backend == BackendKind::sim_nccl ||
         specification.options.execution == sim::ExecutionModel::stream_ordered;
}

void write_dumps(const RunResult& result, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw InvalidArgument(
        fmt::format("--record: folder {} cannot be made: {}", folder, error.message()));
  for (std::size_t rank = 0; rank < result.notes.size(); ++rank)
    if (!result.notes[rank].empty())
      OutputFile("--record", fmt::format("{}/nccl_trace_rank_{}", folder, rank))
          .commit(result.notes[rank]);
}

}  // namespace gang::harness
