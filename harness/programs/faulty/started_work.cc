// Started operations that are never waited for, and buffers that are touched too early.
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Values = std::vector<float>;

// The loop that waits ends one bucket too early.
void forgotten_wait(Rank& rank, const PlantedBug& bug) {
  Values buckets[3] = {Values(4, 1.0F), Values(4, 2.0F), Values(4, 3.0F)};
  std::vector<Work> works;
  for (Values& bucket : buckets)
    works.push_back(
        rank.root()->start_all_reduce(view(bucket), ReduceOperation::mean, {}, bug.here()));
  const std::size_t waited_for = bug.is_planted() && rank.rank() == 1 ? 2 : 3;
  for (std::size_t i = 0; i < waited_for; ++i) works[i].wait();
}

// A background send whose handle is dropped at once.
void dropped_send(Rank& rank, const PlantedBug& bug) {
  Values metrics(4, 1.0F);
  if (rank.rank() == 0) {
    Work sending = rank.root()->start_send(view(metrics), 1, 0, {}, bug.here());
    if (!bug.is_planted()) sending.wait();
  }
  if (rank.rank() == 1) rank.root()->recv(view(metrics), 0);
}

// Writes too early. Hidden from AddressSanitizer, which would end the process here; gangsim is
// supposed to find it.
[[gnu::no_sanitize_address, gnu::noinline]] void write_early(float* values, std::size_t count,
                                                             float value) {
  for (std::size_t i = 0; i < count; ++i) values[i] = value;
}

// Gradients are zeroed while they are still being reduced.
void zeroed_gradient(Rank& rank, const PlantedBug& bug) {
  Values gradient(8, 1.0F);
  Work reducing =
      rank.root()->start_all_reduce(view(gradient), ReduceOperation::mean, {}, bug.here());
  const bool is_early = bug.is_planted() && rank.rank() == 2;
  if (is_early) write_early(gradient.data(), gradient.size(), 0.0F);
  reducing.wait();
  gradient.assign(gradient.size(), 0.0F);
}

// Refills a batch buffer while the previous batch is still being sent.
void reused_buffer(Rank& rank, const PlantedBug& bug) {
  Values batch(8, 1.0F);
  for (int step = 0; step < 2; ++step) {
    if (rank.rank() == 0) {
      Work sending = rank.root()->start_send(view(batch), 1, 0, {}, bug.here());
      if (!bug.is_planted()) sending.wait();
      batch.assign(batch.size(), static_cast<float>(step));
      sending.wait();
    }
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(std::chrono::milliseconds(1));
      rank.root()->recv(view(batch), 0);
    }
  }
}

// Two reductions in flight: the second one writes its result over the first one's input.
void shared_buffer(Rank& rank, const PlantedBug& bug) {
  const auto dp = rank.root()->split({.color = 0}, {.name = "dp"});
  Values gradient(8, 1.0F);
  Values reduced(8);
  Values norms(8, 2.0F);
  Values all_norms(8);
  const bool aliases = bug.is_planted() && rank.rank() == 0;
  Work first = rank.root()->start_all_reduce(view(reduced), view(gradient), ReduceOperation::sum,
                                             {}, bug.here());
  Work second =
      dp->start_all_reduce(view(aliases ? gradient : all_norms), view(norms), ReduceOperation::sum);
  second.wait();
  first.wait();
}

// Takes a barrier as proof that the gradients have been sent, and reuses their memory as scratch.
void lent_buffer(Rank& rank, const PlantedBug& bug) {
  const auto control = rank.root()->split({.color = 0}, {.name = "control"});
  const Values gradient(8, 1.0F);
  Values lent = gradient;
  Values reduced(8);
  Work reducing = rank.root()->start_all_reduce(view(reduced), view(lent), ReduceOperation::sum, {},
                                                bug.here());
  control->barrier();
  const bool is_early = bug.is_planted() && rank.rank() == 2;
  if (!is_early) reducing.wait();
  lent.assign(lent.size(), 0.0F);
  rank.runtime().sleep_for(std::chrono::milliseconds(5));
  lent = gradient;
  reducing.wait();
}

}  // namespace

std::vector<FaultyProgram> started_work() {
  namespace id = sim::finding_id;
  return {
      faulty("forgotten_wait", "the last work is forgotten", forgotten_wait, id::unwaited_work,
             {1}),
      faulty("dropped_send", "a send that is never awaited", dropped_send, id::unwaited_work, {0},
             {.default_world_size = 2}),
      faulty("zeroed_gradient", "zeroed before the wait", zeroed_gradient, id::buffer_in_flight,
             {2}, {.fewest_ranks = 3}),
      faulty("reused_buffer", "refilled while it is sent", reused_buffer, id::buffer_in_flight, {0},
             {.default_world_size = 2}),
      faulty("shared_buffer", "two reductions, one buffer", shared_buffer, id::buffer_in_flight,
             {0}),
      faulty("lent_buffer", "a barrier instead of a wait", lent_buffer, id::buffer_in_flight, {2},
             {.fewest_ranks = 3,
              .options = {
                  {"faults", "fault = [{kind = \"late_copy\", ranks = [2], delay = \"1ms\"}]"}}})};
}

}  // namespace gang::harness
