#include "gang/recording/dump_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/recording/dump_fields.h"
#include "gang/recording/pickle_writer.h"

namespace gang {
namespace {

// Far from the numbers of collectives: torchfrtrace takes calls of one number for calls made as
// one.
constexpr std::int64_t first_message_number = 1'000'000'000;

// What torchfrtrace of PyTorch 2.6 takes an operation for.
std::string_view name_for_torch(OperationKind kind) {
  switch (kind) {
    case OperationKind::all_gather:
    case OperationKind::all_gather_to_list:
      return "_all_gather_base";
    case OperationKind::reduce_scatter:
      return "_reduce_scatter_base";
    case OperationKind::broadcast:
    case OperationKind::gather:
    case OperationKind::scatter:
    case OperationKind::all_to_all:
    case OperationKind::send:
    case OperationKind::recv:
      return to_string(kind);
    default:
      return "all_reduce";
  }
}

class Writer {
 public:
  Writer(const Dump& dump, const CallTable& calls) : dump_(dump), calls_(calls) {}

  std::string run();

 private:
  void field(std::string_view key, std::int64_t value) {
    out_.text(key);
    out_.number(value);
  }
  void field(std::string_view key, std::string_view value) {
    out_.text(key);
    out_.text(value);
  }
  void flag_field(std::string_view key, bool value) {
    out_.text(key);
    out_.flag(value);
  }
  void empty_field(std::string_view key) {
    out_.text(key);
    out_.none();
  }
  std::int64_t next_message(const DumpedCall& call);
  void write_groups();
  void write_entry(const DumpedCall& call);
  void write_no_tensors();
  void write_no_call();
  void write_numbers(const DumpedCall& call);
  void write_tensor(std::string_view side, const Collective& call, std::int64_t times);
  void write_own(const DumpedCall& call);
  std::string profiling_name(const DumpedCall& call) const;
  int own_rank_in(const DumpedGroup& group) const {
    const auto place = std::ranges::find(group.ranks, dump_.rank.value_or(0));
    return place == group.ranks.end() ? 0 : static_cast<int>(place - group.ranks.begin());
  }

  const Dump& dump_;
  const CallTable& calls_;
  PickleWriter out_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t> messages_;  // by group and link
};

std::string Writer::run() {
  out_.begin_map();
  field("version", dump_.version);
  if (dump_.rank) field("rank", *dump_.rank);
  field("gangsim_end", name_of(program_end_names, dump_.end));
  write_groups();
  out_.text("entries");
  out_.begin_list();
  for (const DumpedCall& call : dump_.calls) write_entry(call);
  if (dump_.calls.empty()) write_no_call();
  out_.end_list();
  out_.end_map();
  return out_.take();
}

void Writer::write_groups() {
  out_.text("pg_config");
  out_.begin_map();
  for (const DumpedGroup& group : dump_.groups) {
    out_.text(group.name);
    out_.begin_map();
    field("name", group.name);
    field("desc", group.description);
    field("ranks", fmt::format("[{}]", fmt::join(group.ranks, ", ")));
    out_.end_map();
  }
  if (dump_.calls.empty()) {
    out_.text(dump_fields::no_operation);
    out_.begin_map();
    field("name", dump_fields::no_operation);
    field("desc", dump_fields::no_operation);
    field("ranks", fmt::format("[{}]", dump_.rank.value_or(0)));
    out_.end_map();
  }
  out_.end_map();
  out_.text("pg_status");
  out_.begin_map();
  for (std::size_t i = 0; i < dump_.groups.size(); ++i) {
    const std::int64_t last = dump_.groups[i].last_enqueued.value_or(-1);
    out_.text(std::to_string(i));
    out_.begin_map();
    field("last_enqueued_collective", last);
    field("last_started_collective", last);
    field("last_completed_collective", last);
    out_.end_map();
  }
  out_.end_map();
}

// A number that both ends of a message have, and no other call: torchfrtrace matches calls by it.
std::int64_t Writer::next_message(const DumpedCall& call) {
  const DumpedGroup& group = dump_.groups[call.group];
  const Collective& text = calls_[call.call];
  const auto size = static_cast<std::int64_t>(std::max<std::size_t>(1, group.ranks.size()));
  const std::int64_t self = own_rank_in(group);
  const std::int64_t peer = text.peer < 0 ? self : text.peer;
  const bool is_send = text.kind == OperationKind::send;
  const std::int64_t link = is_send ? self * size + peer : peer * size + self;
  return first_message_number + link + size * size * messages_[{call.group, link}]++;
}

std::string Writer::profiling_name(const DumpedCall& call) const {
  const Collective& text = calls_[call.call];
  std::string name = fmt::format("nccl:{}", name_for_torch(text.kind));
  if (!call.is_message) return name;
  const int self = own_rank_in(dump_.groups[call.group]);
  const int peer = text.peer < 0 ? self : text.peer;
  return text.kind == OperationKind::send ? fmt::format("{} {}->{}", name, self, peer)
                                          : fmt::format("{} {}<-{}", name, self, peer);
}

void Writer::write_numbers(const DumpedCall& call) {
  const DumpedGroup& group = dump_.groups[call.group];
  field("record_id", static_cast<std::int64_t>(call.record));
  field("pg_id", call.group);
  out_.text("process_group");
  out_.begin_tuple();
  out_.text(group.name);
  out_.text(group.description);
  out_.end_tuple();
  const std::int64_t number =
      call.is_message ? next_message(call) : static_cast<std::int64_t>(call.sequence);
  field("collective_seq_id", number);
  field("p2p_seq_id", call.is_message ? number : 0);
  field("op_id", static_cast<std::int64_t>(call.record));
}

// "input": the tensor that fixes the size, or `times` of it in a row.
void Writer::write_tensor(std::string_view side, const Collective& call, std::int64_t times) {
  const bool has_tensor = call.shape.dimensions() != 0 || call.kind <= OperationKind::broadcast;
  out_.text(fmt::format("{}_sizes", side));
  out_.begin_list();
  if (times > 0) {
    out_.begin_list();
    if (times > 1 || !has_tensor)
      out_.number(has_tensor ? times * call.shape.count() : 1);
    else
      for (const std::int64_t extent : call.shape.extents()) out_.number(extent);
    out_.end_list();
  }
  out_.end_list();
  out_.text(fmt::format("{}_dtypes", side));
  out_.begin_list();
  if (times > 0) out_.text(dump_fields::name_of_type(call.data_type));
  out_.end_list();
}

// Fields of ours. `operation` etc. replace what PyTorch's fields say.
void Writer::write_own(const DumpedCall& call) {
  const Collective& text = calls_[call.call];
  out_.text("gangsim");
  out_.begin_map();
  field("operation", to_string(text.kind));
  if (reduces(text.kind)) field("reduce_operation", to_string(text.reduce_operation));
  if (call.is_message) field("sequence", static_cast<std::int64_t>(call.sequence));
  field("count", text.count);
  field("peer", text.peer);
  field("tag", text.tag);
  if (!text.label.empty()) field("label", text.label);
  flag_field("is_blocking", text.blocking);
  flag_field("is_in_stream", call.is_in_stream);
  if (call.has_waits && call.waited) field("waited", static_cast<std::int64_t>(*call.waited));
  if (call.has_waits && !call.waited) empty_field("waited");
  out_.end_map();
}

void Writer::write_entry(const DumpedCall& call) {
  const Collective& text = calls_[call.call];
  const auto size = static_cast<std::int64_t>(dump_.groups[call.group].ranks.size());
  const bool gathers =
      text.kind == OperationKind::all_gather || text.kind == OperationKind::all_gather_to_list;
  out_.begin_map();
  write_numbers(call);
  field("profiling_name", profiling_name(call));
  field("time_created_ns", call.created_ns);
  write_tensor("input", text, text.kind == OperationKind::reduce_scatter ? size : 1);
  write_tensor("output", text, gathers ? size : 1);
  field("state", name_of(dumped_state_names, call.state));
  flag_field("is_p2p", call.is_message);
  flag_field("retired", call.state == DumpedState::completed);
  field("timeout_ms", 0);
  empty_field("time_discovered_started_ns");
  empty_field("time_discovered_completed_ns");
  out_.text("frames");
  out_.begin_list();
  if (*text.call_site.file() != '\0') {
    out_.begin_map();
    field("name", text.call_site.function());
    field("filename", text.call_site.file());
    field("line", text.call_site.line());
    out_.end_map();
  }
  out_.end_list();
  write_own(call);
  out_.end_map();
}

void Writer::write_no_tensors() {
  for (const char* side : {"input_sizes", "output_sizes", "input_dtypes", "output_dtypes"}) {
    out_.text(side);
    out_.begin_list();
    out_.end_list();
  }
}

// Of a group that nobody else is in.
void Writer::write_no_call() {
  out_.begin_map();
  for (const char* key :
       {"record_id", "pg_id", "collective_seq_id", "p2p_seq_id", "op_id", "time_created_ns"})
    field(key, 0);
  out_.text("process_group");
  out_.begin_tuple();
  out_.text(dump_fields::no_operation);
  out_.text(dump_fields::no_operation);
  out_.end_tuple();
  field("profiling_name", "nccl:all_reduce");
  write_no_tensors();
  field("state", name_of(dumped_state_names, DumpedState::completed));
  flag_field("is_p2p", false);
  out_.text("frames");
  out_.begin_list();
  out_.end_list();
  out_.text("gangsim");
  out_.begin_map();
  field("operation", dump_fields::no_operation);
  out_.end_map();
  out_.end_map();
}

}  // namespace

std::string to_pickle(const Dump& dump, const CallTable& calls) {
  return Writer(dump, calls).run();
}

}  // namespace gang
