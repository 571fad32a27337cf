#include "properties/runtimes_are_deterministic.h"

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include "properties/case_text.h"
#include "properties/rank_check.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using std::chrono::milliseconds;

class Queue {
 public:
  Queue(Runtime& runtime, int capacity)
      : mutex_(runtime.make_mutex()),
        has_room_(runtime.make_condition()),
        has_item_(runtime.make_condition()),
        capacity_(static_cast<std::size_t>(capacity)) {}

  void push(std::int64_t item) {
    std::unique_lock lock(*mutex_);
    while (items_.size() >= capacity_) has_room_->wait(lock);
    items_.push_back(item);
    has_item_->notify_one();
  }

  std::int64_t pop(bool polls) {
    std::unique_lock lock(*mutex_);
    while (items_.empty()) {
      if (polls)
        has_item_->wait_for(lock, milliseconds(1));
      else
        has_item_->wait(lock);
    }
    const std::int64_t item = items_.front();
    items_.pop_front();
    has_room_->notify_one();
    return item;
  }

 private:
  std::unique_ptr<RuntimeMutex> mutex_;
  std::unique_ptr<RuntimeCondition> has_room_;
  std::unique_ptr<RuntimeCondition> has_item_;
  std::deque<std::int64_t> items_;
  std::size_t capacity_;
};

std::int64_t item_of(int rank, int index) { return 100 * index + rank; }

std::int64_t sum_of_items(int world, int index) {
  std::int64_t sum = 0;
  for (int rank = 0; rank < world; ++rank) sum += item_of(rank, index);
  return sum;
}

std::string train(const LoaderCase& loader, sim::SimulatedRank& rank, Gang& gang) {
  Runtime& runtime = rank.runtime();
  Queue queue(runtime, loader.capacity);
  const int own = rank.rank();
  const auto thread = runtime.start_thread("loader", [&runtime, &queue, &loader, own] {
    for (int i = 0; i < loader.items; ++i) {
      runtime.sleep_for(milliseconds(own * loader.load_ms));
      queue.push(item_of(own, i));
    }
  });
  std::string complaint;
  for (int i = 0; i < loader.items; ++i) {
    std::int64_t item = queue.pop(loader.polls);
    if (item != item_of(own, i)) complaint = fmt::format("item {} is {}", i, item);
    gang.all_reduce(view_of(item), ReduceOperation::sum);
    if (item != sum_of_items(gang.size(), i)) complaint = fmt::format("sum {} is {}", i, item);
    runtime.sleep_for(milliseconds(loader.train_ms));
  }
  thread->join();
  return complaint;
}

sim::SimulationOptions options_of(const LoaderCase& loader) {
  sim::SimulationOptions options;
  options.world_size = loader.world;
  options.scheduler = loader.scheduler;
  options.seed = loader.seed;
  options.trace = sim::Recording::on;
  options.schedule = sim::Recording::on;
  return options;
}

CheckedRun run(const LoaderCase& loader, const sim::SimulationOptions& options,
               const Subject& subject) {
  return run_checked(options, subject, [&](sim::SimulatedRank& rank) {
    return train(loader, rank, *subject.wrapped(rank.root()));
  });
}

Verdict judge_results(const LoaderCase& loader, const Subject& subject) {
  return judge_ranks(options_of(loader), subject, [&](sim::SimulatedRank& rank) {
    return train(loader, rank, *subject.wrapped(rank.root()));
  });
}

// The slowest rank's loader, or the program if that is slower, sets the pace.
Verdict judge_time(const LoaderCase& polling, const Subject& subject) {
  LoaderCase loader = polling;
  loader.polls = false;  // polling would wake the program at times of its own
  const CheckedRun one = run(loader, options_of(loader), subject);
  const int load_ms = (loader.world - 1) * loader.load_ms;
  const int period_ms = std::max(load_ms, loader.train_ms);
  const Duration expected =
      milliseconds(load_ms + (loader.items - 1) * period_ms + loader.train_ms);
  if (one.report.virtual_time == expected) return Verdict::holds();
  return Verdict::violated(fmt::format("the run takes {} of virtual time, expected {}",
                                       gang::to_string(one.report.virtual_time),
                                       gang::to_string(expected)));
}

Verdict judge_repetition(const LoaderCase& loader, const Subject& subject) {
  sim::SimulationOptions options = options_of(loader);
  const CheckedRun first = run(loader, options, subject);
  const CheckedRun again = run(loader, options, subject);
  if (first.report.trace != again.report.trace) return Verdict::violated("a second run differs");
  options.scheduler = sim::SchedulerKind::replay;
  options.replay = first.report.schedule;
  const CheckedRun replayed = run(loader, options, subject);
  if (first.report.trace != replayed.report.trace) return Verdict::violated("the replay differs");
  return Verdict::holds();
}

Verdict judge_contexts(const LoaderCase& loader, const Subject& subject) {
  sim::SimulationOptions options = options_of(loader);
  options.context = sim::ContextKind::fiber;
  const CheckedRun on_fibers = run(loader, options, subject);
  options.context = sim::ContextKind::thread;
  const CheckedRun on_threads = run(loader, options, subject);
  return on_fibers.report.trace == on_threads.report.trace
             ? Verdict::holds()
             : Verdict::violated("fibers and threads give different traces");
}

using JudgeLoader = Verdict (*)(const LoaderCase&, const Subject&);

constexpr LawRow<JudgeLoader> loader_laws[] = {
    {"loaders_hand_over_every_item", "Every item is handed over, in order, under any schedule.",
     judge_results, 2},
    {"virtual_time_is_the_critical_path",
     "Sleeps of different threads overlap; the slowest sets the pace.", judge_time, 2},
    {"threads_of_ranks_replay", "The same seed or a replayed schedule gives the same trace.",
     judge_repetition, 4},
    {"fibers_and_threads_agree", "Both give the same trace.", judge_contexts, 60},
};

}  // namespace

LoaderCase generate_loader(Draw& draw) {
  LoaderCase loader;
  loader.world = draw.world();
  loader.items = draw.between(1, 5);
  loader.capacity = draw.between(1, 3);
  loader.load_ms = draw.between(0, 4);
  loader.train_ms = draw.between(0, 4);
  loader.polls = draw.one_in(3);
  if (draw.one_in(2)) loader.scheduler = sim::SchedulerKind::random;
  loader.seed = draw.random.below(100);
  return loader;
}

std::string to_text(const LoaderCase& loader) {
  return fmt::format(
      "world {}, {} through a queue of {}, loading rank × {} ms, training {} ms{}, {}",
      loader.world, counted(loader.items, "item"), loader.capacity, loader.load_ms, loader.train_ms,
      loader.polls ? ", polling" : "", schedule_text(loader.scheduler, loader.seed));
}

std::vector<LoaderCase> shrinks(const LoaderCase& loader) {
  SimplerCases simpler(loader);
  for (const int world : {1, 2, loader.world - 1})
    if (world >= 1) simpler.lower(&LoaderCase::world, world);
  for (const auto field : {&LoaderCase::items, &LoaderCase::capacity}) {
    simpler.lower(field, 1);
    simpler.lower(field, std::max(1, loader.*field - 1));
  }
  for (const auto field : {&LoaderCase::load_ms, &LoaderCase::train_ms}) {
    simpler.lower(field, 0);
    simpler.lower(field, 1);
  }
  simpler.lower(&LoaderCase::polls, false);
  simpler.lower(&LoaderCase::scheduler, sim::SchedulerKind::round_robin);
  simpler.lower(&LoaderCase::seed, 0);
  return simpler.take();
}

std::vector<Property> runtimes_are_deterministic(const Subject& subject) {
  return laws_of<LoaderCase>(
      loader_laws, {.suite = "runtimes_are_deterministic", .generate = generate_loader},
      [subject](JudgeLoader judge, const LoaderCase& loader) { return judge(loader, subject); });
}

}  // namespace gang::properties
