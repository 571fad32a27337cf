#include "properties/program_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/object.h"

namespace gang::properties {
namespace {

// A step that has been started: what to wait for, and the memory that must live until then, even if
// an error ends the step.
struct Started {
  std::vector<std::byte> staging;  // a fan-in's messages, in the order of the receives
  std::vector<Work> works;
};

class StepRun {
 public:
  StepRun(const ProgramMemory& memory, std::size_t index, const Place& place, Gang& gang,
          Image& image, bool has_tags)
      : step_(memory.program().steps[index]),
        place_(place),
        gang_(gang),
        image_(image),
        site_(CallSite::at("step", static_cast<std::uint32_t>(id_of(memory.program(), index)))),
        patience_(memory.program().run.patience),
        has_tags_(has_tags),
        tag_(!has_tags       ? 0
             : step_.tag < 0 ? id_of(memory.program(), index)
                             : step_.tag) {}

  // Calls the operation; what remains to be waited for is in `started_`.
  void begin() {
    dispatch();
    if (step_.form == Form::start_later) return;
    if (step_.form == Form::drop_work) return started_.works.clear();
    if (step_.form == Form::touch_buffer) touch();
    finish();
  }

  // Mostly gives up after a while: the simulator tries polls in vain tens of thousands of times
  // before it calls them dead.
  void poll(Work& work) const {
    constexpr int patience = 100;
    const bool gives_up = site_.line() % 8 != 0;
    for (int polls = 0; !work.test(); ++polls)
      if (gives_up && polls == patience) return work.wait();
  }

  void finish() {
    if (step_.form == Form::start_test) {
      for (Work& work : started_.works) poll(work);
    }
    Work::wait_all(started_.works);
    if (step_.kind == OperationKind::recv) keep_messages();
    started_.works.clear();
  }

 private:
  void dispatch();
  void reduce_kind();
  void scan_kind();
  void uneven_all_gather();
  void list_kind();
  void all_to_all();
  void broadcast_objects();
  void send();
  void ring();
  void fan_in();
  void keep_messages();
  void touch();

  template <typename Blocking, typename Start>
  void call(const Blocking& blocking, const Start& start) {
    if (step_.form == Form::blocking)
      blocking();
    else
      started_.works.push_back(start());
  }

  TensorView tensor(const Region& region, const Shape& shape) const {
    return {image_.data() + region.offset, data_type_of(step_), shape};
  }
  // A chunk is [1, count] or [count]; `size` chunks are [size, 1, count] or [size * count].
  TensorView chunk(const Region& region) const {
    return tensor(region, step_.stacked ? Shape{1, region.count} : Shape::vector(region.count));
  }
  TensorView chunks(const Region& region) const {
    if (!step_.stacked) return tensor(region, Shape::vector(region.count));
    return tensor(region, Shape{gang_.size(), 1, region.count / gang_.size()});
  }
  TensorView input() const { return chunk(place_.input); }
  TensorView output() const { return chunk(place_.output); }

  // `region` as one tensor per rank.
  std::vector<TensorView> list(const Region& region) const {
    std::vector<TensorView> tensors;
    const std::size_t width = size_bytes(data_type_of(step_));
    for (int rank = 0; rank < gang_.size(); ++rank) {
      const auto first = static_cast<std::size_t>(rank) * static_cast<std::size_t>(step_.count);
      tensors.push_back(chunk({region.offset + first * width, step_.count}));
    }
    return tensors;
  }

  bool is_root() const { return place_.rank == root(); }
  int root() const { return step_.root % gang_.size(); }

  const Step& step_;
  const Place& place_;
  Gang& gang_;
  Image& image_;
  Started started_;
  CallSite site_;
  Duration patience_;
  bool has_tags_;
  int tag_;  // a message of one step never matches a receive of another
};

void StepRun::dispatch() {
  switch (step_.kind) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
    case OperationKind::reduce_scatter:
      return reduce_kind();
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      return scan_kind();
    case OperationKind::all_gather:
      if (step_.uneven) return uneven_all_gather();
      return call(
          [this] { gang_.all_gather(chunks(place_.output), input(), {}, site_); },
          [this] { return gang_.start_all_gather(chunks(place_.output), input(), {}, site_); });
    case OperationKind::all_gather_to_list:
    case OperationKind::gather:
    case OperationKind::scatter:
      return list_kind();
    case OperationKind::all_to_all:
      return all_to_all();
    case OperationKind::broadcast:
      return call([this] { gang_.broadcast(input(), root(), {}, site_); },
                  [this] { return gang_.start_broadcast(input(), root(), {}, site_); });
    case OperationKind::broadcast_objects:
      return broadcast_objects();
    case OperationKind::barrier:
      return call([this] { gang_.barrier({}, site_); },
                  [this] { return gang_.start_barrier({}, site_); });
    case OperationKind::monitored_barrier:
      return gang_.monitored_barrier(patience_, Gang::MissingRanks::all, {}, site_);
    case OperationKind::send:
      return send();
    case OperationKind::recv:
      return fan_in();
    case OperationKind::batch:
      return ring();
    default:
      throw std::logic_error("not a step of a program");
  }
}

void StepRun::reduce_kind() {
  const ReduceOperation operation = step_.reduce_operation;
  if (step_.kind == OperationKind::reduce_scatter) {
    call([&] { gang_.reduce_scatter(output(), chunks(place_.input), operation, {}, site_); },
         [&] {
           return gang_.start_reduce_scatter(output(), chunks(place_.input), operation, {}, site_);
         });
  } else if (step_.kind == OperationKind::all_reduce && step_.in_place) {
    call([&] { gang_.all_reduce(input(), operation, {}, site_); },
         [&] { return gang_.start_all_reduce(input(), operation, {}, site_); });
  } else if (step_.kind == OperationKind::all_reduce) {
    call([&] { gang_.all_reduce(output(), input(), operation, {}, site_); },
         [&] { return gang_.start_all_reduce(output(), input(), operation, {}, site_); });
  } else if (step_.in_place) {
    call([&] { gang_.reduce(input(), operation, root(), {}, site_); },
         [&] { return gang_.start_reduce(input(), operation, root(), {}, site_); });
  } else {
    const TensorView result = is_root() ? output() : TensorView();
    call([&] { gang_.reduce(result, input(), operation, root(), {}, site_); },
         [&] { return gang_.start_reduce(result, input(), operation, root(), {}, site_); });
  }
}

void StepRun::scan_kind() {
  const ReduceOperation operation = step_.reduce_operation;
  const TensorView from = input();
  const TensorView to = step_.in_place ? from : output();
  if (step_.kind == OperationKind::scan)
    return call([&] { gang_.scan(to, from, operation, {}, site_); },
                [&] { return gang_.start_scan(to, from, operation, {}, site_); });
  call([&] { gang_.exclusive_scan(to, from, operation, {}, site_); },
       [&] { return gang_.start_exclusive_scan(to, from, operation, {}, site_); });
}

void StepRun::list_kind() {
  const bool is_scatter = step_.kind == OperationKind::scatter;
  const bool has_list = is_root() || step_.kind == OperationKind::all_gather_to_list;
  const auto tensors =
      has_list ? list(is_scatter ? place_.input : place_.output) : std::vector<TensorView>();
  if (is_scatter)
    call([&] { gang_.scatter(output(), tensors, root(), {}, site_); },
         [&] { return gang_.start_scatter(output(), tensors, root(), {}, site_); });
  else if (step_.kind == OperationKind::gather)
    call([&] { gang_.gather(tensors, input(), root(), {}, site_); },
         [&] { return gang_.start_gather(tensors, input(), root(), {}, site_); });
  else
    call([&] { gang_.all_gather_to_list(tensors, input(), {}, site_); },
         [&] { return gang_.start_all_gather_to_list(tensors, input(), {}, site_); });
}

void StepRun::uneven_all_gather() {
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < gang_.size(); ++rank) counts.push_back(split_size(step_, rank, 0));
  const TensorView to = tensor(place_.output, Shape::vector(place_.output.count));
  const TensorView from = tensor(place_.input, Shape::vector(place_.input.count));
  call([&] { gang_.all_gather(to, from, counts, {}, site_); },
       [&] { return gang_.start_all_gather(to, from, counts, {}, site_); });
}

void StepRun::all_to_all() {
  if (!step_.uneven) {
    return call(
        [this] { gang_.all_to_all(chunks(place_.output), chunks(place_.input), {}, site_); },
        [this] {
          return gang_.start_all_to_all(chunks(place_.output), chunks(place_.input), {}, site_);
        });
  }
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> outputs;
  for (int other = 0; other < gang_.size(); ++other) {
    inputs.push_back(split_size(step_, place_.rank, other));
    outputs.push_back(split_size(step_, other, place_.rank));
  }
  const Gang::SplitSizes splits{.output = outputs, .input = inputs};
  const TensorView to = tensor(place_.output, Shape::vector(place_.output.count));
  const TensorView from = tensor(place_.input, Shape::vector(place_.input.count));
  call([&] { gang_.all_to_all(to, from, splits, {}, site_); },
       [&] { return gang_.start_all_to_all(to, from, splits, {}, site_); });
}

void StepRun::broadcast_objects() {
  Object objects[2];
  if (is_root()) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(image_.data()) + place_.input.offset;
    objects[0] = Object::binary({first, first + place_.input.count});
    objects[1] = step_.count;
  }
  gang_.broadcast_objects(objects, root(), {}, site_);
  const auto& bytes = objects[0].get_binary();
  if (objects[1] != step_.count || bytes.size() != static_cast<std::size_t>(step_.count))
    throw std::runtime_error(fmt::format("step {}: the objects are not those of the source", tag_));
  if (!bytes.empty()) std::memcpy(image_.data() + place_.output.offset, bytes.data(), bytes.size());
}

void StepRun::send() {
  const int destination = step_.peer % gang_.size();
  const bool receives = place_.rank == destination;
  if (is_root() && receives) {  // to itself
    const PointToPoint both[] = {{OperationKind::send, input(), destination, tag_},
                                 {OperationKind::recv, output(), root(), tag_}};
    return call([&] { gang_.batch(both, {}, site_); },
                [&] { return gang_.start_batch(both, {}, site_); });
  }
  if (is_root())
    call([&] { gang_.send(input(), destination, tag_, {}, site_); },
         [&] { return gang_.start_send(input(), destination, tag_, {}, site_); });
  else if (receives)
    call([&] { gang_.recv(output(), root(), tag_, {}, site_); },
         [&] { return gang_.start_recv(output(), root(), tag_, {}, site_); });
}

void StepRun::ring() {
  const int size = gang_.size();
  const int distance = step_.peer % size;
  const PointToPoint both[] = {
      {OperationKind::send, input(), (place_.rank + distance) % size, tag_},
      {OperationKind::recv, output(), (place_.rank + size - distance) % size, tag_}};
  call([&] { gang_.batch(both, {}, site_); }, [&] { return gang_.start_batch(both, {}, site_); });
}

void StepRun::fan_in() {
  if (!is_root())
    return call([this] { gang_.send(input(), root(), tag_, {}, site_); },
                [this] { return gang_.start_send(input(), root(), tag_, {}, site_); });
  const std::size_t message_bytes =
      static_cast<std::size_t>(step_.count) * size_bytes(step_.data_type);
  started_.staging.resize(message_bytes * static_cast<std::size_t>(gang_.size() - 1));
  for (int message = 0; message + 1 < gang_.size(); ++message) {
    std::byte* const there =
        started_.staging.data() + static_cast<std::size_t>(message) * message_bytes;
    const TensorView slot(there, step_.data_type, Shape::vector(step_.count));
    const int source = has_tags_ ? any_rank : message + (message >= root() ? 1 : 0);
    started_.works.push_back(gang_.start_recv(slot, source, tag_, {}, site_));
    if (step_.form == Form::blocking) started_.works.back().wait();
  }
}

void StepRun::keep_messages() {
  const std::size_t message_bytes =
      static_cast<std::size_t>(step_.count) * size_bytes(step_.data_type);
  if (!is_root()) return;
  for (std::size_t message = 0; message < started_.works.size(); ++message) {
    const Received received = started_.works[message].received();
    if (received.tag != tag_ || received.source_rank < 0 || received.source_rank >= gang_.size() ||
        received.source_rank == root()) {
      throw std::runtime_error(fmt::format("step {}: received a message from rank {} with tag {}",
                                           tag_, received.source_rank, received.tag));
    }
    const std::size_t slot = static_cast<std::size_t>(received.source_rank) * message_bytes;
    if (message_bytes == 0) continue;
    std::memcpy(image_.data() + place_.output.offset + slot,
                started_.staging.data() + message * message_bytes, message_bytes);
  }
}

// Hidden from AddressSanitizer, which would end the process: gangsim is to find it.
[[gnu::no_sanitize_address, gnu::noinline]] void change_early(unsigned char* byte) { *byte ^= 1U; }

// Changes a byte of what the operation reads or writes, if there is one.
void StepRun::touch() {
  const Region& region = place_.input.count != 0 ? place_.input : place_.output;
  std::byte* touched = nullptr;
  if (!started_.staging.empty())
    touched = started_.staging.data();
  else if (region.count != 0)
    touched = &image_[region.offset];
  if (touched != nullptr) change_early(reinterpret_cast<unsigned char*>(touched));
}

}  // namespace

std::vector<std::shared_ptr<Gang>> make_gangs(const GangProgram& program,
                                              const std::shared_ptr<Gang>& root,
                                              const Subject& subject) {
  std::vector<std::shared_ptr<Gang>> gangs(program.nodes.size());
  gangs[0] = subject.wrapped(root);
  for (std::size_t i = 1; i < program.nodes.size(); ++i) {
    const GangNode& node = program.nodes[i];
    const std::shared_ptr<Gang>& parent = gangs[static_cast<std::size_t>(node.parent)];
    if (!parent) continue;
    const CallSite site = CallSite::at("gang", static_cast<std::uint32_t>(i));
    if (node.making == Making::split) {
      const auto rank = static_cast<std::size_t>(parent->rank());
      gangs[i] = parent->split({.color = node.colors[rank % node.colors.size()],
                                .key = node.keys[rank % node.keys.size()]},
                               {}, site);
    } else {
      std::vector<int> ranks;
      std::copy_if(node.ranks.begin(), node.ranks.end(), std::back_inserter(ranks),
                   [&parent](int rank) { return rank < parent->size(); });
      if (ranks.empty()) ranks.push_back(0);
      gangs[i] = parent->create_gang(ranks, {}, site);
    }
    gangs[i] = subject.wrapped(gangs[i]);
  }
  return gangs;
}

void run_step(const ProgramMemory& memory, std::size_t step, int root_rank, Gang& gang,
              const Subject& subject, Image& image) {
  StepRun run(memory, step, memory.place(step, root_rank), gang, image, subject.has_tags);
  run.begin();
  if (memory.program().steps[step].form == Form::start_later) run.finish();
}

void run_rank(const ProgramMemory& memory, const std::shared_ptr<Gang>& root,
              const Subject& subject, Image& image) {
  const GangProgram& program = memory.program();
  const auto gangs = make_gangs(program, root, subject);
  std::optional<StepRun> pending;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const std::shared_ptr<Gang>& gang = gangs[static_cast<std::size_t>(program.steps[i].node)];
    if (!gang) continue;
    StepRun run(memory, i, memory.place(i, root->rank()), *gang, image, subject.has_tags);
    run.begin();
    if (pending) pending->finish();
    pending.reset();
    if (program.steps[i].form == Form::start_later) pending.emplace(std::move(run));
  }
  if (pending) pending->finish();
}

ProgramRun run_program(const ProgramMemory& memory, const sim::SimulationOptions& options,
                       const Subject& subject) {
  ProgramRun run;
  run.image = memory.initial_image();
  run.report = subject.simulate(options, [&memory, &subject, &run](sim::SimulatedRank& rank) {
    run_rank(memory, rank.root(), subject, run.image);
  });
  return run;
}

}  // namespace gang::properties
