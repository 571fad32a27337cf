#include "properties/generators/culprit_case.h"

#include <algorithm>

#include <fmt/format.h>

#include "properties/case_text.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

constexpr std::array slips = {Slip::skips,       Slip::adds,      Slip::swaps,   Slip::other_gang,
                              Slip::other_count, Slip::other_tag, Slip::returns, Slip::throws};
constexpr int first_own_line = 101;
constexpr int most_recorded = 1024;  // calls of each rank, in small worlds

std::string_view text_of(SharedCallKind kind) {
  switch (kind) {
    case SharedCallKind::all_reduce:
      return "all_reduce";
    case SharedCallKind::all_gather:
      return "all_gather";
    case SharedCallKind::barrier:
      return "barrier";
    case SharedCallKind::broadcast:
      return "broadcast";
    case SharedCallKind::uneven_all_to_all:
      return "uneven all_to_all";
    case SharedCallKind::ring:
      return "ring";
    case SharedCallKind::pass_on:
      return "pass on";
  }
  return "";
}

std::string_view text_of(Slip slip) {
  switch (slip) {
    case Slip::skips:
      return "skips";
    case Slip::adds:
      return "adds a call before";
    case Slip::swaps:
      return "makes after the next call";
    case Slip::other_gang:
      return "makes on another gang";
    case Slip::other_count:
      return "makes with more elements";
    case Slip::other_tag:
      return "makes with another tag";
    case Slip::returns:
      return "returns before";
    case Slip::throws:
      return "throws before";
  }
  return "";
}

bool has_count(SharedCallKind kind) {
  return kind == SharedCallKind::all_reduce || kind == SharedCallKind::all_gather ||
         kind == SharedCallKind::broadcast;
}

// -- Generating --

SharedCall generate_call(Draw& draw, int line) {
  constexpr std::array kinds = {
      SharedCallKind::all_reduce, SharedCallKind::all_reduce,        SharedCallKind::all_gather,
      SharedCallKind::barrier,    SharedCallKind::broadcast,         SharedCallKind::ring,
      SharedCallKind::pass_on,    SharedCallKind::uneven_all_to_all, SharedCallKind::barrier};
  SharedCall call;
  call.kind = draw.any_of(kinds);
  call.gang = draw.between(0, 3);
  call.line = line;
  call.count = draw.between(1, 4);
  call.varies = draw.one_in(4);
  if (call.gang % 2 == 1 && draw.one_in(8)) call.makers = Makers::last_stage;
  return call;
}

void generate_axes(Draw& draw, CulpritCase& one) {
  constexpr std::array inner = {1, 2, 2, 4, 4, 8};
  constexpr std::array outer = {1, 2, 3, 4};
  const int most = draw.one_in(50) ? 256 : 64;
  do {
    one.axes = {draw.any_of(inner), draw.any_of(outer), draw.any_of(outer)};
    if (draw.one_in(4)) one.axes[2] *= draw.between(1, 4);
  } while (one.world() < 4 || one.world() > most);
}

bool is_slip_of(const CulpritCase& one, const Culprit& culprit) {
  const SharedCall& call = one.calls[static_cast<std::size_t>(culprit.call)];
  if (culprit.slip == Slip::other_tag)
    return call.makers == Makers::all && call.kind == SharedCallKind::pass_on &&
           !culprit.on_own_line;
  if (call.makers != Makers::all || call.kind == SharedCallKind::pass_on) return false;
  switch (culprit.slip) {
    case Slip::swaps: {
      if (culprit.call + 1 >= static_cast<int>(one.calls.size())) return false;
      const SharedCall& next = one.calls[static_cast<std::size_t>(culprit.call) + 1];
      return next.makers == Makers::all && next.kind != SharedCallKind::pass_on;
    }
    case Slip::other_gang:
      return culprit.gang != call.gang;
    case Slip::other_count:
      // Whose count is wrong, where each pair has its own, only earlier calls can tell.
      return has_count(call.kind) && !(call.varies && culprit.iteration == 0);
    default:
      return true;
  }
}

void generate_slip(Draw& draw, CulpritCase& one) {
  Culprit culprit;
  do {
    culprit = {.rank = draw.between(0, one.world() - 1),
               .slip = draw.any_of(slips),
               .call = draw.between(0, static_cast<int>(one.calls.size()) - 1),
               .iteration = draw.between(0, std::min(one.iterations, 40) - 1),
               .gang = draw.between(0, 3),
               .on_own_line = draw.one_in(2)};
  } while (!is_slip_of(one, culprit) ||
           std::ranges::count(one.culprits, culprit.rank, &Culprit::rank) != 0);
  one.culprits.push_back(culprit);
}

// Calls that match each other, so that a slip shows at the end only.
void make_alike(CulpritCase& one) {
  for (SharedCall& call : one.calls)
    call = {.kind = SharedCallKind::all_reduce, .line = call.line, .count = 1};
}

CulpritCase generate_case(Draw& draw) {
  CulpritCase one;
  generate_axes(draw, one);
  const int count = draw.between(3, 8);
  int line = 10;
  for (int i = 0; i < count; ++i) {
    // What only some ranks call is on a line of its own.
    if (i == 0 || !draw.one_in(4) || one.calls.back().makers != Makers::all) ++line;
    one.calls.push_back(generate_call(draw, line));
    if (one.calls.back().makers != Makers::all && i > 0 &&
        one.calls[one.calls.size() - 2].line == line)
      one.calls.back().line = ++line;
    one.calls.back().tag = i;
  }
  const bool can_slip = std::ranges::any_of(one.calls, [](const SharedCall& call) {
    return call.makers == Makers::all && has_count(call.kind);
  });
  if (!can_slip) one.calls.push_back({.kind = SharedCallKind::all_reduce, .line = line + 1});
  one.iterations = draw.one_in(8) ? draw.between(5, 40) : draw.between(1, 4);
  if (draw.one_in(30)) make_alike(one);
  if (draw.one_in(300)) {
    make_alike(one);
    one.axes = {2, 2, 1};
    one.iterations = 600;
  }
  if (draw.one_in(2)) one.schedule = static_cast<std::uint64_t>(draw.between(1, 1'000'000));
  return one;
}

}  // namespace

int own_line(const Culprit& culprit) noexcept { return first_own_line + culprit.rank; }

std::vector<int> lines_of(const CulpritCase& one, const Culprit& culprit) {
  const std::size_t count = one.calls.size();
  const auto call_at = [&](std::size_t i) -> const SharedCall& { return one.calls[i % count]; };
  const auto index = static_cast<std::size_t>(culprit.call);
  const bool makes_none =
      culprit.slip == Slip::skips || culprit.slip == Slip::returns || culprit.slip == Slip::throws;
  std::vector<int> lines = {culprit.on_own_line && !makes_none ? own_line(culprit)
                                                               : call_at(index).line};
  if (culprit.slip == Slip::swaps) lines.push_back(call_at(index + 1).line);
  if (makes_none && culprit.iteration == 0) lines.push_back(1);  // where the gangs are made
  // What the rank does not do shows at the next call that it shares with others, and that is
  // another one; or, where there is none, at the one before.
  const auto shows = [&](std::size_t i) {
    const SharedCall& call = call_at(i);
    const SharedCall& left_out = call_at(index);
    const bool is_alike =
        call.line == left_out.line && call.kind == left_out.kind && call.gang == left_out.gang;
    const int size =
        call.gang == 0 ? one.world() : one.axes[static_cast<std::size_t>(call.gang) - 1];
    return size > 1 && !is_alike && call.makers == Makers::all &&
           call.kind != SharedCallKind::pass_on;
  };
  for (const std::size_t step : {std::size_t{1}, count - 1})
    for (std::size_t i = 1; makes_none && i <= count; ++i) {
      lines.push_back(call_at(index + i * step).line);
      if (shows(index + i * step)) break;
    }
  return lines;
}

bool is_far_behind(const CulpritCase& one) {
  return static_cast<int>(one.calls.size()) * one.iterations > most_recorded;
}

CulpritCase generate_culprit(Draw& draw) {
  CulpritCase one = generate_case(draw);
  generate_slip(draw, one);
  return one;
}

CulpritCase generate_two_culprits(Draw& draw) {
  CulpritCase one;
  do {
    one = generate_case(draw);
  } while (one.world() < 8);
  generate_slip(draw, one);
  generate_slip(draw, one);
  return one;
}

std::string to_text(const CulpritCase& one) {
  std::string text = fmt::format(
      "world {} ({} x {} x {}), {}, {}, {}", one.world(), one.axes[0], one.axes[1], one.axes[2],
      counted(one.calls.size(), "call"), counted(one.iterations, "iteration"),
      one.schedule == 0 ? "round robin" : schedule_text(sim::SchedulerKind::random, one.schedule));
  for (std::size_t i = 0; i < one.calls.size(); ++i) {
    const SharedCall& call = one.calls[i];
    text += fmt::format("\n{}  {} {} [{}{}] at line {}{}", i,
                        gang_names[static_cast<std::size_t>(call.gang)], text_of(call.kind),
                        call.count, call.varies ? "+" : "", call.line,
                        call.makers == Makers::last_stage ? ", last stage only" : "");
  }
  for (const Culprit& culprit : one.culprits) {
    text += fmt::format("\nrank {} {} call {} in iteration {}", culprit.rank, text_of(culprit.slip),
                        culprit.call, culprit.iteration);
    if (culprit.slip == Slip::adds || culprit.slip == Slip::other_gang)
      text += fmt::format(", on {}", gang_names[static_cast<std::size_t>(culprit.gang)]);
    if (culprit.on_own_line) text += fmt::format(", at line {}", own_line(culprit));
  }
  return text;
}

std::vector<CulpritCase> shrinks(const CulpritCase& original) {
  SimplerCases<CulpritCase> simpler(original);
  simpler.reset(&CulpritCase::schedule);
  simpler.lower(&CulpritCase::iterations, 1);
  simpler.lower(&CulpritCase::iterations, original.iterations - 1);
  for (std::size_t i = 0; i < original.calls.size(); ++i) {
    simpler.add([i](CulpritCase& one) {
      one.calls.erase(one.calls.begin() + static_cast<std::ptrdiff_t>(i));
      for (Culprit& culprit : one.culprits)
        if (culprit.call > static_cast<int>(i)) --culprit.call;
    });
    simpler.add([i](CulpritCase& one) { one.calls[i].varies = false; });
    simpler.add([i](CulpritCase& one) { one.calls[i].count = 1; });
  }
  for (std::size_t axis = 0; axis < original.axes.size(); ++axis)
    simpler.add([axis](CulpritCase& one) { one.axes[axis] = std::max(1, one.axes[axis] - 1); });
  for (std::size_t i = 0; i < original.culprits.size(); ++i) {
    simpler.add([i](CulpritCase& one) { one.culprits[i].iteration = 0; });
    simpler.add([i](CulpritCase& one) { one.culprits[i].on_own_line = false; });
  }
  std::vector<CulpritCase> cases = simpler.take();
  std::erase_if(cases, [](const CulpritCase& one) {
    return one.world() < 4 || std::ranges::any_of(
                                  one.culprits,
                                  [&one](const Culprit& culprit) {
                                    return culprit.rank >= one.world() ||
                                           culprit.iteration >= one.iterations ||
                                           culprit.call >= static_cast<int>(one.calls.size()) ||
                                           !is_slip_of(one, culprit);
                                  });
  });
  return cases;
}

}  // namespace gang::properties
