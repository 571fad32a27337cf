#include "properties/stores_behave.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/store/file_store.h"
#include "gang/store/memory_store.h"
#include "gang/store/prefix_store.h"
#include "gang/store/tcp_store.h"
#include "properties/case_text.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using StoreOperation = StoreStep::Kind;

constexpr int key_count = 5;
constexpr int first_number_key = 3;

std::string key_of(int key) { return "key/" + std::to_string(key); }

std::string name_of(StoreOperation operation) {
  static const char* const names[] = {"set",    "get",   "try_get", "add",        "compare_set",
                                      "append", "check", "wait",    "delete_key", "num_keys"};
  return names[static_cast<std::size_t>(operation)];
}

// The plain meaning of each operation, over texts.
class StoreModel {
 public:
  std::string apply(const StoreStep& step) {
    const std::string key = key_of(step.key);
    switch (step.kind) {
      case StoreOperation::set:
        values_[key] = step.text;
        return "done";
      case StoreOperation::get:
        return values_.contains(key) ? values_[key] : "timeout";
      case StoreOperation::try_get:
        return values_.contains(key) ? values_[key] : "none";
      case StoreOperation::add:
        values_[key] = std::to_string(number(key) + step.delta);
        return values_[key];
      case StoreOperation::compare_set:
        return compare_set(key, step);
      case StoreOperation::append:
        values_[key] += step.text;
        return "done";
      case StoreOperation::check:
        return has_all(step) ? "yes" : "no";
      case StoreOperation::wait:
        return has_all(step) ? "done" : "timeout";
      case StoreOperation::delete_key:
        return values_.erase(key) > 0 ? "yes" : "no";
      case StoreOperation::num_keys:
        return std::to_string(values_.size());
    }
    return {};
  }

 private:
  std::int64_t number(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? 0 : std::stoll(found->second);
  }
  std::string compare_set(const std::string& key, const StoreStep& step) {
    if (!values_.contains(key)) {
      if (!step.expected.empty()) return step.expected;
      return values_[key] = step.text;
    }
    if (values_[key] == step.expected) values_[key] = step.text;
    return values_[key];
  }
  // All keys up to that of the step.
  bool has_all(const StoreStep& step) const {
    for (int key = 0; key <= step.key; ++key)
      if (!values_.contains(key_of(key))) return false;
    return true;
  }

  std::map<std::string, std::string> values_;
};

// `patience` is the timeout of get and wait.
std::string apply(Store& store, const StoreStep& step, Duration patience) {
  const std::string key = key_of(step.key);
  std::vector<std::string> keys;
  for (int i = 0; i <= step.key; ++i) keys.push_back(key_of(i));
  try {
    switch (step.kind) {
      case StoreOperation::set:
        store.set_text(key, step.text);
        return "done";
      case StoreOperation::get:
        return store.get_text(key, patience);
      case StoreOperation::try_get:
        return store.try_get_text(key).value_or("none");
      case StoreOperation::add:
        return std::to_string(store.add(key, step.delta));
      case StoreOperation::compare_set:
        return store.compare_set_text(key, step.expected, step.text);
      case StoreOperation::append:
        store.append_text(key, step.text);
        return "done";
      case StoreOperation::check:
        return store.check(keys) ? "yes" : "no";
      case StoreOperation::wait:
        store.wait(keys, patience);
        return "done";
      case StoreOperation::delete_key:
        return store.delete_key(key) ? "yes" : "no";
      case StoreOperation::num_keys:
        return std::to_string(store.num_keys());
    }
  } catch (const StoreError& error) {
    if (error.kind() == StoreErrorKind::timeout) return "timeout";
    return error.what();
  }
  return {};
}

StoreStep generate_store_step(Draw& draw, int clients, bool has_append) {
  static const std::string texts[] = {"", "a", "b", std::string("\0/", 2), "0"};
  StoreStep step;
  step.kind =
      static_cast<StoreOperation>(draw.between(0, static_cast<int>(StoreOperation::num_keys)));
  if (step.kind == StoreOperation::append && !has_append) step.kind = StoreOperation::set;
  step.client = draw.between(0, clients - 1);
  step.key = draw.between(0, key_count - 1);
  step.text = draw.any_of(texts);
  step.expected = draw.any_of(texts);
  step.delta = draw.between(-3, 12);
  // Over TCP, adding to a word costs the client its connection, so numbers have keys of their own.
  if (step.kind == StoreOperation::add) step.key = draw.between(first_number_key, key_count - 1);
  const bool writes_words = step.kind == StoreOperation::set ||
                            step.kind == StoreOperation::compare_set ||
                            step.kind == StoreOperation::append;
  if (writes_words) step.key = draw.between(0, first_number_key - 1);
  return step;
}

Verdict judge_map(const StoreCase& one, const StoreSubject& subject) {
  std::vector<std::shared_ptr<Store>> clients = {subject.make()};
  while (static_cast<int>(clients.size()) < one.clients)
    clients.push_back(clients.front()->new_client());
  StoreModel model;
  for (std::size_t i = 0; i < one.steps.size(); ++i) {
    const StoreStep& step = one.steps[i];
    const std::string expected = model.apply(step);
    // However slow the machine, a timeout that must come comes soon, and no other comes at all.
    const Duration patience = expected == "timeout" ? Duration(std::chrono::microseconds(1))
                                                    : Duration(std::chrono::minutes(1));
    const std::string actual =
        apply(*clients[static_cast<std::size_t>(step.client)], step, patience);
    if (actual != expected)
      return Verdict::violated(fmt::format("step {} ({} of {}) gives '{}', expected '{}'", i,
                                           name_of(step.kind), key_of(step.key), actual, expected));
  }
  return Verdict::holds();
}

using Sums = std::vector<std::vector<std::int64_t>>;

// What contradicts one order of all adds, in which each gave the sum up to it; empty if none does.
std::string check_one_order(const AddingCase& one, const Sums& sums, std::int64_t total) {
  std::map<std::int64_t, int> delta_at;  // where each sum was reached
  for (std::size_t who = 0; who < sums.size(); ++who) {
    for (std::size_t i = 0; i < sums[who].size(); ++i) {
      if (i > 0 && sums[who][i] <= sums[who][i - 1])
        return fmt::format("client {} gets {} after {}", who, sums[who][i], sums[who][i - 1]);
      if (!delta_at.emplace(sums[who][i], one.deltas[who][i]).second)
        return fmt::format("two adds gave {}", sums[who][i]);
    }
  }
  std::int64_t sum = 0;
  for (const auto& [reached, delta] : delta_at) {
    sum += delta;
    if (reached != sum) return fmt::format("no order of the adds gives {}", reached);
  }
  return sum == total ? "" : fmt::format("the sum is {}, expected {}", total, sum);
}

Verdict judge_threads(const AddingCase& one, const StoreSubject& subject) {
  const std::shared_ptr<Store> store = subject.make();
  Sums sums(one.deltas.size());
  std::atomic<int> winners = 0;
  std::vector<std::thread> threads;
  for (std::size_t who = 0; who < one.deltas.size(); ++who)
    threads.emplace_back([&one, &sums, &winners, &store, who] {
      try {
        const auto client = who == 0 ? store : store->new_client();
        for (const int delta : one.deltas[who]) sums[who].push_back(client->add("sum", delta));
        const std::string mine = "client " + std::to_string(who);
        if (client->compare_set_text("winner", "", mine) == mine) ++winners;
      } catch (const Error&) {
        sums[who].push_back(-1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::string problem = check_one_order(one, sums, store->add("sum", 0));
  if (problem.empty() && winners != 1)
    problem = fmt::format("{} clients won, expected 1", winners.load());
  return Verdict::holds_unless(std::move(problem));
}

// The file is deleted with the map.
std::shared_ptr<Store> make_file_store_of_its_own(Runtime& runtime) {
  static std::atomic<std::uint64_t> number = 0;
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     fmt::format("gangsim-store-{}-{}", ::getpid(), number++);
  std::shared_ptr<Store> store =
      make_file_store(runtime, {.path = path, .poll_interval = std::chrono::microseconds(100)});
  Store* plain = store.get();
  return {plain, [store, path](Store*) {
            std::error_code ignored;
            std::filesystem::remove(path, ignored);
          }};
}

std::shared_ptr<Store> make_tcp_store_of_its_own(TcpStoreDialect dialect) {
  auto server = std::make_shared<TcpStoreServer>();
  const std::uint16_t port = server->port();
  return make_tcp_store({.port = port,
                         .dialect = dialect,
                         .timeout = std::chrono::minutes(1),
                         .server = std::move(server)});
}

StoreSubject store_subject(std::string name, std::uint64_t cost,
                           std::function<std::shared_ptr<Store>(Runtime&)> make) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  return {.name = std::move(name), .cost = cost, .make = [runtime, make = std::move(make)] {
            return make(*runtime);
          }};
}

}  // namespace

std::vector<StoreSubject> all_store_subjects() {
  std::vector<StoreSubject> all;
  all.push_back(store_subject("memory", 2, make_memory_store));
  all.push_back(store_subject("prefix", 2, [](Runtime& runtime) {
    return make_prefix_store("part", make_memory_store(runtime));
  }));
  all.push_back(store_subject("file", 60, make_file_store_of_its_own));
  for (const auto dialect : {TcpStoreDialect::pytorch_2, TcpStoreDialect::pytorch_1_13}) {
    const bool is_2 = dialect == TcpStoreDialect::pytorch_2;
    all.push_back(store_subject(is_2 ? "tcp" : "tcp_1_13", 150, [dialect](Runtime&) {
      return make_tcp_store_of_its_own(dialect);
    }));
    all.back().has_append = is_2;
  }
  return all;
}

Property store_is_a_map(const StoreSubject& store) {
  return to_property(Law<StoreCase>{
      .suite = "stores_behave",
      .name = store.name + "_is_a_map",
      .description = "Every operation gives what a plain map gives, whichever client calls it.",
      .cost = store.cost,
      .generate =
          [has_append = store.has_append](Draw& draw) {
            StoreCase one;
            one.clients = draw.between(1, 3);
            for (int i = draw.between(1, 3 + draw.size / 5); i > 0; --i)
              one.steps.push_back(generate_store_step(draw, one.clients, has_append));
            return one;
          },
      .verdict = [store](const StoreCase& one) { return judge_map(one, store); }});
}

Property concurrent_clients_see_one_order(const StoreSubject& store) {
  return to_property(Law<AddingCase>{
      .suite = "stores_behave",
      .name = store.name + "_clients_see_one_order",
      .description = "Concurrent adds give the sums of one order; one client wins a race.",
      .cost = std::max<std::uint64_t>(60, 3 * store.cost),
      .generate = [](Draw& draw) { return generate_adding(draw, draw.between(2, 4), 10); },
      .verdict = [store](const AddingCase& one) { return judge_threads(one, store); }});
}

AddingCase generate_adding(Draw& draw, int clients, int most_adds) {
  AddingCase one;
  one.deltas.resize(static_cast<std::size_t>(clients));
  for (std::vector<int>& deltas : one.deltas)
    for (int i = draw.between(1, most_adds); i > 0; --i) deltas.push_back(draw.between(1, 3));
  one.seed = draw.random.below(1000);
  return one;
}

std::string to_text(const StoreCase& one) {
  std::string text =
      fmt::format("{} of {}", counted(one.steps.size(), "step"), counted(one.clients, "client"));
  for (const StoreStep& step : one.steps)
    text += fmt::format("\n  client {}: {} {} text {:?} expected {:?} delta {}", step.client,
                        name_of(step.kind), key_of(step.key), step.text, step.expected, step.delta);
  return text;
}

std::vector<StoreCase> shrinks(const StoreCase& one) {
  SimplerCases simpler(one);
  simpler.drop_each(&StoreCase::steps, 1);
  for (std::size_t i = 0; i < one.steps.size(); ++i)
    simpler.add([i](StoreCase& other) { other.steps[i].client = 0; });
  return simpler.take();
}

std::string to_text(const AddingCase& one) {
  std::string text = fmt::format("{}, seed {}", counted(one.deltas.size(), "client"), one.seed);
  for (const std::vector<int>& deltas : one.deltas)
    text += fmt::format("\n  adds [{}]", fmt::join(deltas, ","));
  return text;
}

std::vector<AddingCase> shrinks(const AddingCase& one) {
  SimplerCases simpler(one);
  simpler.drop_each(&AddingCase::deltas, 2);
  for (std::size_t who = 0; who < one.deltas.size(); ++who)
    if (one.deltas[who].size() > 1)
      simpler.add([who](AddingCase& other) { other.deltas[who].pop_back(); });
  return simpler.take();
}

std::vector<Property> stores_behave(const Subject& subject) {
  std::vector<Property> all;
  for (const StoreSubject& store : all_store_subjects()) {
    all.push_back(store_is_a_map(store));
    all.push_back(concurrent_clients_see_one_order(store));
  }
  all.push_back(simulated_clients_see_one_order(make_memory_store, subject));
  all.push_back(simulated_waits_end_on_time(make_memory_store, subject));
  all.push_back(servers_survive_any_bytes(
      [](TcpStoreService& service, TcpStoreService::Connection connection,
         const TcpStoreRequest& request) { return service.execute(connection, request); }));
  return all;
}

}  // namespace gang::properties
