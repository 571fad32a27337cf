// Google Benchmark's main; the cases are in the other files of this folder.
#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
