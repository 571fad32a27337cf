// repeated_calls KIND RANKS CALLS: every rank makes CALLS small calls of one kind, and nothing
// else; prints the nanoseconds of one rank-operation. For tools that count instructions, too: the
// difference of two runs is what the calls cost.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "gang/gang.h"
#include "sim/simulation.h"

namespace gang::benchmarks {
namespace {

// What the calls of a rank work on: one float, or one for each rank.
struct Buffers {
  explicit Buffers(std::size_t size) : one(1, 1.0F), all(size, 1.0F), others(size, 1.0F) {
    for (float& value : others) list.push_back(view_of(value));
  }

  std::vector<float> one;
  std::vector<float> all;
  std::vector<float> others;
  std::vector<TensorView> list;  // of `others`
};

using Call = void (*)(Gang&, Buffers&);

constexpr auto sum = ReduceOperation::sum;

std::span<const TensorView> on_root(const Gang& gang, const Buffers& data) {
  return gang.rank() == 0 ? std::span<const TensorView>(data.list) : std::span<const TensorView>();
}

// A rank sends to the next one, or receives from the one before.
void send_or_receive(Gang& gang, Buffers& data) {
  if (gang.rank() % 2 == 0)
    gang.send(view(data.one), gang.rank() + 1);
  else
    gang.recv(view(data.one), gang.rank() - 1);
}

const std::map<std::string, Call> calls = {
    {"all_reduce", [](Gang& gang, Buffers& data) { gang.all_reduce(view(data.one), sum); }},
    {"reduce", [](Gang& gang, Buffers& data) { gang.reduce(view(data.one), sum, 0); }},
    {"reduce_scatter",
     [](Gang& gang, Buffers& data) { gang.reduce_scatter(view(data.one), view(data.all), sum); }},
    {"all_gather",
     [](Gang& gang, Buffers& data) { gang.all_gather(view(data.all), view(data.one)); }},
    {"all_gather_to_list",
     [](Gang& gang, Buffers& data) { gang.all_gather_to_list(data.list, view(data.one)); }},
    {"gather",
     [](Gang& gang, Buffers& data) { gang.gather(on_root(gang, data), view(data.one), 0); }},
    {"scatter",
     [](Gang& gang, Buffers& data) { gang.scatter(view(data.one), on_root(gang, data), 0); }},
    {"all_to_all",
     [](Gang& gang, Buffers& data) { gang.all_to_all(view(data.others), view(data.all)); }},
    {"broadcast", [](Gang& gang, Buffers& data) { gang.broadcast(view(data.one)); }},
    {"barrier", [](Gang& gang, Buffers&) { gang.barrier(); }},
    {"send_recv", send_or_receive},
    {"start_all_reduce",
     [](Gang& gang, Buffers& data) { gang.start_all_reduce(view(data.one), sum).wait(); }},
};

int run(int count, char** arguments) {
  const auto found = calls.find(count == 4 ? arguments[1] : "");
  if (found == calls.end()) {
    std::fputs("usage: repeated_calls KIND RANKS CALLS; RANKS even; KIND is one of:", stderr);
    for (const auto& [name, call] : calls) std::fprintf(stderr, " %s", name.c_str());
    std::fputs("\n", stderr);
    return 2;
  }
  const int world_size = std::atoi(arguments[2]);
  const int repeats = std::atoi(arguments[3]);
  const auto began = std::chrono::steady_clock::now();
  const sim::Report report =
      sim::Simulation({.world_size = world_size, .context = sim::ContextKind::fiber})
          .run([call = found->second, repeats](sim::SimulatedRank& rank) {
            Gang& gang = *rank.root();
            Buffers data(static_cast<std::size_t>(gang.size()));
            for (int i = 0; i < repeats; ++i) call(gang, data);
          });
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - began;
  std::printf("%g\n", time.count() / world_size / repeats);
  if (report.holds()) return 0;
  std::fputs(to_string(report).c_str(), stderr);
  return 1;
}

}  // namespace
}  // namespace gang::benchmarks

int main(int count, char** arguments) { return gang::benchmarks::run(count, arguments); }
