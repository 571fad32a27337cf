#include "gang/store/faulty_store.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <random>
#include <type_traits>
#include <utility>

#include "gang/enum_names.h"
#include "gang/store/store_failure.h"

namespace gang {
namespace {

using Lock = std::unique_lock<RuntimeMutex>;

struct RequestFate {
  TimePoint answered_from{0};  // max(): never
  Duration delay{0};           // of the answer
  bool is_request_lost = false;
  bool is_answer_lost = false;
};

class Faults {
 public:
  Faults(Runtime& runtime, FaultyStoreOptions options)
      : runtime_(runtime),
        options_(std::move(options)),
        made_at_(runtime.now()),
        mutex_(runtime.make_mutex()),
        random_(options_.seed) {}

  Runtime& runtime() const noexcept { return runtime_; }
  Duration patience() const noexcept { return options_.patience; }

  RequestFate next_request() {
    const Lock lock(*mutex_);
    const std::uint64_t number = requests_++;
    const Duration now = runtime_.now() - made_at_;
    RequestFate fate;
    for (const StoreFault& fault : options_.faults) {
      const TimePoint ends = deadline_after(fault.begins, fault.lasts);
      if (now < fault.begins || now >= ends || !is_picked(fault, number)) continue;
      if (fault.kind == StoreFaultKind::unavailable)
        fate.answered_from = std::max(fate.answered_from, deadline_after(made_at_, ends));
      if (fault.kind == StoreFaultKind::slow) fate.delay += fault.delay;
      if (fault.kind == StoreFaultKind::lossy)
        (random_() % 2 == 0 ? fate.is_request_lost : fate.is_answer_lost) = true;
    }
    return fate;
  }

 private:
  bool is_picked(const StoreFault& fault, std::uint64_t number) {
    if (fault.request) return number == *fault.request;
    if (fault.probability >= 1) return true;
    return static_cast<double>(random_() >> 11U) * 0x1p-53 < fault.probability;
  }

  Runtime& runtime_;
  FaultyStoreOptions options_;
  TimePoint made_at_;
  std::unique_ptr<RuntimeMutex> mutex_;
  std::mt19937_64 random_;  // the same on all machines; under the mutex, as is the count
  std::uint64_t requests_ = 0;
};

class FaultyStore final : public Store {
 public:
  FaultyStore(std::shared_ptr<Faults> faults, std::shared_ptr<Store> store)
      : faults_(std::move(faults)),
        store_(std::move(store)),
        mutex_(faults_->runtime().make_mutex()),
        cancelled_(faults_->runtime().make_condition()) {}

  void cancel() override {
    {
      const Lock lock(*mutex_);
      is_cancelled_ = true;
    }
    cancelled_->notify_all();
    store_->cancel();
  }

  std::shared_ptr<Store> new_client() override {
    return std::make_shared<FaultyStore>(faults_, store_->new_client());
  }

  std::string description() const override { return store_->description(); }

 protected:
  void do_set(std::string_view key, BytesView value) override {
    ask("set", key, [&](Duration) { store_->set(key, value); });
  }

  std::optional<Bytes> do_try_get(std::string_view key) override {
    return ask("try_get", key, [&](Duration) { return store_->try_get(key); });
  }

  std::int64_t do_add(std::string_view key, std::int64_t delta) override {
    return ask("add", key, [&](Duration) { return store_->add(key, delta); });
  }

  Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) override {
    return ask("compare_set", key,
               [&](Duration) { return store_->compare_set(key, expected, desired); });
  }

  void do_append(std::string_view key, BytesView value) override {
    ask("append", key, [&](Duration) { store_->append(key, value); });
  }

  bool do_check(std::span<const std::string> keys) override {
    return ask("check", first_of(keys), [&](Duration) { return store_->check(keys); });
  }

  bool do_delete_key(std::string_view key) override {
    return ask("delete_key", key, [&](Duration) { return store_->delete_key(key); });
  }

  std::int64_t do_num_keys() override {
    return ask("num_keys", "", [&](Duration) { return store_->num_keys(); });
  }

  Bytes do_get(std::string_view key, Duration timeout) override {
    return ask("get", key, [&](Duration left) { return store_->get(key, left); }, timeout);
  }

  void do_wait(std::span<const std::string> keys, Duration timeout) override {
    ask("wait", first_of(keys), [&](Duration left) { store_->wait(keys, left); }, timeout);
  }

 private:
  static std::string_view first_of(std::span<const std::string> keys) {
    return keys.empty() ? std::string_view() : keys.front();
  }

  // Calls `request` with the time that is left for it.
  template <typename Request>
  std::invoke_result_t<Request, Duration> ask(std::string_view operation, std::string_view key,
                                              const Request& request,
                                              std::optional<Duration> timeout = {}) {
    const Duration patience = timeout.value_or(faults_->patience());
    const TimePoint deadline = deadline_after(faults_->runtime().now(), patience);
    const RequestFate fate = faults_->next_request();
    const auto give_up = [&] {
      wait_until(deadline, operation, key);
      throw StoreError(StoreErrorKind::timeout, operation_on(*this, operation, key) +
                                                    " got no answer within " +
                                                    gang::to_string(patience));
    };
    if (fate.is_request_lost || fate.answered_from >= deadline) give_up();
    wait_until(fate.answered_from, operation, key);
    const auto answer_comes = [&] {
      const TimePoint comes = deadline_after(faults_->runtime().now(), fate.delay);
      if (fate.is_answer_lost || (fate.delay > Duration(0) && comes >= deadline)) give_up();
      wait_until(comes, operation, key);
    };
    const Duration left = deadline == TimePoint::max()
                              ? no_timeout
                              : std::max(deadline - faults_->runtime().now(), Duration(1));
    if constexpr (std::is_void_v<std::invoke_result_t<Request, Duration>>) {
      request(left);
      answer_comes();
    } else {
      auto answer = request(left);
      answer_comes();
      return answer;
    }
  }

  // Throws StoreError cancelled if the client is cancelled before `time`.
  void wait_until(TimePoint time, std::string_view operation, std::string_view key) {
    Lock lock(*mutex_);
    while (!is_cancelled_) {
      const TimePoint now = faults_->runtime().now();
      if (now >= time) return;
      if (time == TimePoint::max())
        cancelled_->wait(lock);
      else
        cancelled_->wait_for(lock, time - now);
    }
    throw_cancelled(*this, operation, key);
  }

  std::shared_ptr<Faults> faults_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<RuntimeMutex> mutex_;
  std::unique_ptr<RuntimeCondition> cancelled_;
  bool is_cancelled_ = false;  // under the mutex
};

constexpr auto store_fault_names = names_in_order<StoreFaultKind>("unavailable", "slow", "lossy");

}  // namespace

std::string_view to_string(StoreFaultKind kind) noexcept {
  return name_of(store_fault_names, kind);
}

std::string to_string(const StoreFault& fault) {
  std::string text(to_string(fault.kind));
  if (fault.kind == StoreFaultKind::slow) text += " by " + gang::to_string(fault.delay);
  if (fault.begins != Duration(0)) text += " from " + gang::to_string(fault.begins);
  if (fault.lasts != no_timeout) text += " for " + gang::to_string(fault.lasts);
  if (fault.request)
    text += " at request " + std::to_string(*fault.request);
  else if (fault.probability < 1)
    text += " with probability " + std::to_string(fault.probability);
  return text;
}

std::shared_ptr<Store> make_faulty_store(Runtime& runtime, std::shared_ptr<Store> store,
                                         FaultyStoreOptions options) {
  if (store == nullptr) throw InvalidArgument("make_faulty_store: the store is null");
  if (options.patience <= Duration(0))
    throw InvalidArgument("make_faulty_store: patience is " + gang::to_string(options.patience) +
                          "; must be positive");
  for (const StoreFault& fault : options.faults) {
    if (fault.begins < Duration(0) || fault.lasts < Duration(0) || fault.delay < Duration(0))
      throw InvalidArgument("make_faulty_store: a time of a fault is negative (" +
                            to_string(fault) + "); must be 0 or more");
    if (!(fault.probability >= 0 && fault.probability <= 1))
      throw InvalidArgument("make_faulty_store: a probability is " +
                            std::to_string(fault.probability) + "; must be 0 to 1");
  }
  return std::make_shared<FaultyStore>(std::make_shared<Faults>(runtime, std::move(options)),
                                       std::move(store));
}

}  // namespace gang
