#include <fmt/format.h>

#include "harness/programs/all_programs.h"

namespace gang::harness {
namespace {

// Each rank sends to the next rank and receives from the previous one. Even ranks send first, so
// sends need no buffer; the last rank of an odd ring receives first too.
void pass_on(Gang& gang, const TensorView& outgoing, const TensorView& incoming) {
  const int next = (gang.rank() + 1) % gang.size();
  const int previous = (gang.rank() + gang.size() - 1) % gang.size();
  const PointToPoint operations[] = {
      {.kind = OperationKind::send, .tensor = outgoing, .peer = next},
      {.kind = OperationKind::recv, .tensor = incoming, .peer = previous}};
  const bool sends_first = gang.rank() % 2 == 0 && gang.rank() != gang.size() - 1;
  if (gang.size() == 1) {
    gang.batch(operations);
  } else if (sends_first) {
    gang.send(outgoing, next);
    gang.recv(incoming, previous);
  } else {
    gang.recv(incoming, previous);
    gang.send(outgoing, next);
  }
}

void run_ring(Rank& rank) {
  Gang& gang = *rank.root();
  const auto count = rank.parameter<std::size_t>("count");
  const auto iterations = rank.parameter<std::int64_t>("iterations");
  std::vector<std::int32_t> held(count, rank.rank());
  std::vector<std::int32_t> arriving(count);
  for (std::int64_t i = 0; i < iterations; ++i) {
    pass_on(gang, view(held), view(arriving));
    held.swap(arriving);
  }
  const std::int64_t size = gang.size();
  const auto expected =
      static_cast<std::int32_t>(((rank.rank() - iterations) % size + size) % size);
  for (const std::int32_t value : held) {
    if (value == expected) continue;
    rank.wrong_result(fmt::format("Rank {} holds data of rank {} instead of rank {}.", rank.rank(),
                                  value, expected));
    break;
  }
  rank.output("held", held);
}

}  // namespace

Program ring_program() {
  return {.name = "ring",
          .description = "point-to-point: every rank's data travels around a ring and is checked",
          .run = run_ring,
          .parameters = {
              integer_parameter("count", 1, {0, std::int64_t{1} << 32}, "elements per message"),
              integer_parameter("iterations", 1, {0, 1'000'000'000}, "steps around the ring")}};
}

}  // namespace gang::harness
