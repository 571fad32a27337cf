#include "gang/store/memory_store.h"

#include <map>
#include <mutex>
#include <utility>

#include "gang/store/key_waits.h"
#include "gang/store/store_contents.h"
#include "gang/store/store_failure.h"

namespace gang {
namespace {

using Lock = std::unique_lock<RuntimeMutex>;

// A waiting call, on the stack of its thread; the thread that wakes it reaches it under the lock.
struct WaitingCall {
  const void* client = nullptr;
  std::unique_ptr<RuntimeCondition> condition;
  bool is_complete = false;
};

// Shared by all clients; the mutex guards everything but the runtime.
struct SharedMap {
  explicit SharedMap(Runtime& injected) : runtime(injected), mutex(injected.make_mutex()) {}

  void key_exists(std::string_view key) {
    for (const KeyWaits::Waiter waiter : waits.key_exists(key)) {
      calls.at(waiter)->is_complete = true;
      calls.at(waiter)->condition->notify_one();
    }
  }

  Runtime& runtime;
  std::unique_ptr<RuntimeMutex> mutex;
  StoreContents contents;
  KeyWaits waits;
  std::map<KeyWaits::Waiter, WaitingCall*> calls;
  KeyWaits::Waiter next_waiter = 0;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<SharedMap> map) : map_(std::move(map)) {}

  void cancel() override {
    const Lock lock(*map_->mutex);
    is_cancelled_ = true;
    for (const auto& [waiter, call] : map_->calls)
      if (call->client == this) call->condition->notify_one();
  }

  std::shared_ptr<Store> new_client() override { return std::make_shared<MemoryStore>(map_); }

  std::string description() const override { return "memory"; }

 protected:
  void do_set(std::string_view key, BytesView value) override {
    const Lock lock = begin("set", key);
    map_->contents.set(key, value);
    map_->key_exists(key);
  }

  std::optional<Bytes> do_try_get(std::string_view key) override {
    const Lock lock = begin("try_get", key);
    const Bytes* value = map_->contents.find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  std::int64_t do_add(std::string_view key, std::int64_t delta) override {
    const Lock lock = begin("add", key);
    const std::optional<std::int64_t> sum = map_->contents.add(key, delta);
    if (!sum) throw_not_a_number(*this, key);
    map_->key_exists(key);
    return *sum;
  }

  Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) override {
    const Lock lock = begin("compare_set", key);
    Bytes result = map_->contents.compare_set(key, expected, desired);
    if (map_->contents.has(key)) map_->key_exists(key);
    return result;
  }

  void do_append(std::string_view key, BytesView value) override {
    const Lock lock = begin("append", key);
    map_->contents.append(key, value);
    map_->key_exists(key);
  }

  bool do_check(std::span<const std::string> keys) override {
    const Lock lock = begin("check", keys.empty() ? "" : keys.front());
    return map_->contents.missing_of(keys).empty();
  }

  bool do_delete_key(std::string_view key) override {
    const Lock lock = begin("delete_key", key);
    return map_->contents.erase(key);
  }

  std::int64_t do_num_keys() override {
    const Lock lock = begin("num_keys", "");
    return map_->contents.key_count();
  }

  Bytes do_get(std::string_view key, Duration timeout) override {
    Lock lock = begin("get", key);
    const TimePoint start = map_->runtime.now();
    const std::string keys[] = {std::string(key)};
    while (true) {
      // Another client may have deleted the key since the wake-up.
      if (const Bytes* value = map_->contents.find(key); value != nullptr) return *value;
      await(lock, "get", keys, {.start = start, .timeout = timeout});
    }
  }

  void do_wait(std::span<const std::string> keys, Duration timeout) override {
    Lock lock = begin("wait", keys.front());
    await(lock, "wait", keys, {.start = map_->runtime.now(), .timeout = timeout});
  }

 private:
  struct Limit {
    TimePoint start;
    Duration timeout;
  };

  Lock begin(std::string_view operation, std::string_view key) const {
    Lock lock(*map_->mutex);
    if (is_cancelled_) throw_cancelled(*this, operation, key);
    return lock;
  }

  // Blocks until each of `keys` has existed. The lock is held again afterwards, even if this throws
  // and even if the simulated run has ended.
  void await(Lock& lock, std::string_view operation, std::span<const std::string> keys,
             Limit limit) {
    const std::vector<std::string> missing = map_->contents.missing_of(keys);
    if (missing.empty()) return;
    WaitingCall call{.client = this, .condition = map_->runtime.make_condition()};
    const KeyWaits::Waiter waiter = map_->next_waiter++;
    const Registration registration(*map_, waiter, call, missing);
    while (!call.is_complete) {
      if (is_cancelled_) throw_cancelled(*this, operation, missing.front());
      const Duration elapsed = map_->runtime.now() - limit.start;
      if (limit.timeout == no_timeout)
        call.condition->wait(lock);
      else if (elapsed < limit.timeout)
        call.condition->wait_for(lock, limit.timeout - elapsed);
      else
        throw_wait_timeout(*this, operation, map_->waits.missing_keys(waiter), elapsed);
    }
  }

  // Registers the call with the shared map while it waits.
  class Registration {
   public:
    Registration(SharedMap& map, KeyWaits::Waiter waiter, WaitingCall& call,
                 std::span<const std::string> missing)
        : map_(map), waiter_(waiter) {
      map_.waits.add(waiter, missing);
      map_.calls.emplace(waiter, &call);
    }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration() {
      map_.waits.remove(waiter_);
      map_.calls.erase(waiter_);
    }

   private:
    SharedMap& map_;
    KeyWaits::Waiter waiter_;
  };

  std::shared_ptr<SharedMap> map_;
  bool is_cancelled_ = false;  // guarded by the map's mutex
};

}  // namespace

std::shared_ptr<Store> make_memory_store(Runtime& runtime) {
  return std::make_shared<MemoryStore>(std::make_shared<SharedMap>(runtime));
}

}  // namespace gang
