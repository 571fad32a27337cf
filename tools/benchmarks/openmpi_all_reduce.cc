// usage: mpirun -np RANKS openmpi_all_reduce [ITERATIONS]
//
// The time of a 4-byte all_reduce in OpenMPI, for comparison with a simulated one. Rank 0 prints a
// JSON object: ranks, iterations, ns_per_operation, ns_per_rank_operation (operation / ranks: wall
// time over rank operations, as gangsim counts).
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int iterations = argc > 1 ? std::atoi(argv[1]) : 2000;

  float value = 1.0F;
  for (int i = 0; i < 100; ++i) {  // The first calls make the connections.
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;

  if (rank == 0) {
    const double ns_per_operation = seconds * 1e9 / iterations;
    std::printf(
        "{\"ranks\": %d, \"iterations\": %d, \"ns_per_operation\": %.1f, "
        "\"ns_per_rank_operation\": %.1f}\n",
        ranks, iterations, ns_per_operation, ns_per_operation / ranks);
  }
  MPI_Finalize();
  return 0;
}
