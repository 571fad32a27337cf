#include "properties/generators/script_case.h"

#include <array>

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
                                   EnumName{Kind::broken_barrier, "abort of the pair"}};

// Mostly calls that make no choice: those are the worlds that something certain is said about.
Kind draw_kind(Draw& draw) {
  constexpr std::array usual = {Kind::barrier, Kind::reduction, Kind::send, Kind::receive};
  constexpr std::array rare = {Kind::receive_any, Kind::test_receive, Kind::broken_barrier};
  return draw.one_in(8) ? draw.any_of(rare) : draw.any_of(usual);
}

void perform(const ScriptedCall& call, Gang& root, Gang& pair, CallSite site) {
  const int peer = call.peer % root.size();
  std::vector<std::int32_t> values(static_cast<std::size_t>(call.count), root.rank());
  switch (call.kind) {
    case Kind::barrier:
      return root.barrier({}, site);
    case Kind::reduction:
      return pair.all_reduce(view(values), ReduceOperation::sum, {}, site);
    case Kind::send:
      return root.send(view(values), peer, call.tag, {}, site);
    case Kind::receive:
      root.recv(view(values), peer, call.tag, {}, site);
      return;
    case Kind::receive_any:
      root.recv(view(values), any_rank, call.tag, {}, site);
      return;
    case Kind::test_receive: {
      Work work = root.start_recv(view(values), peer, call.tag, {}, site);
      if (!work.test()) work.wait();
      return;
    }
    case Kind::broken_barrier:
      return pair.abort();
  }
}

std::string text_of(const ScriptedCall& call) {
  std::string text(name_of(kind_names, call.kind));
  if (call.kind == Kind::send || call.kind == Kind::receive || call.kind == Kind::test_receive)
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

sim::RankProgram program_of(const ScriptCase& script) {
  return [&script](sim::SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2});
    std::uint32_t line = 0;
    for (const ScriptedCall& call : script.calls[static_cast<std::size_t>(rank.rank())]) {
      const CallSite site =
          CallSite::at("script", 10 * static_cast<std::uint32_t>(rank.rank()) + ++line);
      try {
        perform(call, *rank.root(), *pair, site);
      } catch (const GangError&) {
        if (!script.handles_errors) throw;
      }
    }
  };
}

std::string to_text(const ScriptCase& script) {
  std::string text = fmt::format("{} ranks{}\n", script.calls.size(),
                                 script.handles_errors ? ", which handle errors" : "");
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
  return simpler.take();
}

}  // namespace gang::properties
