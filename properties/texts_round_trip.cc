#include "properties/texts_round_trip.h"

#include <algorithm>
#include <set>
#include <span>
#include <sstream>

#include <nlohmann/json.hpp>

#include "gang/mesh.h"
#include "gang/object.h"
#include "harness/text/duration_text.h"
#include "properties/generators/mesh_case.h"
#include "properties/reproduce_token.h"
#include "sim/options/simulation_options.h"

namespace gang::properties {
namespace {

// A list without one of its elements, for each of them.
template <typename T, typename List>
void add_without_elements(const T& value, List T::* list, std::vector<T>& simpler) {
  for (std::size_t i = 0; i < (value.*list).size(); ++i) {
    simpler.push_back(value);
    auto& shorter = simpler.back().*list;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

template <typename T, typename Field>
void add_default(const T& value, Field T::* field, std::vector<T>& simpler) {
  if (value.*field == T{}.*field) return;
  simpler.push_back(value);
  simpler.back().*field = T{}.*field;
}

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

TextForm<sim::Schedule> schedules() {
  TextForm<sim::Schedule> form;
  form.name = "schedules";
  form.generate = [](Draw& draw) {
    sim::Schedule schedule;
    if (draw.one_in(2)) schedule.switch_points = sim::SwitchPoints::all_calls;
    for (int i = draw.between(0, 20); i > 0; --i) {
      const auto runnable = static_cast<std::uint32_t>(draw.between(2, 1000));
      schedule.choices.push_back({static_cast<sim::TaskId>(draw.random.below(5000)), runnable});
    }
    for (int i = draw.between(0, 5); i > 0; --i) schedule.draws.push_back(draw.random());
    return schedule;
  };
  form.print = [](const sim::Schedule& schedule) { return to_string(schedule); };
  form.parse = [](const std::string& text) { return sim::parse_schedule(text); };
  form.simpler = [](const sim::Schedule& schedule) {
    std::vector<sim::Schedule> simpler;
    add_default(schedule, &sim::Schedule::choices, simpler);
    add_default(schedule, &sim::Schedule::draws, simpler);
    add_without_elements(schedule, &sim::Schedule::choices, simpler);
    add_without_elements(schedule, &sim::Schedule::draws, simpler);
    add_default(schedule, &sim::Schedule::switch_points, simpler);
    return simpler;
  };
  return form;
}

Mesh make_mesh(const MeshCase& sizes) {
  std::vector<MeshAxis> axes;
  for (std::size_t i = 0; i < sizes.sizes.size(); ++i)
    axes.push_back({axis_name(i), sizes.sizes[i]});
  return Mesh(std::move(axes));
}

TextForm<Mesh> meshes() {
  TextForm<Mesh> form;
  form.name = "meshes";
  form.generate = [](Draw& draw) { return make_mesh(generate_mesh(draw)); };
  form.print = [](const Mesh& mesh) { return to_string(mesh); };
  form.parse = [](const std::string& text) { return parse_mesh(text); };
  form.simpler = [](const Mesh& mesh) {
    MeshCase sizes;
    for (const MeshAxis& axis : mesh.axes()) sizes.sizes.push_back(axis.size);
    std::vector<Mesh> simpler;
    for (const MeshCase& one : shrinks(sizes)) simpler.push_back(make_mesh(one));
    return simpler;
  };
  return form;
}

sim::CallSummary generate_call(Draw& draw) {
  return {.ranks = generate_ranks(draw),
          .gang = generate_text(draw),
          .operation = generate_text(draw),
          .location = generate_text(draw),
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
  finding.certainty = generate_text(draw);
}

TextForm<sim::Finding> findings() {
  TextForm<sim::Finding> form;
  form.name = "findings_as_json";
  form.generate = [](Draw& draw) {
    sim::Finding finding;
    finding.id = std::string(sim::finding_id::rank_failed);
    finding.ranks = generate_ranks(draw);
    finding.gang = generate_text(draw);
    finding.operation = generate_text(draw);
    finding.message = generate_text(draw);
    finding.location = generate_text(draw);
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
    std::vector<sim::Finding> simpler;
    add_default(finding, &sim::Finding::ranks, simpler);
    add_default(finding, &sim::Finding::consequences, simpler);
    add_default(finding, &sim::Finding::divergence, simpler);
    add_default(finding, &sim::Finding::near_misses, simpler);
    for (auto field : {&sim::Finding::gang, &sim::Finding::operation, &sim::Finding::message,
                       &sim::Finding::location, &sim::Finding::certainty}) {
      add_default(finding, field, simpler);
    }
    return simpler;
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
    blocked.gang = generate_text(draw);
    blocked.operation = generate_text(draw);
    blocked.location = generate_text(draw);
    blocked.behind = generate_text(draw);
    blocked.behind_location = generate_text(draw);
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
    std::vector<sim::BlockedCall> simpler;
    add_default(blocked, &sim::BlockedCall::rank, simpler);
    add_default(blocked, &sim::BlockedCall::waits_for, simpler);
    add_default(blocked, &sim::BlockedCall::waits_for_count, simpler);
    add_default(blocked, &sim::BlockedCall::would_time_out_after_ns, simpler);
    for (auto field : {&sim::BlockedCall::context, &sim::BlockedCall::gang,
                       &sim::BlockedCall::operation, &sim::BlockedCall::location,
                       &sim::BlockedCall::behind, &sim::BlockedCall::behind_location}) {
      add_default(blocked, field, simpler);
    }
    return simpler;
  };
  return form;
}

sim::TraceEvent generate_event(Draw& draw, int gangs) {
  sim::TraceEvent event;
  event.kind = static_cast<sim::TraceEventKind>(draw.between(0, 4));
  event.task = static_cast<sim::TaskId>(draw.between(0, 99));
  event.rank = draw.between(0, 99);
  event.gang = static_cast<std::uint32_t>(draw.between(0, gangs - 1));
  event.sequence_number = draw.random.below(1000);
  event.time = TimePoint(static_cast<std::int64_t>(draw.random.below(1'000'000'000)));
  event.operation = generate_text(draw);
  event.location = generate_text(draw);
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
    for (int i = draw.between(0, 5); i > 0; --i)
      trace.events.push_back(generate_event(draw, gangs));
    return trace;
  };
  form.print = [](const sim::Trace& trace) { return to_json(trace).dump(); };
  form.parse = [](const std::string& text) {
    return sim::trace_from_json(nlohmann::json::parse(text));
  };
  form.simpler = [](const sim::Trace& trace) {
    std::vector<sim::Trace> simpler;
    add_default(trace, &sim::Trace::events, simpler);
    add_without_elements(trace, &sim::Trace::events, simpler);
    add_default(trace, &sim::Trace::digest, simpler);
    return simpler;
  };
  return form;
}

TextForm<sim::SendMode> send_modes() {
  TextForm<sim::SendMode> form;
  form.name = "send_modes";
  form.generate = [](Draw& draw) {
    return draw.one_in(4) ? sim::SendMode::rendezvous()
                          : sim::SendMode::buffered(draw.random() >> draw.between(0, 63));
  };
  form.print = [](const sim::SendMode& mode) { return to_string(mode); };
  form.parse = [](const std::string& text) { return sim::parse_send_mode(text).value(); };
  form.simpler = [](const sim::SendMode& mode) {
    std::vector<sim::SendMode> simpler;
    if (mode.buffered_bytes) simpler.push_back(sim::SendMode::rendezvous());
    if (mode.buffered_bytes.value_or(0) > 0) {
      simpler.push_back(sim::SendMode::buffered(*mode.buffered_bytes / 2));
    }
    return simpler;
  };
  return form;
}

TextForm<Duration> durations() {
  TextForm<Duration> form;
  form.name = "durations";
  form.generate = [](Draw& draw) {
    if (draw.one_in(8)) return no_timeout;
    return Duration(static_cast<std::int64_t>(draw.random() >> draw.between(8, 63)));
  };
  form.print = [](const Duration& duration) { return harness::to_duration_text(duration); };
  form.parse = [](const std::string& text) { return harness::parse_duration(text); };
  form.simpler = [](const Duration& duration) {
    std::vector<Duration> simpler;
    if (duration.count() > 0) simpler.push_back(duration / 2);
    if (duration.count() > 0) simpler.push_back(duration - Duration(1));
    return simpler;
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
    std::vector<std::vector<int>> simpler;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      simpler.push_back(ranks);
      simpler.back().erase(simpler.back().begin() + static_cast<std::ptrdiff_t>(i));
    }
    return simpler;
  };
  return form;
}

TextForm<ReproduceToken> reproduce_tokens() {
  TextForm<ReproduceToken> form;
  form.name = "reproduce_tokens";
  form.generate = [](Draw& draw) {
    ReproduceToken token{draw.random(),
                         1 + draw.random.below(100'000),
                         draw.between(0, 100),
                         draw.between(1, 64),
                         {}};
    for (int i = draw.between(0, 8); i > 0; --i) {
      token.shrink_path.insert(token.shrink_path.end(), draw.random.below(4), draw.random.below(3));
    }
    return token;
  };
  form.print = [](const ReproduceToken& token) { return to_string(token); };
  form.parse = [](const std::string& text) { return parse_reproduce_token(text); };
  form.simpler = [](const ReproduceToken& token) {
    std::vector<ReproduceToken> simpler;
    add_without_elements(token, &ReproduceToken::shrink_path, simpler);
    add_default(token, &ReproduceToken::seed, simpler);
    return simpler;
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
      for (int i = draw.between(0, 3); i > 0; --i) {
        map[generate_text(draw)] = generate_object(draw, depth - 1);
      }
      return map;
    }
  }
}

// Text here is the MessagePack that travels.
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
    std::vector<std::vector<Object>> simpler;
    for (std::size_t i = 0; i < list.size(); ++i) {
      simpler.push_back(list);
      simpler.back().erase(simpler.back().begin() + static_cast<std::ptrdiff_t>(i));
    }
    return simpler;
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
  return {round_trip_property(schedules()),
          round_trip_property(meshes()),
          round_trip_property(findings()),
          round_trip_property(blocked_calls()),
          round_trip_property(traces()),
          round_trip_property(send_modes()),
          round_trip_property(durations()),
          round_trip_property(rank_ranges()),
          round_trip_property(objects()),
          round_trip_property(reproduce_tokens()),
          names_round_trip()};
}

}  // namespace gang::properties
