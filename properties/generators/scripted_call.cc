#include "properties/generators/scripted_call.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gang/enum_names.h"

namespace gang::properties {
namespace {

using Kind = ScriptedKind;

constexpr std::array kind_names = {EnumName{Kind::barrier, "barrier"},
                                   EnumName{Kind::reduction, "reduction on the pair"},
                                   EnumName{Kind::two_reductions, "reductions on pair and all"},
                                   EnumName{Kind::two_threads, "reductions by two threads"},
                                   EnumName{Kind::gather_behind, "messages behind a reduction to"},
                                   EnumName{Kind::test_reduction, "tested reduction on all"},
                                   EnumName{Kind::one_gang, "two barriers"},
                                   EnumName{Kind::send, "send"},
                                   EnumName{Kind::receive, "receive"},
                                   EnumName{Kind::receive_any, "receive from any rank"},
                                   EnumName{Kind::test_receive, "tested receive"},
                                   EnumName{Kind::try_receive, "receive in some tries"},
                                   EnumName{Kind::wait_any, "wait for one of two receives"},
                                   EnumName{Kind::timed_wait, "receive with patience"},
                                   EnumName{Kind::signal, "wait for a thread"},
                                   EnumName{Kind::sleep, "sleep"},
                                   EnumName{Kind::monitored, "monitored barrier"},
                                   EnumName{Kind::broken_barrier, "abort of the pair"},
                                   EnumName{Kind::shrink, "shrink"}};

// Whether it had ended then: 1, else 0. It has in the end.
int test_once(Work& work) {
  if (work.test()) return 1;
  work.wait();
  return 0;
}

// Started receives from `peer` and from the rank behind it.
int receive_either(Gang& root, int peer, const ScriptedCall& call, CallSite site) {
  std::array<std::vector<std::int32_t>, 2> values;
  std::array<Work, 2> works;
  for (int i = 0; i < 2; ++i) {
    values[i].resize(static_cast<std::size_t>(call.count));
    works[i] = root.start_recv(view(values[i]), (peer + i) % root.size(), call.tag, {}, site);
  }
  const std::size_t first = Work::wait_any(works);
  works[first].wait();
  works[1 - first].wait();
  return static_cast<int>(first);
}

// A started receive, tested until it has ended or some tries were in vain. Returns how many were.
int receive_in_tries(sim::SimulatedRank& rank, int peer, const ScriptedCall& call, CallSite site) {
  constexpr int most = 3;
  std::vector<std::int32_t> values(static_cast<std::size_t>(call.count));
  Work work = rank.root()->start_recv(view(values), peer, call.tag, {}, site);
  int in_vain = 0;
  while (in_vain < most && !work.test()) {
    ++in_vain;
    if (call.count > 1) rank.runtime().yield();
  }
  work.wait();
  return in_vain;
}

void start_two_reductions(Gang& root, Gang& pair, std::span<std::int32_t> values, CallSite site) {
  std::vector<std::int32_t> of_all(values.begin(), values.end());
  Work on_pair = pair.start_all_reduce(view(values), ReduceOperation::sum, {}, site);
  Work on_all = root.start_all_reduce(view(of_all), ReduceOperation::sum, {}, site);
  on_pair.wait();
  on_all.wait();
}

void reduce_in_two_threads(sim::SimulatedRank& rank, Gang& pair, std::span<std::int32_t> values,
                           CallSite site) {
  std::vector<std::int32_t> of_all(values.begin(), values.end());
  const auto thread = rank.runtime().start_thread(
      "pair", [&] { pair.all_reduce(view(values), ReduceOperation::sum, {}, site); });
  rank.root()->all_reduce(view(of_all), ReduceOperation::sum, {}, site);
  thread->join();
}

// Returns what depends on whose message came last.
int gather_behind_reduction(Gang& root, int peer, std::span<std::int32_t> values, CallSite site) {
  std::vector<std::int32_t> of_all(values.begin(), values.end());
  Work work = root.start_all_reduce(view(of_all), ReduceOperation::sum, {}, site);
  int last = 0;
  if (root.rank() != peer)
    root.send(view(values), peer, 0, {}, site);
  else
    for (int left = root.size() - 1; left > 0; --left)
      last = root.recv(view(values), any_rank, 0, {}, site).source_rank;
  work.wait();
  return last;
}

void meet_in_two_threads(sim::SimulatedRank& rank, CallSite site) {
  const auto root = rank.root();
  const auto barrier = [&root, site] { root->barrier({}, site); };
  const auto thread = rank.runtime().start_thread("other", barrier);
  barrier();
  thread->join();
}

// Whether the thread notified it in time.
bool wait_for_signal(Runtime& runtime, int after) {
  const auto mutex = runtime.make_mutex();
  const auto changed = runtime.make_condition();
  const auto thread = runtime.start_thread("notifier", [&] {
    runtime.sleep_for(std::chrono::milliseconds(after));
    changed->notify_one();
  });
  std::unique_lock<RuntimeMutex> lock(*mutex);
  return changed->wait_for(lock, std::chrono::milliseconds(2));
}

}  // namespace

int perform(const ScriptedCall& call, sim::SimulatedRank& rank, Gang& pair, CallSite site) {
  Gang& root = *rank.root();
  const int peer = call.peer % root.size();
  // Not a vector: most runs of an exploration may end within a call, and unwind what it has.
  std::array<std::int32_t, ScriptedCall::most> memory;
  memory.fill(root.rank());
  const std::span<std::int32_t> values(memory.data(), static_cast<std::size_t>(call.count));
  switch (call.kind) {
    case Kind::barrier:
      root.barrier({}, site);
      return 0;
    case Kind::reduction:
      pair.all_reduce(view(values), ReduceOperation::sum, {}, site);
      return 0;
    case Kind::two_reductions:
      return start_two_reductions(root, pair, values, site), 0;
    case Kind::two_threads:
      return reduce_in_two_threads(rank, pair, values, site), 0;
    case Kind::gather_behind:
      return gather_behind_reduction(root, peer, values, site);
    case Kind::one_gang:
      if (root.rank() == peer) return meet_in_two_threads(rank, site), 0;
      root.barrier({}, site);
      root.barrier({}, site);
      return 0;
    case Kind::send:
      root.send(view(values), peer, call.tag, {}, site);
      return 0;
    case Kind::receive:
      root.recv(view(values), peer, call.tag, {}, site);
      return 0;
    case Kind::receive_any:
      return root.recv(view(values), any_rank, call.tag, {}, site).source_rank;
    case Kind::test_receive: {
      Work work = root.start_recv(view(values), peer, call.tag, {}, site);
      return test_once(work);
    }
    case Kind::test_reduction: {
      Work work = root.start_all_reduce(view(values), ReduceOperation::sum, {}, site);
      return test_once(work);
    }
    case Kind::try_receive:
      return receive_in_tries(rank, peer, call, site);
    case Kind::wait_any:
      return receive_either(root, peer, call, site);
    case Kind::timed_wait: {
      Work work = root.start_recv(view(values), peer, call.tag, {}, site);
      if (work.wait(std::chrono::milliseconds(2))) return 0;
      work.wait();
      return 1;
    }
    case Kind::sleep:
      rank.runtime().sleep_for(std::chrono::milliseconds(call.count));
      return 0;
    case Kind::signal:
      return wait_for_signal(rank.runtime(), call.count) ? 1 : 0;
    case Kind::monitored:
      root.monitored_barrier(std::chrono::milliseconds(2), Gang::MissingRanks::first, {}, site);
      return 0;
    case Kind::broken_barrier:
      pair.abort();
      return 0;
    case Kind::shrink:
      root.shrink({.grace = call.count == 1 ? Duration(std::chrono::hours(1))
                                            : Duration(std::chrono::milliseconds(2))})
          ->barrier({}, site);
      return 0;
  }
  return 0;
}

std::string to_text(const ScriptedCall& call) {
  std::string text(name_of(kind_names, call.kind));
  constexpr std::array with_peer = {Kind::send,        Kind::receive,  Kind::test_receive,
                                    Kind::try_receive, Kind::wait_any, Kind::timed_wait};
  if (call.kind == Kind::one_gang) return text + fmt::format(" with a thread on {}", call.peer);
  if (std::ranges::find(with_peer, call.kind) != with_peer.end())
    text += fmt::format(" {} {}", call.kind == Kind::send ? "to" : "from", call.peer);
  if (call.tag != 0) text += fmt::format(" tag {}", call.tag);
  return call.count == 1 ? text : text + fmt::format(" of {}", call.count);
}

}  // namespace gang::properties
