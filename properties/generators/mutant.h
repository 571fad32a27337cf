// Mistakes: a correct random program in which one rank does one thing wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "properties/generators/gang_program.h"

namespace gang::properties {

// What the rank does instead.
enum class Mutation : std::uint8_t {
  skip,             // leaves the call out
  duplicate,        // makes it twice
  swap,             // makes it after its next call
  other_gang,       // makes it on another of its gangs
  other_root,       // with another root; for a message, another peer
  other_type,       // with another data type
  other_count,      // with more elements
  other_reduction,  // with another reduce operation
  other_kind,       // calls another collective
  other_tag,        // sends or receives with another tag
  forgotten_wait,   // drops the started operation
  early_reuse,      // writes its buffer before waiting
};

inline constexpr Mutation all_mutations[] = {
    Mutation::skip,        Mutation::duplicate,      Mutation::swap,
    Mutation::other_gang,  Mutation::other_root,     Mutation::other_type,
    Mutation::other_count, Mutation::other_kind,     Mutation::other_reduction,
    Mutation::other_tag,   Mutation::forgotten_wait, Mutation::early_reuse};

std::string_view to_string(Mutation mutation) noexcept;

struct Mutant {
  GangProgram program;
  Mutation mutation = Mutation::skip;
  int rank = 0;
  int step = 0;
  int value = 0;  // which of the other gangs, roots, types, ...; modulo their number

  friend bool operator==(const Mutant&, const Mutant&) = default;
};

// What the rank runs instead of the program, its steps with their ids. None if the mistake cannot
// be made: the rank takes no part in the step, there is no other gang, ...
std::optional<GangProgram> mistaken_program(const Mutant& mutant);

// Ids of the mistaken steps: one, or the two that are swapped.
std::vector<int> mistaken_steps(const Mutant& mutant);

// A call as the other members of its gang see it.
struct VisibleCall {
  std::string text;
  int id = 0;  // of its step

  friend bool operator==(const VisibleCall& a, const VisibleCall& b) { return a.text == b.text; }
};

// The calls of one rank that must match others, in order: for every gang of two or more ("gang 2"),
// and for every link and tag of such a gang ("gang 2 to 3 tag 7").
using VisibleCalls = std::map<std::string, std::vector<VisibleCall>>;
VisibleCalls visible_calls(const GangProgram& program, int rank);

Mutant generate_mutant(Draw& draw);
std::string to_text(const Mutant& mutant);
std::vector<Mutant> shrinks(const Mutant& mutant);

}  // namespace gang::properties
