// Point to point: which rank sends first, with which tag, how much, and to which rank.
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Values = std::vector<float>;

// Two neighbours exchange halos, and both send first.
void both_send_first(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() > 1) return;
  Values mine(4, 1.0F);
  Values theirs(4);
  const int peer = 1 - rank.rank();
  const bool receives_first = !bug.is_planted() && rank.rank() == 1;
  if (receives_first) rank.root()->recv(view(theirs), peer);
  rank.root()->send(view(mine), peer, 0, {}, bug.here());
  if (!receives_first) rank.root()->recv(view(theirs), peer);
}

// Each waits for the other's request before it sends its own.
void both_recv_first(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() > 1) return;
  Values mine(4, 1.0F);
  Values theirs(4);
  const int peer = 1 - rank.rank();
  const bool sends_first = !bug.is_planted() && rank.rank() == 0;
  if (sends_first) rank.root()->send(view(mine), peer);
  rank.root()->recv(view(theirs), peer, 0, {}, bug.here());
  if (!sends_first) rank.root()->send(view(mine), peer);
}

// A ring in which every rank sends to the right before it receives from the left.
void ring_of_sends(Rank& rank, const PlantedBug& bug) {
  const int size = rank.world_size();
  const int right = (rank.rank() + 1) % size;
  const int left = (rank.rank() + size - 1) % size;
  Values mine(4, 1.0F);
  Values theirs(4);
  if (bug.is_planted()) {
    rank.root()->send(view(mine), right, 0, {}, bug.here());
    rank.root()->recv(view(theirs), left);
    return;
  }
  const PointToPoint both[] = {{OperationKind::send, view(mine), right, 0},
                               {OperationKind::recv, view(theirs), left, 0}};
  rank.root()->batch(both);
}

// The sender numbers its tags by step, the receiver by microbatch.
void wrong_tag(Rank& rank, const PlantedBug& bug) {
  Values activation(4, 1.0F);
  if (rank.rank() == 0) rank.root()->send(view(activation), 1, 1);
  if (rank.rank() == 1)
    rank.root()->recv(view(activation), 0, bug.is_planted() ? 2 : 1, {}, bug.here());
}

// Three elements are sent, but five are expected.
void short_message(Rank& rank, const PlantedBug& bug) {
  Values sent(bug.is_planted() ? 3 : 5, 1.0F);
  Values received(5);
  if (rank.rank() == 0) rank.root()->send(view(sent), 1, 0, {}, bug.here());
  if (rank.rank() == 1) rank.root()->recv(view(received), 0, 0, {}, bug.here());
}

// Sends 32-bit token ids to a rank that keeps 64-bit ones.
void token_type(Rank& rank, const PlantedBug& bug) {
  std::vector<std::int32_t> narrow(4, 1);
  std::vector<std::int64_t> wide(4, 1);
  const TensorView sent = bug.is_planted() ? view(narrow) : view(wide);
  if (rank.rank() == 0) rank.root()->send(sent, 1, 0, {}, bug.here());
  if (rank.rank() == 1) rank.root()->recv(view(wide), 0, 0, {}, bug.here());
}

// The producer sends one batch more than the consumer takes.
void extra_message(Rank& rank, const PlantedBug& bug) {
  Values batch(4, 1.0F);
  const int sent = bug.is_planted() ? 3 : 2;
  if (rank.rank() == 0)
    for (int i = 0; i < sent; ++i) rank.root()->send(view(batch), 1, 0, {}, bug.here());
  if (rank.rank() == 1)
    for (int i = 0; i < 2; ++i) rank.root()->recv(view(batch), 0);
}

// Uses a rank number of the pair on the root, so the receive waits for the wrong rank.
void wrong_source(Rank& rank, const PlantedBug& bug) {
  const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
  Values activation(4, 1.0F);
  const int source = bug.is_planted() ? 0 : rank.rank() - pair->rank();
  if (rank.rank() % 2 == 0) {
    if (rank.rank() == source || !bug.is_planted())
      rank.root()->send(view(activation), rank.rank() + 1);
  } else {
    rank.root()->recv(view(activation), source, 0, {}, bug.here());
  }
}

// A server applies gradients in order of arrival, and its result depends on that order.
void first_come(Rank& rank, const PlantedBug& bug) {
  float gradient = static_cast<float>(rank.rank());
  if (rank.rank() == 1 || rank.rank() == 2) rank.root()->send(view_of(gradient), 0);
  if (rank.rank() != 0) return;
  float weight = 0.0F;
  for (const int source : {1, 2}) {
    rank.root()->recv(view_of(gradient), bug.is_planted() ? any_rank : source, 0, {}, bug.here());
    weight = 2.0F * weight + gradient;
  }
  rank.output("weight", weight);
}

// Weight and bias carry different tags, but the receiver takes any tag.
void any_tag(Rank& rank, const PlantedBug& bug) {
  std::int32_t weight = 7;
  std::int32_t bias = 2;
  constexpr int weight_tag = 1;
  constexpr int bias_tag = 2;
  if (rank.rank() == 0) {
    Work first = rank.root()->start_send(view_of(bias), 1, bias_tag);
    Work second = rank.root()->start_send(view_of(weight), 1, weight_tag);
    first.wait();
    second.wait();
  } else if (rank.rank() == 1) {
    rank.root()->recv(view_of(weight), 0, bug.is_planted() ? gang::any_tag : weight_tag);
    rank.root()->recv(view_of(bias), 0, bug.is_planted() ? gang::any_tag : bias_tag);
    if (weight != 7 || bias != 2) rank.wrong_result("Weight and bias are swapped.", bug.here());
  }
}

}  // namespace

std::vector<FaultyProgram> messages() {
  namespace id = sim::finding_id;
  return {
      faulty("both_send_first", "both ranks send first", both_send_first, id::buffering_hazard,
             {0, 1}, {.seen_in = "pytorch#109401", .default_world_size = 2}),
      faulty("both_recv_first", "both ranks receive first", both_recv_first,
             id::point_to_point_cycle, {0, 1},
             {.seen_in = "pytorch#108378", .default_world_size = 2}),
      faulty("ring_of_sends", "all send to the right first", ring_of_sends, id::buffering_hazard,
             {0, 1, 2, 3}),
      faulty("wrong_tag", "tag 1 is sent, tag 2 expected", wrong_tag, id::mismatch_tag, {0, 1},
             {.seen_in = "pytorch#94819", .default_world_size = 2}),
      faulty("short_message", "three sent, five expected", short_message, id::mismatch_count,
             {0, 1}, {.seen_in = "pytorch#113376", .default_world_size = 2}),
      faulty("token_type", "32 bits sent, 64 expected", token_type, id::mismatch_data_type, {0, 1},
             {.default_world_size = 2}),
      faulty("extra_message", "one more sent than received", extra_message, id::unreceived_message,
             {0, 1}, {.default_world_size = 2, .options = {{"sends", "buffered:4096"}}}),
      faulty("wrong_source", "a rank number of another gang", wrong_source, id::participant_missing,
             {0}, {.world_step = 2}),
      faulty("first_come", "a result that depends on a race", first_come, id::message_race,
             {0, 1, 2}, {.default_world_size = 3, .fewest_ranks = 3}),
      faulty("any_tag", "takes whatever comes first", any_tag, id::wrong_result, {1},
             {.seen_in = "pytorch#125079", .default_world_size = 2})};
}

}  // namespace gang::harness
