#include "properties/texts_round_trip.h"

#include <set>
#include <span>
#include <sstream>

#include <nlohmann/json.hpp>

#include "gang/collective.h"
#include "gang/object.h"
#include "properties/simpler_cases.h"
#include "sim/report/report_json.h"

namespace gang::properties {
namespace {

// Text with quotes, line ends and letters beyond ASCII.
std::string generate_text(Draw& draw) {
  static const std::string pieces[] = {"rank", " ", "\"", "\\", "\n", "…", "é", "[0,2]", ":", "7"};
  std::string text;
  for (int i = draw.between(0, 4); i > 0; --i) text += draw.any_of(pieces);
  return text;
}

std::vector<int> generate_ranks(Draw& draw) {
  std::set<int> ranks;
  for (int i = draw.between(0, 6); i > 0; --i) {
    const int first = draw.between(0, 40);
    const int stride = draw.between(1, 4);
    for (int j = draw.between(1, 5); j > 0; --j) ranks.insert(first + j * stride);
  }
  return {ranks.begin(), ranks.end()};
}

GangLabel generate_gang(Draw& draw) { return {generate_text(draw), generate_text(draw)}; }

CallText generate_call_text(Draw& draw) {
  CallText call{.kind = generate_text(draw),
                .payload = generate_text(draw),
                .direction = static_cast<CallText::Direction>(draw.between(0, 2)),
                .qualifiers = generate_text(draw)};
  if (draw.one_in(2)) call.sequence = draw.random();
  if (draw.one_in(2)) call.peer = draw.between(any_rank, 100);
  return call;
}

sim::Certainty generate_certainty(Draw& draw) {
  const auto dependence = [&draw] { return static_cast<sim::Dependence>(draw.between(0, 3)); };
  sim::Certainty certainty{.schedules = static_cast<sim::Schedules>(draw.between(0, 1)),
                           .sends = dependence(),
                           .streams = dependence(),
                           .faults = dependence(),
                           .otherwise = generate_text(draw)};
  if (draw.one_in(2))
    certainty.buffered_bytes = draw.one_in(4) ? sim::unlimited_bytes : draw.random();
  if (draw.one_in(2)) certainty.resident_kernels = draw.between(1, 3);
  return certainty;
}

// Empty, with texts of any kind, or as the compiler gives it.
SourceLocation generate_location(Draw& draw) {
  if (draw.one_in(4)) return {};
  return {.file = "a/" + generate_text(draw),
          .line = static_cast<std::uint32_t>(draw.random() >> 32),
          .function = generate_text(draw)};
}

sim::CallSummary generate_call(Draw& draw) {
  return {.ranks = generate_ranks(draw),
          .gang = generate_gang(draw),
          .call = generate_call_text(draw),
          .location = generate_location(draw),
          .note = generate_text(draw)};
}

void add_optional_fields(Draw& draw, sim::Finding& finding) {
  if (draw.one_in(2)) {
    finding.divergence.emplace().last_common = generate_call(draw);
    for (int i = draw.between(0, 3); i > 0; --i)
      finding.divergence->next.push_back(generate_call(draw));
  }
  for (int i = draw.between(0, 2); i > 0; --i)
    finding.near_misses.push_back({.first = generate_call(draw),
                                   .second = generate_call(draw),
                                   .field = generate_text(draw)});
  if (draw.one_in(2)) finding.certainty = generate_certainty(draw);
}

TextForm<sim::Finding> findings() {
  TextForm<sim::Finding> form;
  form.name = "findings_as_json";
  form.generate = [](Draw& draw) {
    sim::Finding finding;
    finding.id = std::string(sim::finding_id::rank_failed);
    finding.ranks = generate_ranks(draw);
    finding.gang = generate_gang(draw);
    finding.call = generate_call_text(draw);
    finding.message = generate_text(draw);
    finding.detail = generate_text(draw);
    finding.location = generate_location(draw);
    for (int i = draw.between(0, 3); i > 0; --i)
      finding.consequences.push_back(generate_text(draw));
    add_optional_fields(draw, finding);
    return finding;
  };
  form.print = [](const sim::Finding& finding) { return to_json(finding).dump(); };
  form.parse = [](const std::string& text) {
    return sim::finding_from_json(nlohmann::json::parse(text));
  };
  form.simpler = [](const sim::Finding& finding) {
    SimplerCases simpler(finding);
    simpler.reset(&sim::Finding::ranks);
    simpler.reset(&sim::Finding::consequences);
    simpler.reset(&sim::Finding::divergence);
    simpler.reset(&sim::Finding::near_misses);
    simpler.reset(&sim::Finding::gang);
    simpler.reset(&sim::Finding::call);
    simpler.reset(&sim::Finding::certainty);
    for (auto field : {&sim::Finding::message, &sim::Finding::detail}) simpler.reset(field);
    simpler.reset(&sim::Finding::location);
    return simpler.take();
  };
  return form;
}

TextForm<sim::BlockedCall> blocked_calls() {
  TextForm<sim::BlockedCall> form;
  form.name = "blocked_calls_as_json";
  form.generate = [](Draw& draw) {
    sim::BlockedCall blocked;
    blocked.rank = draw.between(0, 100);
    blocked.context = generate_text(draw);
    blocked.gang = generate_gang(draw);
    blocked.call = generate_call_text(draw);
    blocked.location = generate_location(draw);
    for (int i = draw.between(0, 2); i > 0; --i)
      blocked.call_stack.push_back(generate_location(draw));
    if (draw.one_in(2))
      blocked.behind = {generate_gang(draw), generate_call_text(draw), generate_location(draw)};
    blocked.waits_for = generate_ranks(draw);
    blocked.waits_for_count = blocked.waits_for.size();
    blocked.would_time_out_after_ns = draw.random.below(1'000'000);
    return blocked;
  };
  form.print = [](const sim::BlockedCall& blocked) { return to_json(blocked).dump(); };
  form.parse = [](const std::string& text) {
    return sim::blocked_call_from_json(nlohmann::json::parse(text));
  };
  form.simpler = [](const sim::BlockedCall& blocked) {
    SimplerCases simpler(blocked);
    simpler.reset(&sim::BlockedCall::rank);
    simpler.reset(&sim::BlockedCall::waits_for);
    simpler.reset(&sim::BlockedCall::waits_for_count);
    simpler.reset(&sim::BlockedCall::would_time_out_after_ns);
    simpler.reset(&sim::BlockedCall::gang);
    simpler.reset(&sim::BlockedCall::call);
    simpler.reset(&sim::BlockedCall::behind);
    simpler.reset(&sim::BlockedCall::context);
    simpler.reset(&sim::BlockedCall::location);
    simpler.reset(&sim::BlockedCall::call_stack);
    return simpler.take();
  };
  return form;
}

sim::TraceEvent generate_event(Draw& draw, int gangs, int call_sites) {
  sim::TraceEvent event;
  event.kind = static_cast<sim::TraceEventKind>(draw.between(0, 4));
  event.task = static_cast<sim::TaskId>(draw.between(0, 99));
  event.rank = draw.between(0, 99);
  event.gang = static_cast<std::uint32_t>(draw.between(0, gangs - 1));
  event.sequence_number = draw.random.below(1000);
  event.time = TimePoint(static_cast<std::int64_t>(draw.random.below(1'000'000'000)));
  event.call = generate_call_text(draw);
  if (call_sites != 0)
    event.call_site = static_cast<std::uint32_t>(draw.between(0, call_sites - 1));
  return event;
}

TextForm<sim::Trace> traces() {
  TextForm<sim::Trace> form;
  form.name = "traces_as_json";
  form.generate = [](Draw& draw) {
    sim::Trace trace;
    trace.digest = draw.random();
    const int gangs = draw.between(1, 3);
    for (int i = 0; i < gangs; ++i) trace.gangs.push_back(generate_text(draw));
    const int call_sites = draw.between(0, 2);
    for (int i = 0; i < call_sites; ++i) trace.call_sites.push_back(generate_location(draw));
    for (int i = draw.between(0, 5); i > 0; --i)
      trace.events.push_back(generate_event(draw, gangs, call_sites));
    return trace;
  };
  form.print = [](const sim::Trace& trace) { return to_json(trace).dump(); };
  form.parse = [](const std::string& text) {
    return sim::trace_from_json(nlohmann::json::parse(text));
  };
  form.simpler = [](const sim::Trace& trace) {
    SimplerCases simpler(trace);
    simpler.reset(&sim::Trace::events);
    simpler.drop_each(&sim::Trace::events);
    simpler.reset(&sim::Trace::digest);
    return simpler.take();
  };
  return form;
}

TextForm<std::vector<int>> rank_ranges() {
  TextForm<std::vector<int>> form;
  form.name = "rank_ranges";
  form.generate = generate_ranks;
  form.print = [](const std::vector<int>& ranks) { return sim::to_rank_ranges(ranks, 1000); };
  form.parse = parse_rank_ranges;
  form.simpler = [](const std::vector<int>& ranks) {
    SimplerCases simpler(ranks);
    simpler.drop_each(std::identity());
    return simpler.take();
  };
  return form;
}

Object generate_object(Draw& draw, int depth) {
  switch (draw.between(0, depth > 0 ? 7 : 5)) {
    case 0:
      return nullptr;
    case 1:
      return draw.one_in(2);
    case 2:
      return static_cast<std::int64_t>(draw.random() >> draw.between(0, 63));
    case 3:
      return static_cast<double>(draw.between(-1000, 1000)) / 8;
    case 4:
      return generate_text(draw);
    case 5:
      return Object::binary({1, 2, static_cast<std::uint8_t>(draw.between(0, 255))});
    case 6: {
      Object list = Object::array();
      for (int i = draw.between(0, 3); i > 0; --i) list.push_back(generate_object(draw, depth - 1));
      return list;
    }
    default: {
      Object map = Object::object();
      for (int i = draw.between(0, 3); i > 0; --i)
        map[generate_text(draw)] = generate_object(draw, depth - 1);
      return map;
    }
  }
}

// Text here is MessagePack, as objects travel.
TextForm<std::vector<Object>> objects() {
  TextForm<std::vector<Object>> form;
  form.name = "objects_as_message_pack";
  form.generate = [](Draw& draw) {
    std::vector<Object> list;
    for (int i = draw.between(0, 3); i > 0; --i) list.push_back(generate_object(draw, 3));
    return list;
  };
  form.print = [](const std::vector<Object>& list) {
    const std::vector<std::byte> bytes = pack_objects(list);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  form.parse = [](const std::string& text) {
    return unpack_objects(std::as_bytes(std::span(text)));
  };
  form.show = [](const std::vector<Object>& list) { return Object(list).dump(); };
  form.simpler = [](const std::vector<Object>& list) {
    SimplerCases simpler(list);
    simpler.drop_each(std::identity());
    return simpler.take();
  };
  return form;
}

}  // namespace

std::vector<int> parse_rank_ranges(const std::string& text) {
  std::vector<int> ranks;
  std::istringstream pieces(text);
  for (std::string piece; std::getline(pieces, piece, ',');) {
    const std::size_t dash = piece.find('-');
    const std::size_t colon = piece.find(':');
    const int first = std::stoi(piece);
    const int last = dash == std::string::npos ? first : std::stoi(piece.substr(dash + 1));
    const int stride = colon == std::string::npos ? 1 : std::stoi(piece.substr(colon + 1));
    for (int rank = first; rank <= last; rank += stride) ranks.push_back(rank);
  }
  return ranks;
}

std::vector<Property> texts_round_trip() {
  std::vector<Property> all = option_texts_round_trip();
  for (const Property& property :
       {round_trip_property(findings()), round_trip_property(blocked_calls()),
        round_trip_property(traces()), round_trip_property(rank_ranges()),
        round_trip_property(objects()), names_round_trip()})
    all.push_back(property);
  return all;
}

}  // namespace gang::properties
