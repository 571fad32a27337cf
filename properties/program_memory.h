// The memory of a random program: every buffer of every rank in one image.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "properties/generators/gang_program.h"
#include "properties/reference_model.h"

namespace gang::properties {

// A run of elements in the image.
struct Region {
  std::size_t offset = 0;  // in bytes
  int count = 0;           // elements

  friend bool operator==(const Region&, const Region&) = default;
};

// A step as one rank sees it.
struct Place {
  const std::vector<int>* members = nullptr;  // of its gang, as root ranks; null: not in it
  int rank = 0;                               // in that gang
  Region input;
  Region output;  // the input itself if the step is in place

  bool takes_part() const noexcept { return members != nullptr; }
  int size() const noexcept { return static_cast<int>(members->size()); }
};

using Image = std::vector<std::byte>;

// Whether the ranks' inputs differ, or every rank of a step holds the same.
enum class Inputs : std::uint8_t { differ, equal };

// Where the buffers of a program lie. Guard bytes between them let a comparison of whole images
// find stray writes as well.
class ProgramMemory {
 public:
  // `program` must outlive this.
  explicit ProgramMemory(const GangProgram& program, Inputs inputs = Inputs::differ);
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;

  const GangProgram& program() const noexcept { return program_; }
  const Membership& members() const noexcept { return members_; }
  const Place& place(std::size_t step, int rank) const noexcept {
    return places_[step * static_cast<std::size_t>(program_.world) +
                   static_cast<std::size_t>(rank)];
  }

  // The inputs of every rank, a function of step, rank and element; everything else is guard bytes.
  Image initial_image() const;

  // The first place where the images differ by more than the step's arithmetic allows, if any.
  std::optional<std::string> first_difference(const Image& expected, const Image& actual) const;

 private:
  void add_step(std::size_t step);
  Place make_place(const Step& step, const std::vector<int>& members, int rank);
  Region allocate(int count, DataType type);
  std::optional<std::string> difference_in(std::size_t step, int rank, const Image& expected,
                                           const Image& actual) const;

  const GangProgram& program_;
  Inputs inputs_;
  Membership members_;
  std::vector<Place> places_;  // by step, then rank
  std::size_t size_bytes_ = 0;
};

// The type that a step moves: objects travel as bytes.
DataType data_type_of(const Step& step) noexcept;

// One element of an input, made of random bits: any bits for integers; for floating point small
// integers, and powers of two for a product, so that the order of a reduction does not show.
std::uint64_t input_word(std::uint64_t hash, const Step& step);

// Elements that rank `from` sends to rank `to` in an all_to_all with split sizes.
int split_size(const Step& step, int from, int to) noexcept;

model::Values read(const Image& image, const Region& region, DataType type);
void write(Image& image, const Region& region, DataType type, const model::Values& values);

// The image after the program has run, computed with the reference model, step after step.
Image expected_image(const ProgramMemory& memory);

}  // namespace gang::properties
