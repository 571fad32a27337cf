// Reads Python's pickle format without executing anything.
#pragma once

#include <string_view>

#include "harness/recording/value_tree.h"

namespace gang::harness {

// The value that `bytes`, which outlive it, hold: maps, lists, tuples (as lists), texts, numbers,
// flags and None, in protocol 2 or later, as Flight Recorder and Python's pickle module write them.
//
// Throws InvalidArgument for every other opcode, by its name and offset: those that import or call
// something ("opcode GLOBAL ('c') at byte 12 would run code"), and those that no dump has. Throws
// CutOffDump where the file ends too early. Memory and time: O(bytes), whatever they say.
// Source: CPython, Lib/pickletools.py.
ValueTree read_pickle(std::string_view bytes);

// Whether `bytes` begin as a pickle of protocol 2 or later does.
bool looks_like_pickle(std::string_view bytes) noexcept;

}  // namespace gang::harness
