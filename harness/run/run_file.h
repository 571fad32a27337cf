// A saved run: everything that explains it, in one JSON file.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "harness/run/runner.h"

namespace gang::harness {

inline constexpr std::string_view run_file_format = "gangsim run";
inline constexpr int run_file_version = 2;

// Where more contexts than these are blocked, those in the same call share an entry of `blocked`:
// its `rank` is the lowest of them, `ranks` names all.
inline constexpr std::size_t most_single_blocked = 64;

// A JSON object with the fields
//   format, version                      "gangsim run", 2
//   outcome, findings, blocked           as of sim::Report; blocked as above
//   certainty, divergence                as of sim::Report, where they apply
//   fault_plan, faults                   what was to go wrong and what did, where there was a plan
//   program, world, backend, context, seed, specification      what was run, and how
//   virtual_time_ns, wall_time_ns, rank_operations, switches, gangs, counts
//   trace_digest, result_digest          16 hexadecimal digits
//   reproduce, unexpected                the command; where a file expected another outcome
//   is_in_every_schedule                 whether no schedule ends otherwise
//   contested_choices, explore           where another may: how many, if known; what tries them
//   choices                              some of them in words, if known
//   decisive                             the choice without which the run holds, where it is known
//   real_time                            RealTime, where the ranks were processes
//   timeline                             sim::Timeline; absent where it was not recorded
nlohmann::json to_json(const RunResult& result);

// What to_json keeps: all but schedule, trace events and the ranks' outputs. Version 1 is read,
// too. Throws InvalidArgument naming the field that is missing or wrong.
RunResult run_result_from_json(const nlohmann::json& json);

// A saved run of version 1 as one of version 2; fields that do not differ are not checked. Throws
// InvalidArgument naming the field that it needs and is missing or of another type.
nlohmann::json upgraded_from_v1(nlohmann::json run);

// Whether this is, or was meant to be, a saved run.
bool is_saved_run(const nlohmann::json& json);

// JSON in lines that people can read and tools can compare. Text that is not UTF-8 is replaced.
std::string to_json_text(const nlohmann::json& json);

// The JSON in a file's text. Throws InvalidArgument: where it is not JSON or is cut off, that it is
// nested more than 100 levels deep, or which field has a number that no double holds.
nlohmann::json parse_json(std::string_view text);

// The text of a run file: to_json, in lines.
std::string to_file_text(const RunResult& result);

// The run in a file's text, or in the file at `path`. Throws InvalidArgument: where it is not JSON
// or is cut off, what other kind of file it is, which field is missing or wrong; read_run_file
// begins with the path.
RunResult run_result_from_text(std::string_view text);
RunResult read_run_file(const std::string& path);

}  // namespace gang::harness
