#include "properties/program_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "gang/hash.h"

namespace gang::properties {
namespace {

constexpr std::byte guard_byte{0xA5};
constexpr std::size_t guard_bytes = 8;
constexpr int largest_float = 3;  // magnitude of floating-point inputs: their sums are exact

struct Counts {
  int input = 0;
  int output = 0;
};

Counts uneven_counts(const Step& step, int rank, int size) {
  Counts counts;
  for (int other = 0; other < size; ++other) {
    counts.input += split_size(step, rank, other);
    counts.output += split_size(step, other, rank);
  }
  return counts;
}

// Of an all_gather with counts.
Counts gathered_counts(const Step& step, int rank, int size) {
  Counts counts{.input = split_size(step, rank, 0)};
  for (int other = 0; other < size; ++other) counts.output += split_size(step, other, 0);
  return counts;
}

// Elements that `rank` of a gang of `size` gives and gets.
Counts counts_of(const Step& step, int rank, int size) {
  const int count = step.count;
  const bool is_root = rank == step.root % size;
  switch (step.kind) {
    case OperationKind::reduce_scatter:
      return {size * count, count};
    case OperationKind::all_gather:
      if (step.uneven) return gathered_counts(step, rank, size);
      return {count, size * count};
    case OperationKind::all_gather_to_list:
      return {count, size * count};
    case OperationKind::gather:
      return {count, is_root ? size * count : 0};
    case OperationKind::scatter:
      return {is_root ? size * count : 0, count};
    case OperationKind::all_to_all:
      return step.uneven ? uneven_counts(step, rank, size) : Counts{size * count, size * count};
    case OperationKind::broadcast_objects:
      return {is_root ? count : 0, count};
    case OperationKind::send:
      return {is_root ? count : 0, rank == step.peer % size ? count : 0};
    case OperationKind::recv:
      return {is_root ? 0 : count, is_root ? size * count : 0};
    case OperationKind::reduce:
      return {count, is_root ? count : 0};
    case OperationKind::barrier:
    case OperationKind::monitored_barrier:
      return {};
    default:
      return {count, count};
  }
}

bool is_in_place(const Step& step) {
  if (step.kind == OperationKind::broadcast) return true;
  return step.in_place && (step.kind == OperationKind::all_reduce ||
                           step.kind == OperationKind::reduce || is_scan(step.kind));
}

bool is_same(const Image& a, const Image& b, std::size_t offset, std::size_t size) {
  return size == 0 || std::memcmp(a.data() + offset, b.data() + offset, size) == 0;
}

}  // namespace

DataType data_type_of(const Step& step) noexcept {
  return step.kind == OperationKind::broadcast_objects ? DataType::u8 : step.data_type;
}

std::uint64_t input_word(std::uint64_t hash, const Step& step) {
  const DataType type = data_type_of(step);
  if (type == DataType::boolean) return hash & 1;
  if (!is_floating_point(type)) {
    const std::size_t bits = 8 * size_bytes(type);
    return bits == 64 ? hash : hash & ((std::uint64_t{1} << bits) - 1);
  }
  const bool multiplies = reduces(step.kind) && step.reduce_operation == ReduceOperation::product;
  constexpr double factors[] = {1, -1, 0.5, 2};
  const double value = multiplies
                           ? factors[hash % 4]
                           : static_cast<double>(hash % (2 * largest_float + 1)) - largest_float;
  return model::encode(value, type);
}

int split_size(const Step& step, int from, int to) noexcept {
  return (step.count + 2 * from + 3 * to) % (step.count + 1);
}

model::Values read(const Image& image, const Region& region, DataType type) {
  const std::size_t width = size_bytes(type);
  model::Values values(static_cast<std::size_t>(region.count));
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], image.data() + region.offset + i * width, width);
  return values;
}

void write(Image& image, const Region& region, DataType type, const model::Values& values) {
  const std::size_t width = size_bytes(type);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(image.data() + region.offset + i * width, &values[i], width);
}

ProgramMemory::ProgramMemory(const GangProgram& program, Inputs inputs)
    : program_(program), inputs_(inputs), members_(members_of(program)) {
  places_.resize(program.steps.size() * static_cast<std::size_t>(program.world));
  size_bytes_ = guard_bytes;
  for (std::size_t i = 0; i < program.steps.size(); ++i) add_step(i);
}

void ProgramMemory::add_step(std::size_t index) {
  const Step& step = program_.steps[index];
  for (const std::vector<int>& gang : members_[static_cast<std::size_t>(step.node)])
    for (std::size_t rank = 0; rank < gang.size(); ++rank)
      places_[index * static_cast<std::size_t>(program_.world) +
              static_cast<std::size_t>(gang[rank])] =
          make_place(step, gang, static_cast<int>(rank));
}

Place ProgramMemory::make_place(const Step& step, const std::vector<int>& members, int rank) {
  Place place;
  place.members = &members;
  place.rank = rank;
  const Counts counts = counts_of(step, rank, place.size());
  const DataType type = data_type_of(step);
  place.input = allocate(counts.input, type);
  place.output = is_in_place(step) ? place.input : allocate(counts.output, type);
  return place;
}

Region ProgramMemory::allocate(int count, DataType type) {
  const Region region{size_bytes_, count};
  const std::size_t size = static_cast<std::size_t>(count) * size_bytes(type);
  size_bytes_ += (size + 7) / 8 * 8 + guard_bytes;
  return region;
}

Image ProgramMemory::initial_image() const {
  Image image(size_bytes_, guard_byte);
  for (std::size_t index = 0; index < program_.steps.size(); ++index) {
    const Step& step = program_.steps[index];
    const std::size_t width = size_bytes(data_type_of(step));
    const auto id = static_cast<std::uint64_t>(id_of(program_, index));
    for (int rank = 0; rank < program_.world; ++rank) {
      const Place& there = place(index, rank);
      const int salt = inputs_ == Inputs::differ ? rank : 0;
      std::uint64_t hash = mixed(id * splitmix64_step + static_cast<std::uint64_t>(salt) + 1);
      for (int i = 0; i < there.input.count; ++i) {
        const std::uint64_t word = input_word(mixed(hash++), step);
        std::memcpy(image.data() + there.input.offset + static_cast<std::size_t>(i) * width, &word,
                    width);
      }
    }
  }
  return image;
}

std::optional<std::string> ProgramMemory::difference_in(std::size_t index, int rank,
                                                        const Image& expected,
                                                        const Image& actual) const {
  const Step& step = program_.steps[index];
  const Place& there = place(index, rank);
  const DataType type = data_type_of(step);
  for (const auto& [name, region] :
       {std::pair{"input", there.input}, std::pair{"output", there.output}}) {
    const model::Values want = read(expected, region, type);
    const model::Values got = read(actual, region, type);
    const model::Reduction reduction{step.reduce_operation, type};
    const bool is_exact =
        !reduces(step.kind) || !there.takes_part() || model::is_exact(reduction, there.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (want[i] == got[i]) continue;
      if (!is_exact && model::is_close(want[i], got[i], {type, there.size(), largest_float}))
        continue;
      return fmt::format("step {}: element {} of the {} of rank {} is {:#x}, expected {:#x}", index,
                         i, name, rank, got[i], want[i]);
    }
  }
  return std::nullopt;
}

std::optional<std::string> ProgramMemory::first_difference(const Image& expected,
                                                           const Image& actual) const {
  if (is_same(expected, actual, 0, size_bytes_)) return std::nullopt;
  std::vector<bool> is_buffer(size_bytes_, false);
  for (std::size_t step = 0; step < program_.steps.size(); ++step) {
    const std::size_t width = size_bytes(data_type_of(program_.steps[step]));
    for (int rank = 0; rank < program_.world; ++rank) {
      if (auto difference = difference_in(step, rank, expected, actual)) return difference;
      for (const Region& region : {place(step, rank).input, place(step, rank).output}) {
        const auto first = is_buffer.begin() + static_cast<std::ptrdiff_t>(region.offset);
        std::fill_n(first, static_cast<std::size_t>(region.count) * width, true);
      }
    }
  }
  for (std::size_t i = 0; i < size_bytes_; ++i)
    if (!is_buffer[i] && expected[i] != actual[i])
      return fmt::format("byte {} of the memory was written, but belongs to no buffer", i);
  return std::nullopt;
}

}  // namespace gang::properties
