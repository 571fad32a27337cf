// Random gang programs as one program of the harness, for comparing backends on them.
#pragma once

#include "harness/program/program.h"

namespace gang::properties {

// "random", with the parameters cases, seed and first: runs `cases` generated programs, one after
// the other, on gangs made from the root. Case i is a function of `seed`, `first` + i and the
// number of ranks. Outputs the result of every step. No such program can deadlock.
harness::Program random_program();

}  // namespace gang::properties
