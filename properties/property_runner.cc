#include "properties/property_runner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace gang::properties {
namespace {

using SteadyClock = std::chrono::steady_clock;

// What the threads of a run share. Everything below `mutex_` is guarded by it.
class PropertyRun {
 public:
  PropertyRun(const std::vector<Property>& properties, const RunnerOptions& options)
      : properties_(properties), options_(options), results_(properties.size()) {
    if (options.settings.time_budget)
      deadline_ = SteadyClock::now() + *options.settings.time_budget;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (next_ < properties_.size()) {
      const std::size_t index = next_++;
      running_ = properties_[index].full_name();
      const Settings settings = settings_now();
      lock.unlock();
      std::optional<CheckResult> result = check(index, settings);
      lock.lock();
      results_[index] = std::move(result);
      changed_.notify_one();
    }
  }

  // Reports the results in list order until all are reported.
  void report(const RunnerEvents& events) {
    for (std::size_t index = 0; index < properties_.size(); ++index) {
      wait_for(index, events);
      if (error_) break;
      if (events.finished) events.finished(index, *results_[index]);
    }
  }

  std::vector<CheckResult> take_results() {
    if (error_) std::rethrow_exception(error_);
    std::vector<CheckResult> results;
    for (auto& result : results_) results.push_back(std::move(*result));
    return results;
  }

 private:
  // The time left, shared evenly among the properties left.
  Settings settings_now() const {
    Settings settings = options_.settings;
    if (settings.time_budget) {
      const auto left = std::max<Duration>(Duration{1}, deadline_ - SteadyClock::now());
      const auto count = static_cast<std::int64_t>(properties_.size() - next_ + 1);
      settings.time_budget = left * std::min<std::int64_t>(options_.jobs, count) / count;
    }
    return settings;
  }

  std::optional<CheckResult> check(std::size_t index, Settings settings) {
    std::uint64_t reported = 0;
    settings.progress = [this, &reported](std::uint64_t cases) {
      if (cases - reported < 64) return;
      const std::lock_guard lock(mutex_);
      cases_ += cases - std::exchange(reported, cases);
    };
    try {
      CheckResult result = properties_[index].check(settings);
      const std::lock_guard lock(mutex_);
      cases_ += result.cases - reported;
      return result;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = properties_.size();
      return std::nullopt;
    }
  }

  void wait_for(std::size_t index, const RunnerEvents& events) {
    std::unique_lock lock(mutex_);
    while (!results_[index] && !error_) {
      changed_.wait_for(lock, options_.progress_interval);
      if (!events.progress || results_[index]) continue;
      const Progress progress{index, properties_.size(), cases_, running_};
      lock.unlock();
      events.progress(progress);
      lock.lock();
    }
  }

  const std::vector<Property>& properties_;
  const RunnerOptions& options_;
  SteadyClock::time_point deadline_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<CheckResult>> results_;
  std::size_t next_ = 0;
  std::uint64_t cases_ = 0;
  std::string running_;
  std::exception_ptr error_;
};

}  // namespace

std::vector<CheckResult> run_properties(const std::vector<Property>& properties,
                                        const RunnerOptions& options, const RunnerEvents& events) {
  PropertyRun run(properties, options);
  {
    std::vector<std::jthread> workers;
    const auto count =
        std::min<std::size_t>(static_cast<std::size_t>(options.jobs), properties.size());
    for (std::size_t i = 0; i < count; ++i) workers.emplace_back([&run] { run.work(); });
    run.report(events);
  }
  return run.take_results();
}

}  // namespace gang::properties
