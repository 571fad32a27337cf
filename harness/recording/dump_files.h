// Finds the dumps of a job among files.
#pragma once

#include <string>
#include <vector>

#include "harness/recording/recording.h"

namespace gang::harness {

// Reads every dump of `paths`, which are files, or folders of files that are looked at one by one;
// dumps are known by what they contain, their ranks by what they say or by the last number in their
// names ("nccl_trace_rank_3"). A dump that is cut off counts as missing, and the evidence says so.
//
// Throws InvalidArgument: a path cannot be read, has no dump, or a dump is wrong (the file, what is
// wrong, and where); see join_dumps.
Recording read_recording(const std::vector<std::string>& paths);

// Whether `path` is a file that begins as a dump does, or a folder of which any file is a dump.
bool has_dumps(const std::string& path);

// What to call them: "rec", "4 dumps".
std::string name_of_dumps(const std::vector<std::string>& paths);

// No dump is larger.
inline constexpr std::size_t most_dump_bytes = std::size_t{1} << 28;

}  // namespace gang::harness
