#include "properties/generators/script_case.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "gang/enum_names.h"
#include "gang/error.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using Kind = ScriptedKind;

constexpr int most_ranks = 5;

constexpr std::array backend_places = {EnumName{sim::SimulatedBackend::sim, ""},
                                       EnumName{sim::SimulatedBackend::gloo, " on sim-gloo"},
                                       EnumName{sim::SimulatedBackend::nccl, " on sim-nccl"}};

// Mostly calls that make no choice: those are the worlds that something certain is said about.
Kind draw_kind(Draw& draw) {
  constexpr std::array usual = {Kind::barrier, Kind::reduction, Kind::send, Kind::receive};
  constexpr std::array rare = {
      Kind::receive_any, Kind::test_receive,   Kind::try_receive, Kind::wait_any,  Kind::timed_wait,
      Kind::sleep,       Kind::broken_barrier, Kind::signal,      Kind::monitored, Kind::shrink};
  return draw.one_in(8) ? draw.any_of(rare) : draw.any_of(usual);
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

namespace {

ScriptCase generate_met_choices(Draw& draw) {
  constexpr std::array kinds = {Kind::receive_any,  Kind::receive_any, Kind::receive_any,
                                Kind::test_receive, Kind::try_receive, Kind::wait_any,
                                Kind::timed_wait,   Kind::receive,     Kind::sleep,
                                Kind::barrier,      Kind::one_gang,    Kind::signal,
                                Kind::monitored};
  constexpr std::array started = {Kind::two_reductions, Kind::two_threads, Kind::test_reduction,
                                  Kind::gather_behind};
  const int ranks = draw.between(3, most_ranks);
  ScriptCase script{.ends_by_what_it_saw = true};
  script.calls.resize(static_cast<std::size_t>(ranks));
  const auto add = [&](int rank, const ScriptedCall& call) {
    script.calls[static_cast<std::size_t>(rank % ranks)].push_back(call);
  };
  const int count = draw.between(1, 3 + draw.size / 20);
  for (int i = 0; i < count; ++i) {
    const bool is_started = draw.one_in(10);
    const Kind kind = is_started ? draw.any_of(started) : draw.any_of(kinds);
    const int tag = draw.one_in(4) ? 1 : 0;
    const int destination = draw.between(0, ranks - 1);
    const int source = destination + draw.between(1, ranks - 2);
    const bool is_of_all =
        is_started || kind == Kind::barrier || kind == Kind::one_gang || kind == Kind::monitored;
    const bool is_of_one = kind == Kind::sleep || kind == Kind::signal;
    if (is_of_all)
      for (int rank = 0; rank < ranks; ++rank) {
        // One with threads is enough.
        const bool is_other = kind == Kind::two_threads && rank != destination;
        add(rank, {.kind = is_other ? Kind::two_reductions : kind, .peer = destination});
      }
    if (is_of_one) add(source, {.kind = kind, .count = draw.between(1, 3)});
    if (is_of_all || is_of_one) continue;
    const int elements = kind == Kind::try_receive ? draw.between(1, 2) : 1;
    add(source, {.kind = Kind::send, .peer = destination, .tag = tag, .count = elements});
    if (kind == Kind::wait_any)
      add(source + 1, {.kind = Kind::send, .peer = destination, .tag = tag});
    add(destination, {.kind = kind, .peer = source % ranks, .tag = tag, .count = elements});
  }
  return script;
}

}  // namespace

ScriptCase generate_choices(Draw& draw) {
  ScriptCase script = generate_met_choices(draw);
  if (!draw.one_in(4)) {
    const int rank = draw.between(0, static_cast<int>(script.calls.size()) - 1);
    script.calls[static_cast<std::size_t>(rank)].push_back({.kind = Kind::barrier});
  }
  return script;
}

ScriptCase generate_faulty_choices(Draw& draw) {
  using enum sim::FaultKind;
  constexpr std::array kinds = {crash, crash, crash, exit, exception, stall, slow, watchdog_abort};
  ScriptCase script = generate_choices(draw);
  const int ranks = static_cast<int>(script.calls.size());
  script.handles_errors = draw.one_in(2);
  for (auto& calls : script.calls)
    if (draw.one_in(2)) calls.push_back({.kind = Kind::shrink, .count = draw.between(1, 2)});
  sim::Fault fault{.kind = draw.any_of(kinds), .ranks = {draw.between(0, ranks - 1)}};
  fault.trigger.operation = static_cast<std::uint64_t>(draw.between(0, 3));
  fault.trigger.moment = draw.any_of(
      std::array{sim::FaultMoment::before, sim::FaultMoment::inside, sim::FaultMoment::after});
  const auto short_time = [&draw](int least) {
    return Duration(std::chrono::milliseconds(draw.between(least, 3)));
  };
  const bool dies = fault.kind == crash || fault.kind == exit;
  if (dies && !draw.one_in(4)) fault.notice = short_time(0);
  if (fault.kind == slow) fault.delay = short_time(1);
  if (fault.kind == stall && draw.one_in(2)) fault.lasts = short_time(1);
  if ((dies || fault.kind == stall) && fault.trigger.moment == sim::FaultMoment::inside) {
    fault.error_at.emplace();
    for (int rank = 0; rank < ranks; ++rank)
      if (fault.notice && draw.one_in(2)) fault.error_at->push_back(rank);
  }
  script.faults.push_back(std::move(fault));
  return script;
}

ScriptCase generate_choices_elsewhere(Draw& draw) {
  using enum sim::SimulatedBackend;
  Draw few{draw.random, draw.size / 4, draw.max_world};
  ScriptCase script = generate_met_choices(few);
  script.backend = draw.one_in(3) ? gloo : nccl;
  if (script.backend == nccl && draw.one_in(2)) script.order = sim::LaunchOrder::any;
  if (script.backend == nccl && draw.one_in(4)) script.launch = sim::HostLaunch::blocking;
  for (auto& calls : script.calls)
    for (ScriptedCall& call : calls) {
      if (call.kind == Kind::receive_any && script.backend == nccl) call.kind = Kind::receive;
      if (call.kind == Kind::one_gang || call.kind == Kind::monitored) call.kind = Kind::barrier;
    }
  constexpr std::array reducing = {Kind::two_threads, Kind::two_reductions, Kind::two_reductions,
                                   Kind::test_reduction};
  const int reductions = draw.between(0, 2);
  for (int i = 0; i < reductions; ++i) {
    const Kind kind = draw.any_of(reducing);
    for (auto& calls : script.calls)
      if (!draw.one_in(12)) calls.push_back({.kind = kind});
  }
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
      return call.kind == Kind::reduction || call.kind == Kind::two_reductions ||
             call.kind == Kind::two_threads || call.kind == Kind::broken_barrier;
    });
  });
}

int perform_whatever_fails(const ScriptedCall& call, sim::SimulatedRank& rank, Gang& pair,
                           CallSite site) {
  try {
    return perform(call, rank, pair, site);
  } catch (const GangError&) {
    return 0;
  }
}

// The program of a rank. Nothing here is there to be unwound, and nothing is caught to be thrown
// again: either would cost more than the calls, in each of the many runs that end within one.
void run_calls(const ScriptCase& script, sim::SimulatedRank& rank, Gang& pair) {
  std::uint32_t line = 0;
  int seen = 0;
  for (const ScriptedCall& call : script.calls[static_cast<std::size_t>(rank.rank())]) {
    const CallSite site =
        CallSite::at("script", 10 * static_cast<std::uint32_t>(rank.rank()) + ++line);
    seen += script.handles_errors ? perform_whatever_fails(call, rank, pair, site)
                                  : perform(call, rank, pair, site);
  }
  if (!script.ends_by_what_it_saw) return;
  if (script.backend != sim::SimulatedBackend::sim)
    rank.runtime().sleep_for(std::chrono::hours(seen));
  else if (seen % 2 == 1)
    rank.root()->barrier({}, CallSite::at("script", 1000));
}

}  // namespace

sim::SimulationOptions options_of(const ScriptCase& script) {
  sim::SimulationOptions options{.world_size = static_cast<int>(script.calls.size()),
                                 .backend = script.backend,
                                 .nccl = {.order = script.order, .launch = script.launch},
                                 .execution = script.execution,
                                 .sends = script.sends};
  if (!script.faults.empty())
    options.faults =
        std::make_shared<const sim::FaultPlan>(sim::FaultPlan{.faults = script.faults});
  return options;
}

sim::RankProgram program_of(const ScriptCase& script) {
  return [&script, has_pairs = has_pairs(script)](sim::SimulatedRank& rank) {
    if (!has_pairs) return run_calls(script, rank, *rank.root());
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    run_calls(script, rank, *pair);
  };
}

std::string to_text(const ScriptCase& script) {
  std::string text = fmt::format(
      "{} ranks{}{}{}{}{}{}{}\n", script.calls.size(), name_of(backend_places, script.backend),
      script.sends.buffered_bytes ? fmt::format(", sends {}", to_string(script.sends)) : "",
      script.execution == sim::ExecutionModel::stream_ordered ? ", stream-ordered" : "",
      script.order == sim::LaunchOrder::any ? ", whose devices start kernels in any order" : "",
      script.launch == sim::HostLaunch::blocking ? ", whose launches block" : "",
      script.handles_errors ? ", which handle errors" : "",
      script.ends_by_what_it_saw ? ", whose end depends on what they saw" : "");
  for (const sim::Fault& fault : script.faults) text += to_string(fault) + '\n';
  for (std::size_t rank = 0; rank < script.calls.size(); ++rank) {
    text += fmt::format("rank {}:", rank);
    for (const ScriptedCall& call : script.calls[rank]) text += " " + to_text(call) + ";";
    text += '\n';
  }
  return text;
}

std::vector<ScriptCase> shrinks(const ScriptCase& script) {
  SimplerCases<ScriptCase> simpler(script);
  simpler.drop_each(&ScriptCase::faults);
  const auto is_victim = [&script](int rank) {
    return std::ranges::any_of(script.faults, [rank](const sim::Fault& fault) {
      return std::ranges::find(fault.ranks, rank) != fault.ranks.end() ||
             (fault.error_at && std::ranges::find(*fault.error_at, rank) != fault.error_at->end());
    });
  };
  const bool may_drop_last = !is_victim(static_cast<int>(script.calls.size()) - 1);
  if (script.faults.empty())
    simpler.drop_each(&ScriptCase::calls, 2);
  else if (may_drop_last && script.calls.size() > 2)
    simpler.add([](ScriptCase& one) { one.calls.pop_back(); });
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
  simpler.reset(&ScriptCase::sends);
  simpler.reset(&ScriptCase::execution);
  simpler.reset(&ScriptCase::order);
  simpler.reset(&ScriptCase::launch);
  simpler.reset(&ScriptCase::backend);
  return simpler.take();
}

}  // namespace gang::properties
