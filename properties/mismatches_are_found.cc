#include "properties/mismatches_are_found.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/case_text.h"
#include "properties/program_verdict.h"
#include "properties/rank_check.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

struct FieldText {
  const char* text;
  std::string_view finding;
};

FieldText text_of(MatchField field) {
  namespace id = sim::finding_id;
  static constexpr FieldText texts[] = {
      {"operation", id::mismatch_operation}, {"count", id::mismatch_count},
      {"data type", id::mismatch_data_type}, {"reduce operation", id::mismatch_reduce_operation},
      {"root", id::mismatch_root},           {"label", id::mismatch_label},
      {"blocking", id::mismatch_blocking},   {"rank list", id::mismatch_ranks}};
  return texts[static_cast<std::size_t>(field)];
}

constexpr MatchField all_fields[] = {
    MatchField::operation, MatchField::count, MatchField::data_type, MatchField::reduce_operation,
    MatchField::root,      MatchField::label, MatchField::blocking,  MatchField::ranks};

std::vector<OperationKind> kinds_with(MatchField field) {
  using enum OperationKind;
  switch (field) {
    case MatchField::reduce_operation:
      return {all_reduce, reduce, reduce_scatter};
    case MatchField::root:
      return {reduce, gather, broadcast};
    case MatchField::ranks:
      return {create_gang};
    case MatchField::count:
    case MatchField::data_type:
      return {all_reduce, reduce, reduce_scatter, all_gather, gather, all_to_all, broadcast};
    default:
      return {all_reduce, reduce_scatter, all_gather, broadcast, barrier};
  }
}

// What one rank passes: the same as the others, or the odd one out's variant.
struct Arguments {
  OperationKind kind;
  int count;
  DataType type = DataType::f32;
  ReduceOperation reduce_operation = ReduceOperation::sum;
  int root = 0;
  CallOptions options = {};
  bool is_started = false;
  bool is_reversed = false;  // create_gang's list
};

Arguments arguments_of(const MismatchCase& mismatch, bool is_odd) {
  Arguments arguments{.kind = mismatch.kind, .count = mismatch.count};
  if (mismatch.field == MatchField::label) arguments.options.label = is_odd ? "step 4" : "step 3";
  if (!is_odd) return arguments;
  switch (mismatch.field) {
    case MatchField::operation:
      arguments.kind = mismatch.kind == OperationKind::barrier ? OperationKind::all_reduce
                                                               : OperationKind::barrier;
      break;
    case MatchField::count:
      ++arguments.count;
      break;
    case MatchField::data_type:
      arguments.type = DataType::i32;
      break;
    case MatchField::reduce_operation:
      arguments.reduce_operation = ReduceOperation::max;
      break;
    case MatchField::root:
      arguments.root = 1;
      break;
    case MatchField::label:
      break;
    case MatchField::blocking:
      arguments.is_started = true;
      break;
    case MatchField::ranks:
      arguments.is_reversed = true;
      break;
  }
  return arguments;
}

// Memory for the largest operand: every type here has four bytes.
class Memory {
 public:
  Memory(const Gang& gang, const Arguments& arguments)
      : type_(arguments.type),
        count_(arguments.count),
        words_(static_cast<std::size_t>(2 * gang.size() * arguments.count)) {}

  TensorView one() { return whole().slice(0, count_); }
  TensorView per_rank() { return whole().slice(0, whole().count() / 2); }
  TensorView per_rank_out() { return whole().slice(whole().count() / 2, whole().count() / 2); }
  TensorView one_out() { return whole().slice(whole().count() / 2, count_); }
  std::vector<TensorView> list_out() {
    std::vector<TensorView> list;
    for (std::int64_t i = whole().count() / 2; i < whole().count(); i += count_)
      list.push_back(whole().slice(i, count_));
    return list;
  }

 private:
  TensorView whole() {
    return {words_.data(), type_, Shape::vector(static_cast<std::int64_t>(words_.size()))};
  }
  DataType type_;
  int count_;
  std::vector<std::uint32_t> words_;
};

void call_create_gang(Gang& gang, const Arguments& arguments) {
  std::vector<int> ranks(static_cast<std::size_t>(gang.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  if (arguments.is_reversed) std::ranges::reverse(ranks);
  gang.create_gang(ranks);
}

// A started call matches a blocking one unless `blocking` is the field in question.
Work start(Gang& gang, const Arguments& arguments, Memory& memory) {
  const CallOptions& options = arguments.options;
  switch (arguments.kind) {
    case OperationKind::all_reduce:
      return gang.start_all_reduce(memory.one(), arguments.reduce_operation, options);
    case OperationKind::reduce_scatter:
      return gang.start_reduce_scatter(memory.one_out(), memory.per_rank(),
                                       arguments.reduce_operation, options);
    case OperationKind::all_gather:
      return gang.start_all_gather(memory.per_rank_out(), memory.one(), options);
    case OperationKind::broadcast:
      return gang.start_broadcast(memory.one(), arguments.root, options);
    default:
      return gang.start_barrier(options);
  }
}

void call(Gang& gang, const Arguments& arguments) {
  Memory memory(gang, arguments);
  const CallOptions& options = arguments.options;
  const ReduceOperation operation = arguments.reduce_operation;
  if (arguments.is_started) return start(gang, arguments, memory).wait();
  switch (arguments.kind) {
    case OperationKind::all_reduce:
      return gang.all_reduce(memory.one(), operation, options);
    case OperationKind::reduce:
      return gang.reduce(memory.one(), operation, arguments.root, options);
    case OperationKind::reduce_scatter:
      return gang.reduce_scatter(memory.one_out(), memory.per_rank(), operation, options);
    case OperationKind::all_gather:
      return gang.all_gather(memory.per_rank_out(), memory.one(), options);
    case OperationKind::gather: {
      const auto list =
          gang.rank() == arguments.root ? memory.list_out() : std::vector<TensorView>();
      return gang.gather(list, memory.one(), arguments.root, options);
    }
    case OperationKind::all_to_all:
      return gang.all_to_all(memory.per_rank_out(), memory.per_rank(), options);
    case OperationKind::broadcast:
      return gang.broadcast(memory.one(), arguments.root, options);
    case OperationKind::create_gang:
      return call_create_gang(gang, arguments);
    default:
      return gang.barrier(options);
  }
}

// Every member must get a GangError of kind mismatch, and so must its next call.
std::string check_rank(const MismatchCase& mismatch, Gang& gang) {
  for (int i = 0; i < mismatch.calls_before; ++i) gang.barrier();
  const bool is_odd = gang.rank() == mismatch.odd_rank;
  const auto expect_mismatch = [](const auto& body, const char* what) -> std::string {
    try {
      body();
      return fmt::format("{} ended without an error", what);
    } catch (const GangError& error) {
      if (error.kind() == GangErrorKind::mismatch) return {};
      return fmt::format("{} ended with {}", what, to_string(error.kind()));
    }
  };
  std::string complaint =
      expect_mismatch([&] { call(gang, arguments_of(mismatch, is_odd)); }, "the mismatched call");
  if (!complaint.empty()) return complaint;
  return expect_mismatch([&gang] { gang.barrier(); }, "the next call, on the broken gang,");
}

sim::SimulationOptions options_of(const MismatchCase& mismatch) {
  sim::SimulationOptions options;
  options.world_size = mismatch.world;
  options.scheduler = mismatch.scheduler;
  options.seed = mismatch.seed;
  options.strict_blocking = mismatch.field == MatchField::blocking;
  return options;
}

Verdict verdict_of(const MismatchCase& mismatch, const CheckedRun& run) {
  if (!run.complaint.empty()) return Verdict::violated(run.complaint);
  const std::string_view expected = text_of(mismatch.field).finding;
  const auto& findings = run.report.findings;
  if (std::string problem = problem_of(findings, expected); !problem.empty())
    return Verdict::violated(std::move(problem));
  if (findings.front().ranks != std::vector{mismatch.odd_rank})
    return Verdict::violated(fmt::format("the finding names ranks [{}], expected [{}]",
                                         fmt::join(findings.front().ranks, ","),
                                         mismatch.odd_rank));
  return Verdict::holds();
}

Verdict judge_mismatch(const MismatchCase& mismatch, const Subject& subject) {
  const CheckedRun run = run_checked(options_of(mismatch), subject, [&](sim::SimulatedRank& rank) {
    return check_rank(mismatch, *subject.wrapped(rank.root()));
  });
  return verdict_of(mismatch, run).shown_by(run.report);
}

}  // namespace

MismatchCase generate_mismatch(Draw& draw) {
  MismatchCase mismatch;
  mismatch.field = draw.any_of(all_fields);
  mismatch.kind = draw.any_of(kinds_with(mismatch.field));
  mismatch.world = draw.world(3);
  mismatch.odd_rank = draw.between(0, mismatch.world - 1);
  mismatch.calls_before = draw.between(0, 3);
  mismatch.count = draw.between(1, 5);
  if (draw.one_in(2)) mismatch.scheduler = sim::SchedulerKind::random;
  mismatch.seed = draw.random.below(100);
  return mismatch;
}

std::string to_text(const MismatchCase& mismatch) {
  return fmt::format("world {}, rank {} differs in the {} of {}, after {}, count {}, {}",
                     mismatch.world, mismatch.odd_rank, text_of(mismatch.field).text,
                     to_string(mismatch.kind), counted(mismatch.calls_before, "call"),
                     mismatch.count, schedule_text(mismatch.scheduler, mismatch.seed));
}

std::vector<MismatchCase> shrinks(const MismatchCase& mismatch) {
  SimplerCases simpler(mismatch);
  simpler.lower(&MismatchCase::world, 3);
  simpler.lower(&MismatchCase::world, std::max(3, mismatch.world - 1));
  simpler.lower(&MismatchCase::calls_before, 0);
  simpler.lower(&MismatchCase::count, 1);
  simpler.lower(&MismatchCase::odd_rank, 0);
  simpler.lower(&MismatchCase::scheduler, sim::SchedulerKind::round_robin);
  simpler.lower(&MismatchCase::seed, 0);
  simpler.lower(&MismatchCase::kind, kinds_with(mismatch.field).front());
  std::vector<MismatchCase> cases = simpler.take();
  for (MismatchCase& one : cases) one.odd_rank = std::min(one.odd_rank, one.world - 1);
  return cases;
}

std::vector<Property> mismatches_are_found(const Subject& subject) {
  return {to_property(Law<MismatchCase>{
      .suite = "mismatches_are_found",
      .name = "any_field_names_the_odd_rank",
      .description = "One finding names the field and the odd rank; every member gets the error.",
      .generate = generate_mismatch,
      .verdict = [subject](const MismatchCase& mismatch) {
        return judge_mismatch(mismatch, subject);
      }})};
}

}  // namespace gang::properties
