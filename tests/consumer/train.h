#pragma once

#include <gangsim/harness.h>

// One data-parallel step under tensor parallelism: what a user writes to test a layout.
void train(gang::harness::Rank& rank);
