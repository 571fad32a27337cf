// The texts that options take.
#include "gang/duration.h"
#include "gang/mesh.h"
#include "properties/generators/mesh_case.h"
#include "properties/reproduce_token.h"
#include "properties/simpler_cases.h"
#include "properties/texts_round_trip.h"
#include "sim/options/simulation_options.h"

namespace gang::properties {
namespace {

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
    SimplerCases simpler(schedule);
    simpler.reset(&sim::Schedule::choices);
    simpler.reset(&sim::Schedule::draws);
    simpler.drop_each(&sim::Schedule::choices);
    simpler.drop_each(&sim::Schedule::draws);
    simpler.reset(&sim::Schedule::switch_points);
    return simpler.take();
  };
  return form;
}

TextForm<Mesh> meshes() {
  TextForm<Mesh> form;
  form.name = "meshes";
  form.generate = [](Draw& draw) { return mesh_of(generate_mesh(draw)); };
  form.print = [](const Mesh& mesh) { return to_string(mesh); };
  form.parse = [](const std::string& text) { return parse_mesh(text); };
  form.simpler = [](const Mesh& mesh) {
    MeshCase sizes;
    for (const MeshAxis& axis : mesh.axes()) sizes.sizes.push_back(axis.size);
    std::vector<Mesh> simpler;
    for (const MeshCase& one : shrinks(sizes)) simpler.push_back(mesh_of(one));
    return simpler;
  };
  return form;
}

TextForm<sim::SendMode> send_modes() {
  TextForm<sim::SendMode> form;
  form.name = "send_modes";
  form.generate = [](Draw& draw) {
    if (draw.one_in(4)) return sim::SendMode::unlimited();
    return draw.one_in(4) ? sim::SendMode::rendezvous()
                          : sim::SendMode::buffered(draw.random() >> draw.between(0, 63));
  };
  form.print = [](const sim::SendMode& mode) { return to_string(mode); };
  form.parse = [](const std::string& text) { return sim::parse_send_mode(text).value(); };
  form.simpler = [](const sim::SendMode& mode) {
    std::vector<sim::SendMode> simpler;
    if (mode.buffered_bytes) simpler.push_back(sim::SendMode::rendezvous());
    if (mode.buffered_bytes.value_or(0) > 0)
      simpler.push_back(sim::SendMode::buffered(*mode.buffered_bytes / 2));
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
  form.print = [](const Duration& duration) { return gang::to_duration_text(duration); };
  form.parse = [](const std::string& text) { return gang::parse_duration(text); };
  form.simpler = [](const Duration& duration) {
    std::vector<Duration> simpler;
    if (duration.count() > 0) simpler.push_back(duration / 2);
    if (duration.count() > 0) simpler.push_back(duration - Duration(1));
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
    for (int i = draw.between(0, 8); i > 0; --i)
      token.shrink_path.insert(token.shrink_path.end(), draw.random.below(4), draw.random.below(3));
    return token;
  };
  form.print = [](const ReproduceToken& token) { return to_string(token); };
  form.parse = [](const std::string& text) { return parse_reproduce_token(text); };
  form.simpler = [](const ReproduceToken& token) {
    SimplerCases simpler(token);
    simpler.drop_each(&ReproduceToken::shrink_path);
    simpler.reset(&ReproduceToken::seed);
    return simpler.take();
  };
  return form;
}

}  // namespace

std::vector<Property> option_texts_round_trip() {
  return {round_trip_property(schedules()), round_trip_property(meshes()),
          round_trip_property(send_modes()), round_trip_property(durations()),
          round_trip_property(reproduce_tokens())};
}

}  // namespace gang::properties
