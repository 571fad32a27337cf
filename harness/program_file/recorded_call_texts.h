// The calls of a recording in the words of program files.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/recording/recorded_steps.h"
#include "harness/recording/recording.h"

namespace gang::harness::program_file {

// The gangs that a program needs for the groups of a recording. Groups of one name that share no
// rank are one gang, as the groups of a mesh's axis are.
class RecordedGangs {
 public:
  struct Gang {
    std::string name;
    std::vector<std::vector<int>> rank_lists;
  };

  explicit RecordedGangs(const Recording& recording);

  const std::string& name_of(std::uint32_t group) const { return gangs_[gang_of_[group]].name; }
  bool is_root(std::uint32_t group) const { return gang_of_[group] == 0; }

  // All but the root, which is always there.
  std::vector<Gang> declared() const { return {gangs_.begin() + 1, gangs_.end()}; }

 private:
  std::uint32_t index_for(const RecordedGroup& group, bool is_named);

  std::vector<Gang> gangs_;                 // the first: root
  std::vector<std::vector<bool>> in_gang_;  // by gang and rank
  std::vector<std::uint32_t> gang_of_;      // by group
};

// How the rank at the other end of a message is written.
enum class PeerText : std::uint8_t {
  number,    // "3"
  distance,  // "(rank + 1) % world", on the root
};

// Different calls, each kept once. They say where they stood in the program that was recorded.
class RecordedCallTexts {
 public:
  RecordedCallTexts(const Recording& recording, const RecordedGangs& gangs, PeerText peers)
      : recording_(recording), gangs_(gangs), peers_(peers) {}

  // The index of what `rank` does in `step`.
  std::uint32_t index_of(const RecordedStep& step, int rank);

  const std::string& operator[](std::uint32_t index) const { return texts_[index]; }

 private:
  std::string text_of(const RecordedStep& step, int rank) const;
  std::string message(const RecordedStep& step, const Collective& call, int rank) const;
  std::string tensor(const RecordedStep& step, const Collective& call) const;
  std::string arguments(const RecordedStep& step, const Collective& call, int rank) const;

  const Recording& recording_;
  const RecordedGangs& gangs_;
  const PeerText peers_;
  std::vector<std::string> texts_;
  std::map<std::string, std::uint32_t> indexes_;
  std::map<std::array<std::uint32_t, 3>, std::uint32_t> known_;  // by call, group, and work
};

}  // namespace gang::harness::program_file
