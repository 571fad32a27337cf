#include "gang/store/file_store.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "gang/store/file_log.h"
#include "gang/store/key_waits.h"
#include "gang/store/store_failure.h"

namespace gang {
namespace {

// A sleeping thread holds neither the mutex, which would block the whole process of a simulated
// rank, nor the lock of the file.
class FileStore final : public Store {
 public:
  FileStore(Runtime& runtime, FileStoreOptions options)
      : runtime_(runtime),
        options_(std::move(options)),
        log_(options_.path, [this](std::string_view key) { waits_.key_exists(key); }) {
    exclusively("open", "", [] {});  // finds out now if the file is not a store
  }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
  }

  std::shared_ptr<Store> new_client() override {
    return std::make_shared<FileStore>(runtime_, options_);
  }

  std::string description() const override { return "file " + options_.path.string(); }

 protected:
  void do_set(std::string_view key, BytesView value) override {
    exclusively("set", key, [this, key, value] { log_.set(key, value); });
  }

  std::optional<Bytes> do_try_get(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    return find("try_get", key);
  }

  std::int64_t do_add(std::string_view key, std::int64_t delta) override {
    std::optional<std::int64_t> sum;
    exclusively("add", key, [this, key, delta, &sum] {
      StoreContents changed;
      if (const Bytes* value = log_.contents().find(key)) changed.set(key, *value);
      sum = changed.add(key, delta);
      if (sum) log_.set(key, *changed.find(key));
    });
    if (!sum) throw_not_a_number(*this, key);
    return *sum;
  }

  Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) override {
    Bytes result;
    exclusively("compare_set", key, [this, key, expected, desired, &result] {
      StoreContents changed;
      const Bytes* value = log_.contents().find(key);
      if (value != nullptr) changed.set(key, *value);
      result = changed.compare_set(key, expected, desired);
      const Bytes* stored = changed.find(key);
      if (stored != nullptr && (value == nullptr || *stored != *value)) log_.set(key, *stored);
    });
    return result;
  }

  void do_append(std::string_view key, BytesView value) override {
    exclusively("append", key, [this, key, value] { log_.append(key, value); });
  }

  bool do_check(std::span<const std::string> keys) override {
    const std::lock_guard lock(mutex_);
    check_not_cancelled("check", "");
    log_.read_new();
    return log_.contents().missing_of(keys).empty();
  }

  bool do_delete_key(std::string_view key) override {
    bool existed = false;
    exclusively("delete_key", key, [this, key, &existed] {
      existed = log_.contents().has(key);
      if (existed) log_.erase(key);
    });
    return existed;
  }

  std::int64_t do_num_keys() override {
    const std::lock_guard lock(mutex_);
    check_not_cancelled("num_keys", "");
    log_.read_new();
    return log_.contents().key_count();
  }

  Bytes do_get(std::string_view key, Duration timeout) override {
    const TimePoint start = runtime_.now();
    while (true) {
      {
        const std::lock_guard lock(mutex_);
        if (std::optional<Bytes> value = find("get", key)) return *std::move(value);
      }
      const std::string keys[] = {std::string(key)};
      sleep_or_time_out("get", keys, start, timeout);
    }
  }

  void do_wait(std::span<const std::string> keys, Duration timeout) override {
    const TimePoint start = runtime_.now();
    const WaitingCall call(*this, keys);
    while (true) {
      const std::vector<std::string> missing = call.still_missing();
      if (missing.empty()) return;
      sleep_or_time_out("wait", missing, start, timeout);
    }
  }

 private:
  // Registered for the missing keys, so that a key that comes and goes is not overlooked.
  class WaitingCall {
   public:
    WaitingCall(FileStore& store, std::span<const std::string> keys) : store_(store) {
      const std::lock_guard lock(store_.mutex_);
      store_.check_not_cancelled("wait", keys.front());
      store_.log_.read_new();
      waiter_ = store_.next_waiter_++;
      const std::vector<std::string> missing = store_.log_.contents().missing_of(keys);
      if (!missing.empty()) store_.waits_.add(waiter_, missing);
    }
    WaitingCall(const WaitingCall&) = delete;
    WaitingCall& operator=(const WaitingCall&) = delete;
    ~WaitingCall() {
      const std::lock_guard lock(store_.mutex_);
      store_.waits_.remove(waiter_);
    }

    std::vector<std::string> still_missing() const {
      const std::lock_guard lock(store_.mutex_);
      if (!store_.waits_.is_waiting(waiter_)) return {};
      store_.check_not_cancelled("wait", store_.waits_.missing_keys(waiter_).front());
      store_.log_.read_new();
      return store_.waits_.missing_keys(waiter_);
    }

   private:
    FileStore& store_;
    KeyWaits::Waiter waiter_ = 0;
  };

  // Runs `change` with the file locked and completely read.
  template <typename Change>
  void exclusively(std::string_view operation, std::string_view key, const Change& change) {
    const TimePoint start = runtime_.now();
    for (Duration pause = std::chrono::microseconds(20);;
         pause = std::min(2 * pause, longest_pause)) {
      {
        const std::lock_guard lock(mutex_);
        check_not_cancelled(operation, key);
        if (log_.try_lock()) {
          const FileLock file_lock(log_);
          log_.prepare_to_write();
          return change();
        }
      }
      const Duration elapsed = runtime_.now() - start;
      if (elapsed >= options_.lock_timeout)
        throw StoreError(StoreErrorKind::timeout,
                         fmt::format("{} timed out after {}: another process holds the file's lock",
                                     operation_on(*this, operation, key), to_string(elapsed)));
      runtime_.sleep_for(pause);
    }
  }

  class FileLock {
   public:
    explicit FileLock(FileLog& log) : log_(log) {}
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    ~FileLock() { log_.unlock(); }

   private:
    FileLog& log_;
  };

  // These two are called with the mutex held.
  void check_not_cancelled(std::string_view operation, std::string_view key) const {
    if (is_cancelled_) throw_cancelled(*this, operation, key);
  }

  std::optional<Bytes> find(std::string_view operation, std::string_view key) {
    check_not_cancelled(operation, key);
    log_.read_new();
    const Bytes* value = log_.contents().find(key);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  void sleep_or_time_out(std::string_view operation, std::span<const std::string> missing,
                         TimePoint start, Duration timeout) {
    const Duration elapsed = runtime_.now() - start;
    if (timeout != no_timeout && elapsed >= timeout)
      throw_wait_timeout(*this, operation, missing, elapsed);
    const Duration left = timeout == no_timeout ? timeout : timeout - elapsed;
    runtime_.sleep_for(std::min(options_.poll_interval, left));
  }

  static constexpr Duration longest_pause = std::chrono::milliseconds(2);

  Runtime& runtime_;
  const FileStoreOptions options_;
  std::mutex mutex_;  // guards what follows
  KeyWaits waits_;
  KeyWaits::Waiter next_waiter_ = 0;
  bool is_cancelled_ = false;
  FileLog log_;
};

}  // namespace

std::shared_ptr<Store> make_file_store(Runtime& runtime, FileStoreOptions options) {
  if (options.lock_timeout <= Duration::zero() || options.poll_interval <= Duration::zero())
    throw InvalidArgument(
        fmt::format("make_file_store: lock timeout {} and poll interval {} must be positive",
                    to_string(options.lock_timeout), to_string(options.poll_interval)));
  return std::make_shared<FileStore>(runtime, std::move(options));
}

}  // namespace gang
