// Whether a program does the same each time that it is run under one schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "harness/run/runner.h"

namespace gang::harness {

// Makes a run once more, under the same schedule, and settles nothing. `trace`: of its events.
using Repeat = std::function<RunResult(sim::Recording trace)>;

// Whether an exploration repeats its run number `run`, from 1: the first, second, fourth, eighth,
// and so on.
bool is_repeated(std::uint64_t run) noexcept;

// Whether a run that repeats itself would do the same: not if the operating system, or a process
// outside the simulation, decides something.
bool can_be_repeated(const RunResult& result) noexcept;

// Whether one more run does and puts out the same as `result`.
bool repeats_itself(const RunResult& result, const Repeat& repeat);

// Gives `result`, of a program that does not repeat itself, the finding nondeterminism before its
// others, and the schedule `recheck`, under which `run` finds that again. The finding names the
// first event that differs, if a few repeats show it, and ends with `detail`, a sentence, if they
// do not. With faults, the result is not contained.
void note_nondeterminism(RunResult& result, const Repeat& repeat, std::string_view detail = {});

}  // namespace gang::harness
