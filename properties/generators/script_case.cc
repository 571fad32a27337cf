#include "properties/generators/script_case.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "gang/enum_names.h"
#include "gang/error.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using Kind = ScriptedKind;

constexpr int most_ranks = 5;

constexpr std::array kind_names = {EnumName{Kind::barrier, "barrier"},
                                   EnumName{Kind::reduction, "reduction on the pair"},
                                   EnumName{Kind::send, "send"},
                                   EnumName{Kind::receive, "receive"},
                                   EnumName{Kind::receive_any, "receive from any rank"},
                                   EnumName{Kind::test_receive, "tested receive"},
                                   EnumName{Kind::wait_any, "wait for one of two receives"},
                                   EnumName{Kind::timed_wait, "receive with patience"},
                                   EnumName{Kind::sleep, "sleep"},
                                   EnumName{Kind::broken_barrier, "abort of the pair"}};

// Mostly calls that make no choice: those are the worlds that something certain is said about.
Kind draw_kind(Draw& draw) {
  constexpr std::array usual = {Kind::barrier, Kind::reduction, Kind::send, Kind::receive};
  constexpr std::array rare = {Kind::receive_any, Kind::test_receive, Kind::wait_any,
                               Kind::timed_wait,  Kind::sleep,        Kind::broken_barrier};
  return draw.one_in(8) ? draw.any_of(rare) : draw.any_of(usual);
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

// Returns what the rank saw that may depend on the schedule, else 0.
int perform(const ScriptedCall& call, sim::SimulatedRank& rank, Gang& pair, CallSite site) {
  Gang& root = *rank.root();
  const int peer = call.peer % root.size();
  std::vector<std::int32_t> values(static_cast<std::size_t>(call.count), root.rank());
  switch (call.kind) {
    case Kind::barrier:
      root.barrier({}, site);
      return 0;
    case Kind::reduction:
      pair.all_reduce(view(values), ReduceOperation::sum, {}, site);
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
      if (work.test()) return 1;
      work.wait();
      return 0;
    }
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
    case Kind::broken_barrier:
      pair.abort();
      return 0;
  }
  return 0;
}

std::string text_of(const ScriptedCall& call) {
  std::string text(name_of(kind_names, call.kind));
  constexpr std::array with_peer = {Kind::send, Kind::receive, Kind::test_receive, Kind::wait_any,
                                    Kind::timed_wait};
  if (std::ranges::find(with_peer, call.kind) != with_peer.end())
    text += fmt::format(" {} {}", call.kind == Kind::send ? "to" : "from", call.peer);
  if (call.tag != 0) text += fmt::format(" tag {}", call.tag);
  return call.count == 1 ? text : text + fmt::format(" of {}", call.count);
}

}  // namespace

ScriptCase generate_script(Draw& draw) {
  ScriptCase script{.handles_errors = draw.one_in(4)};
  script.calls.resize(static_cast<std::size_t>(draw.between(2, most_ranks)));
  for (auto& calls : script.calls) {
    const int count = draw.between(0, 1 + draw.size / 25);
    for (int i = 0; i < count; ++i)
      calls.push_back({.kind = draw_kind(draw),
                       .peer = draw.between(0, most_ranks - 1),
                       .tag = draw.one_in(4) ? 1 : 0,
                       .count = draw.one_in(6) ? 2 : 1});
  }
  return script;
}

ScriptCase generate_choices(Draw& draw) {
  constexpr std::array kinds = {Kind::receive_any,  Kind::receive_any, Kind::receive_any,
                                Kind::test_receive, Kind::wait_any,    Kind::timed_wait,
                                Kind::receive,      Kind::sleep,       Kind::barrier};
  const int ranks = draw.between(3, most_ranks);
  ScriptCase script{.ends_by_what_it_saw = true};
  script.calls.resize(static_cast<std::size_t>(ranks));
  const auto add = [&](int rank, const ScriptedCall& call) {
    script.calls[static_cast<std::size_t>(rank % ranks)].push_back(call);
  };
  const int count = draw.between(1, 3 + draw.size / 20);
  for (int i = 0; i < count; ++i) {
    const Kind kind = draw.any_of(kinds);
    const int tag = draw.one_in(4) ? 1 : 0;
    const int destination = draw.between(0, ranks - 1);
    const int source = destination + draw.between(1, ranks - 2);
    if (kind == Kind::barrier)
      for (int rank = 0; rank < ranks; ++rank) add(rank, {.kind = kind});
    if (kind == Kind::sleep) add(source, {.kind = kind, .count = draw.between(1, 3)});
    if (kind == Kind::barrier || kind == Kind::sleep) continue;
    add(source, {.kind = Kind::send, .peer = destination, .tag = tag});
    if (kind == Kind::wait_any)
      add(source + 1, {.kind = Kind::send, .peer = destination, .tag = tag});
    add(destination, {.kind = kind, .peer = source % ranks, .tag = tag});
  }
  if (!draw.one_in(4)) add(draw.between(0, ranks - 1), {.kind = Kind::barrier});
  return script;
}

ScriptCase generate_shuffled_messages(Draw& draw) {
  const int ranks = draw.between(2, most_ranks);
  ScriptCase script;
  script.calls.resize(static_cast<std::size_t>(ranks));
  const int count = draw.between(1, 2 + draw.size / 20);
  const auto insert = [&](int rank, const ScriptedCall& call) {
    auto& calls = script.calls[static_cast<std::size_t>(rank)];
    calls.insert(calls.begin() + draw.between(0, static_cast<int>(calls.size())), call);
  };
  for (int i = 0; i < count; ++i) {
    const int source = draw.between(0, ranks - 1);
    const int destination = (source + draw.between(1, ranks - 1)) % ranks;
    const int tag = draw.between(0, 2);
    const Kind kind = draw.one_in(10) ? Kind::receive_any : Kind::receive;
    insert(source, {.kind = Kind::send, .peer = destination, .tag = tag});
    insert(destination, {.kind = kind, .peer = source, .tag = tag});
  }
  return script;
}

namespace {

bool has_pairs(const ScriptCase& script) {
  return std::ranges::any_of(script.calls, [](const std::vector<ScriptedCall>& calls) {
    return std::ranges::any_of(calls, [](const ScriptedCall& call) {
      return call.kind == Kind::reduction || call.kind == Kind::broken_barrier;
    });
  });
}

}  // namespace

sim::SimulationOptions options_of(const ScriptCase& script) {
  return {.world_size = static_cast<int>(script.calls.size())};
}

sim::RankProgram program_of(const ScriptCase& script) {
  return [&script, has_pairs = has_pairs(script)](sim::SimulatedRank& rank) {
    const auto pair = has_pairs ? rank.root()->split({.color = rank.rank() / 2}) : rank.root();
    std::uint32_t line = 0;
    int seen = 0;
    for (const ScriptedCall& call : script.calls[static_cast<std::size_t>(rank.rank())]) {
      const CallSite site =
          CallSite::at("script", 10 * static_cast<std::uint32_t>(rank.rank()) + ++line);
      try {
        seen += perform(call, rank, *pair, site);
      } catch (const GangError&) {
        if (!script.handles_errors) throw;
      }
    }
    if (script.ends_by_what_it_saw && seen % 2 == 1)
      rank.root()->barrier({}, CallSite::at("script", 1000));
  };
}

std::string to_text(const ScriptCase& script) {
  std::string text = fmt::format(
      "{} ranks{}{}\n", script.calls.size(), script.handles_errors ? ", which handle errors" : "",
      script.ends_by_what_it_saw ? ", whose end depends on what they saw" : "");
  for (std::size_t rank = 0; rank < script.calls.size(); ++rank) {
    text += fmt::format("rank {}:", rank);
    for (const ScriptedCall& call : script.calls[rank]) text += " " + text_of(call) + ";";
    text += '\n';
  }
  return text;
}

std::vector<ScriptCase> shrinks(const ScriptCase& script) {
  SimplerCases<ScriptCase> simpler(script);
  simpler.drop_each(&ScriptCase::calls, 2);
  for (std::size_t rank = 0; rank < script.calls.size(); ++rank) {
    simpler.drop_each([rank](ScriptCase& one) -> auto& { return one.calls[rank]; });
    for (std::size_t i = 0; i < script.calls[rank].size(); ++i)
      simpler.add([rank, i](ScriptCase& one) {
        ScriptedCall& call = one.calls[rank][i];
        call = {.kind = call.kind, .peer = call.peer};
      });
  }
  simpler.reset(&ScriptCase::handles_errors);
  simpler.reset(&ScriptCase::ends_by_what_it_saw);
  return simpler.take();
}

}  // namespace gang::properties
