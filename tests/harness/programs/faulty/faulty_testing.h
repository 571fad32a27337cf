// Runs the programs of one file of faulty programs in a test. Includes little: fourteen tests do.
#pragma once

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/programs/faulty/all_faulty_programs.h"

namespace gang::harness {

struct RunResult;

// The programs of a file, such as `messages`.
using FaultyFile = std::vector<FaultyProgram>();

// Expects that in worlds larger than its default the program (each program of `file`) still has its
// finding, and its twin none.
void expect_alike(const FaultyProgram& faulty);
void expect_alike_in_larger_worlds(FaultyFile& file);

// The message of the only finding of the program `name`.
std::string message_of(FaultyFile& file, const std::string& name);

FaultyProgram find_faulty(FaultyFile& file, const std::string& name);

// Runs `faulty` with its own options; `world_size` 0 is its default.
RunResult run_faulty(const FaultyProgram& faulty, bool is_fixed = false, int world_size = 0);

}  // namespace gang::harness
