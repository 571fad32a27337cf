#include "properties/mismatches_are_found.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/rank_check.h"

namespace gang::properties {
namespace {

struct FieldText {
  const char* text;
  std::string_view finding;
};

FieldText text_of(MatchField field) {
  namespace id = sim::finding_id;
  switch (field) {
    case MatchField::operation:
      return {"operation", id::mismatch_operation};
    case MatchField::count:
      return {"count", id::mismatch_count};
    case MatchField::data_type:
      return {"data type", id::mismatch_data_type};
    case MatchField::reduce_operation:
      return {"reduce operation", id::mismatch_reduce_operation};
    case MatchField::root:
      return {"root", id::mismatch_root};
    case MatchField::label:
      return {"label", id::mismatch_label};
    case MatchField::blocking:
      return {"blocking", id::mismatch_blocking};
    case MatchField::ranks:
      return {"rank list", id::mismatch_ranks};
  }
  return {"", ""};
}

constexpr MatchField all_fields[] = {
    MatchField::operation, MatchField::count, MatchField::data_type, MatchField::reduce_operation,
    MatchField::root,      MatchField::label, MatchField::blocking,  MatchField::ranks};

// The operations that have the field.
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

// What one rank passes: as everyone does, or with the odd one out's difference.
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
    for (std::int64_t i = whole().count() / 2; i < whole().count(); i += count_) {
      list.push_back(whole().slice(i, count_));
    }
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

// Started; a blocking call is a start and a wait as far as `blocking` goes only where it is not the
// field in question.
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
      expect_mismatch([&] { call(gang, arguments_of(mismatch, is_odd)); }, "the call that differs");
  if (!complaint.empty()) return complaint;
  return expect_mismatch([&gang] { gang.barrier(); }, "the call after it, on a broken gang,");
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
  if (run.report.findings.size() != 1) {
    return Verdict::violated(fmt::format("the run has {} findings, expected one {}",
                                         run.report.findings.size(), expected));
  }
  const sim::Finding& finding = run.report.findings.front();
  if (finding.id != expected) {
    return Verdict::violated(fmt::format("the finding is {}, expected {}", finding.id, expected));
  }
  if (finding.ranks != std::vector{mismatch.odd_rank}) {
    return Verdict::violated(fmt::format("the finding names ranks [{}], the odd one is {}",
                                         fmt::join(finding.ranks, ","), mismatch.odd_rank));
  }
  return Verdict::holds();
}

Verdict judge(const MismatchCase& mismatch, const Subject& subject) {
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
  return fmt::format(
      "world {}, rank {} differs in the {} of {}, {} call{} before, count {}, {} schedule seed {}",
      mismatch.world, mismatch.odd_rank, text_of(mismatch.field).text, to_string(mismatch.kind),
      mismatch.calls_before, mismatch.calls_before == 1 ? "" : "s", mismatch.count,
      to_string(mismatch.scheduler), mismatch.seed);
}

std::vector<MismatchCase> shrinks(const MismatchCase& mismatch) {
  std::vector<MismatchCase> simpler;
  const auto add = [&](auto field, auto value) {
    if (!(value < mismatch.*field)) return;
    simpler.push_back(mismatch);
    simpler.back().*field = value;
    simpler.back().odd_rank = std::min(simpler.back().odd_rank, simpler.back().world - 1);
  };
  add(&MismatchCase::world, 3);
  add(&MismatchCase::world, mismatch.world - 1 < 3 ? 3 : mismatch.world - 1);
  add(&MismatchCase::calls_before, 0);
  add(&MismatchCase::count, 1);
  add(&MismatchCase::odd_rank, 0);
  add(&MismatchCase::scheduler, sim::SchedulerKind::round_robin);
  add(&MismatchCase::seed, std::uint64_t{0});
  add(&MismatchCase::kind, kinds_with(mismatch.field).front());
  return simpler;
}

std::vector<Property> mismatches_are_found(const Subject& subject) {
  Law<MismatchCase> law;
  law.suite = "mismatches_are_found";
  law.name = "any_field_names_the_odd_rank";
  law.description =
      "One finding, of the field's kind, with the odd rank; every member gets the error.";
  law.generate = generate_mismatch;
  law.verdict = [subject](const MismatchCase& mismatch) { return judge(mismatch, subject); };
  return {to_property(law)};
}

}  // namespace gang::properties
