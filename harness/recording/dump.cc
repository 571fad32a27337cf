#include "harness/recording/dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/recording/dump_fields.h"
#include "gang/visible_text.h"
#include "harness/recording/json_dump_reader.h"
#include "harness/recording/pickle_reader.h"
#include "harness/recording/value_reader.h"

namespace gang::harness {
namespace {

using Value = ValueTree::Value;

std::int64_t product(std::int64_t one, std::int64_t other) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return other != 0 && one > most / other ? most : one * other;
}

// The end of a group of calls, which are no longer there.
Collective alone(const Collective& marker) {
  Collective call = marker;
  call.kind = OperationKind::barrier;
  call.label = "coalesced";
  return call;
}

// Whether a frame is PyTorch's own, or no line of a program.
bool is_of_torch(std::string_view file) {
  return file.find("/torch/") != std::string_view::npos || file.starts_with("torch/") ||
         file.starts_with('<') || file.starts_with("??");
}

// Fields of the entries.
struct EntryFields {
  using Field = ValueField;
  Field record_id{"record_id"}, process_group{"process_group"}, pg_id{"pg_id"};
  Field collective_seq_id{"collective_seq_id"}, p2p_seq_id{"p2p_seq_id"}, is_p2p{"is_p2p"};
  Field profiling_name{"profiling_name"}, state{"state"}, created{"time_created_ns"};
  Field input_sizes{"input_sizes"}, output_sizes{"output_sizes"};
  Field input_types{"input_dtypes"}, output_types{"output_dtypes"};
  Field frames{"frames"}, filename{"filename"}, line{"line"};
  // Of gangsim's own dumps.
  Field own{"gangsim"}, operation{"operation"}, reduce_operation{"reduce_operation"};
  Field count{"count"}, sequence{"sequence"}, peer{"peer"}, tag{"tag"}, label{"label"};
  Field is_blocking{"is_blocking"}, is_in_stream{"is_in_stream"}, waited{"waited"};
};

class DumpReader : ValueReader {
 public:
  DumpReader(const ValueTree& tree, std::size_t size, CallTable& calls)
      : ValueReader(tree, size), root_(tree.root()), calls_(calls) {}

  Dump read();

 private:
  void read_groups(const Value& root);
  void read_status(const Value& root);
  void read_entry(const Value& entry);
  std::uint32_t group_of(const Value& entry);
  std::uint32_t group_named(std::string_view name, std::string_view description);
  std::vector<int> ranks_of(const Value& value);
  void read_operation(std::string_view name, DumpedCall& read, Collective& call);
  void read_peer(std::string_view text, Collective& call) const;
  void read_tensors(const Value& entry, Collective& call);
  void read_type(const Value& entry, bool is_input, Collective& call);
  struct Place {
    std::string_view file;  // empty: none
    std::uint32_t line = 0;
  };
  Place read_place(const Value& entry);
  void read_own(const Value& entry, DumpedCall& read, Collective& call);
  void merge(const DumpedCall& read);

  // The extents of a list of tensors: of the only one, or of all as one row.
  std::optional<Shape> shape_of(const Value* sizes);

  const Value& root_;
  CallTable& calls_;
  EntryFields fields_;
  Dump dump_;
  bool is_after_marker_ = false;  // the call before ended a group of calls
  std::map<std::pair<std::string, std::string>, std::uint32_t> groups_;  // by name, description
  std::map<std::string, std::uint32_t, std::less<>> group_of_id_;        // by pg_id
};

Dump DumpReader::read() {
  const Value& root = root_;
  const Value* version = find(root, "version");
  const Value* entries = find(root, "entries");
  if (version == nullptr || (entries == nullptr && find(root, "pg_config") == nullptr))
    fail("not a Flight Recorder dump: fields version and entries are missing");
  dump_.version = visible(text_or(version, ""));
  if (const auto rank = number_in(find(root, "rank")); rank && *rank >= 0)
    if (*rank < most_recorded_ranks) dump_.rank = static_cast<int>(*rank);
  const std::string_view end = text_or(find(root, "gangsim_end"), "none");
  dump_.end = parse_name(program_end_names, end).value_or(ProgramEnd::none);
  read_groups(root);
  if (entries != nullptr) {
    const std::span<const Value> all = items(*entries);
    dump_.calls.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      enter(i);
      read_entry(all[i]);
    }
    leave();
  }
  read_status(root);
  return std::move(dump_);
}

std::vector<int> DumpReader::ranks_of(const Value& value) {
  std::vector<int> ranks;
  const auto add = [&](std::int64_t rank) {
    if (rank < 0 || rank >= most_recorded_ranks)
      fail(fmt::format("rank {} of a group is out of range", rank));
    ranks.push_back(static_cast<int>(rank));
  };
  for (const Value& item : items(value))
    if (const auto* rank = std::get_if<std::int64_t>(&item)) add(*rank);
  const std::string_view text = text_or(&value, "");
  for (const char* at = text.data(); at != text.data() + text.size();) {
    std::int64_t rank = 0;
    const auto [stop, error] = std::from_chars(at, text.data() + text.size(), rank);
    if (error == std::errc{}) add(rank);
    at = error == std::errc{} ? stop : at + 1;
  }
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) fail("a group has the same rank twice");
  return ranks;
}

// "pg_config": by name, each with its description and ranks.
void DumpReader::read_groups(const Value& root) {
  const Value* config = find(root, "pg_config");
  if (config == nullptr) return;
  const std::span<const Value> groups = items(*config);
  for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
    const std::string_view name = text_or(find(groups[i + 1], "name"), text_or(&groups[i], ""));
    if (name == dump_fields::no_operation) continue;
    const std::uint32_t group =
        group_named(name, text_or(find(groups[i + 1], "desc"), "undefined"));
    if (const Value* ranks = find(groups[i + 1], "ranks"))
      dump_.groups[group].ranks = ranks_of(*ranks);
  }
}

// "pg_status": by pg_id, which the entries of a group have.
void DumpReader::read_status(const Value& root) {
  const Value* status = find(root, "pg_status");
  if (status == nullptr) return;
  const std::span<const Value> groups = items(*status);
  for (std::size_t i = 0; i + 1 < groups.size(); i += 2) {
    const auto group = group_of_id_.find(text_or(&groups[i], ""));
    const auto last = number_in(find(groups[i + 1], "last_enqueued_collective"));
    if (group != group_of_id_.end() && last) dump_.groups[group->second].last_enqueued = *last;
  }
}

std::uint32_t DumpReader::group_named(std::string_view name, std::string_view description) {
  const auto [place, is_new] = groups_.try_emplace({std::string(name), std::string(description)},
                                                   static_cast<std::uint32_t>(groups_.size()));
  if (is_new) dump_.groups.push_back({.name = visible(name), .description = visible(description)});
  return place->second;
}

std::uint32_t DumpReader::group_of(const Value& entry) {
  const Value* value = find(entry, fields_.process_group);
  if (value == nullptr) fail("field process_group is missing");
  const std::span<const Value> parts = items(*value);
  const std::string_view name = parts.empty() ? text_or(value, "") : text_or(&parts[0], "");
  const std::string_view description = parts.size() < 2 ? "undefined" : text_or(&parts[1], "");
  const std::uint32_t group = group_named(name, description);
  if (const auto id = number_in(find(entry, fields_.pg_id)))
    group_of_id_.try_emplace(std::to_string(*id), group);
  return group;
}

// "2" of "send 1->2", "0" of "recv 3<-0".
void DumpReader::read_peer(std::string_view text, Collective& call) const {
  const std::size_t arrow = std::min(text.find("->"), text.find("<-"));
  const std::string_view number = arrow == std::string_view::npos ? "" : text.substr(arrow + 2);
  int peer = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), peer);
  const bool is_peer = error == std::errc{} && stop == number.data() + number.size() && peer >= 0;
  if (!is_peer && call.kind == OperationKind::send)
    fail(fmt::format("'{}' does not say to whom", visible(text)));
  call.peer = is_peer ? peer : any_rank;
}

// "nccl:all_reduce".
void DumpReader::read_operation(std::string_view name, DumpedCall& read, Collective& call) {
  const std::size_t colon = name.find(':');
  read.has_state = read.is_in_stream = name.substr(0, colon) != "gloo";
  const std::string_view operation =
      colon == std::string_view::npos ? name : name.substr(colon + 1);
  const std::size_t space = operation.find(' ');
  const std::optional<OperationKind> known =
      dump_fields::operation_named(operation.substr(0, space));
  call.kind = known.value_or(OperationKind::barrier);
  call.reduce_operation = unknown_reduce_operation;
  call.blocking = false;
  if (!known) call.label = operation;
  if (call.kind == OperationKind::send || call.kind == OperationKind::recv) {
    read.is_message = true;
    read_peer(space == std::string_view::npos ? "" : operation.substr(space + 1), call);
  }
}

std::optional<Shape> DumpReader::shape_of(const Value* sizes) {
  if (sizes == nullptr) return std::nullopt;
  const std::span<const Value> tensors = items(*sizes);
  if (tensors.empty()) return std::nullopt;
  std::int64_t sum = 0;
  std::array<std::int64_t, Shape::max_rank> extents{};
  std::size_t dimensions = 0;
  for (const Value& tensor : tensors) {
    std::int64_t count = 1;
    dimensions = 0;
    for (const Value& item : items(tensor)) {
      const auto* extent = std::get_if<std::int64_t>(&item);
      if (extent == nullptr || *extent < 0) fail("a tensor's size is not a number of 0 or more");
      count = product(count, *extent);
      if (dimensions < extents.size()) extents[dimensions] = *extent;
      ++dimensions;
    }
    sum = count > std::numeric_limits<std::int64_t>::max() - sum
              ? std::numeric_limits<std::int64_t>::max()
              : sum + count;
  }
  const bool fits = tensors.size() == 1 && dimensions <= extents.size() &&
                    sum < std::numeric_limits<std::int64_t>::max();
  return fits ? Shape(std::span<const std::int64_t>(extents).first(dimensions))
              : Shape::vector(sum);
}

void DumpReader::read_type(const Value& entry, bool is_input, Collective& call) {
  const Value* types_of = find(entry, is_input ? fields_.input_types : fields_.output_types);
  if (types_of == nullptr) return;
  const std::span<const Value> names = items(*types_of);
  if (names.empty()) return;
  const std::string_view name = text_or(&names[0], "");
  const std::optional<DataType> known = dump_fields::type_named(name);
  call.data_type = known.value_or(DataType::u8);
  if (!known) call.label = name;
}

// The tensor that fixes the size: the smaller of input and output.
void DumpReader::read_tensors(const Value& entry, Collective& call) {
  if (call.kind == OperationKind::barrier && call.label.empty()) return;
  const std::optional<Shape> input = shape_of(find(entry, fields_.input_sizes));
  const std::optional<Shape> output = shape_of(find(entry, fields_.output_sizes));
  const bool is_input = input && (!output || input->count() <= output->count());
  if (input || output) call.shape = is_input ? *input : *output;
  // Ranks may rightly have different counts.
  if (call.kind != OperationKind::all_to_all) call.count = call.shape.count();
  read_type(entry, is_input, call);
}

// The file and line of the first frame outside torch, else of the first one.
DumpReader::Place DumpReader::read_place(const Value& entry) {
  Place first;
  const Value* frames = find(entry, fields_.frames);
  if (frames == nullptr) return first;
  for (const Value& frame : items(*frames)) {
    const std::string_view file = text_or(find(frame, fields_.filename), "");
    const std::optional<std::int64_t> number = number_in(find(frame, fields_.line));
    if (file.empty() || !number || *number < 0) continue;
    const bool is_own = is_of_torch(file);
    if (is_own && !first.file.empty()) continue;
    first = {file, static_cast<std::uint32_t>(
                       std::min<std::int64_t>(*number, std::numeric_limits<std::uint32_t>::max()))};
    if (!is_own) break;
  }
  return first;
}

// What gangsim's own dumps say besides.
void DumpReader::read_own(const Value& entry, DumpedCall& read, Collective& call) {
  const Value* own = find(entry, fields_.own);
  if (own == nullptr) return;
  const auto name = get<std::string_view>(*own, fields_.operation, "a text");
  const std::optional<OperationKind> kind = parse_operation_kind(name);
  if (!kind || *kind == OperationKind::batch || is_point_to_point(*kind) != read.is_message)
    fail(fmt::format("field operation is '{}', which is not an operation of such an entry",
                     visible(name)));
  call.kind = *kind;
  if (reduces(*kind)) {
    const auto reduction = get<std::string_view>(*own, fields_.reduce_operation, "a text");
    call.reduce_operation = parse_reduce_operation(reduction).value_or(unknown_reduce_operation);
  }
  const auto small = [&](ValueField& field) {
    const auto number = get<std::int64_t>(*own, field, "a number");
    if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max())
      fail(fmt::format("field {} is {}, which is out of range", field.name, number));
    return static_cast<int>(number);
  };
  if (read.is_message) read.sequence = get_count(*own, fields_.sequence);
  call.count = static_cast<std::int64_t>(get_count(*own, fields_.count));
  call.peer = small(fields_.peer);
  call.tag = small(fields_.tag);
  if (const Value* label = find(*own, fields_.label)) call.label = text_or(label, "");
  call.blocking = get<bool>(*own, fields_.is_blocking, "a flag");
  read.is_in_stream = get<bool>(*own, fields_.is_in_stream, "a flag");
  if (const Value* waited = find(*own, fields_.waited)) {
    read.has_waits = true;
    if (number_in(waited)) read.waited = get_count(*own, fields_.waited);
  }
  if (call.count == 0 && !is_point_to_point(*kind) && !has_tensor(*kind)) call.shape = {};
}

void DumpReader::read_entry(const Value& entry) {
  if (const Value* own = find(entry, fields_.own);
      own != nullptr && text_or(find(*own, fields_.operation), "") == dump_fields::no_operation)
    return;
  DumpedCall read;
  Collective call;
  read.record = get_count(entry, fields_.record_id);
  read.group = group_of(entry);
  read_operation(get<std::string_view>(entry, fields_.profiling_name, "a text"), read, call);
  const Value* is_p2p = find(entry, fields_.is_p2p);
  const auto* flag = is_p2p == nullptr ? nullptr : std::get_if<bool>(is_p2p);
  if (call.kind == OperationKind::batch) read.is_message = flag != nullptr && *flag;
  read.sequence =
      get_count(entry, read.is_message ? fields_.p2p_seq_id : fields_.collective_seq_id);
  const auto state = get<std::string_view>(entry, fields_.state, "a text");
  const std::optional<DumpedState> known = parse_name(dumped_state_names, state);
  if (!known)
    fail(fmt::format("field state is '{}'; must be one of: {}", visible(state),
                     list_names(dumped_state_names)));
  read.state = *known;
  read.created_ns = number_in(find(entry, fields_.created)).value_or(0);
  read_tensors(entry, call);
  read_own(entry, read, call);
  const auto [file, line] = read_place(entry);
  call.call_site = CallSite::at("", line);
  read.call = calls_.index_of(call, file);
  merge(read);
}

// Calls that were made as one follow each other with one number, and end with a marker. Collectives
// become one call of all their elements; sends and receives stay, with their number.
void DumpReader::merge(const DumpedCall& read) {
  const Collective& call = calls_[read.call];
  const bool is_marker = call.kind == OperationKind::batch;
  DumpedCall* last = dump_.calls.empty() ? nullptr : &dump_.calls.back();
  const bool continues = last != nullptr && !is_after_marker_ && last->group == read.group &&
                         last->is_message == read.is_message && last->sequence == read.sequence;
  is_after_marker_ = is_marker;
  if (is_marker && (continues || read.is_message)) return;
  if (!continues || read.is_message) {
    dump_.calls.push_back(read);
    if (is_marker) dump_.calls.back().call = calls_.index_of(alone(call), "");
    return;
  }
  Collective sum = calls_[last->call];
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  sum.count = call.count > most - sum.count ? most : sum.count + call.count;
  sum.shape = Shape::vector(sum.count);
  last->call = calls_.index_of(sum, sum.call_site.file());
}

}  // namespace

bool looks_like_dump(std::string_view bytes) noexcept {
  return looks_like_pickle(bytes) || looks_like_json(bytes);
}

Dump read_dump(std::string_view bytes, CallTable& calls) {
  const ValueTree tree = looks_like_pickle(bytes) ? read_pickle(bytes) : read_json_values(bytes);
  return DumpReader(tree, bytes.size(), calls).read();
}

}  // namespace gang::harness
