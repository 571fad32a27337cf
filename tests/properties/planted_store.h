// A store with a planted bug.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "gang/store/store.h"

namespace gang::properties {

class PlantedStore final : public Store {
 public:
  enum class Bug : std::uint8_t {
    add_starts_anew,
    compare_set_stores_always,
    client_has_its_own_map,
    wait_ends_at_once,
    add_is_read_and_set,
  };

  PlantedStore(std::shared_ptr<Store> inner, Bug bug) : inner_(std::move(inner)), bug_(bug) {}

  void cancel() override { inner_->cancel(); }
  std::shared_ptr<Store> new_client() override {
    auto client = std::make_shared<PlantedStore>(inner_->new_client(), bug_);
    if (bug_ == Bug::client_has_its_own_map) client->own_ = "own " + std::to_string(++clients_);
    return client;
  }
  std::string description() const override { return "planted"; }

 protected:
  void do_set(std::string_view key, BytesView value) override { inner_->set(named(key), value); }
  std::optional<Bytes> do_try_get(std::string_view key) override {
    return inner_->try_get(named(key));
  }
  std::int64_t do_add(std::string_view key, std::int64_t delta) override {
    if (bug_ == Bug::add_starts_anew) inner_->delete_key(named(key));
    if (bug_ != Bug::add_is_read_and_set) return inner_->add(named(key), delta);
    const std::string value = inner_->try_get_text(named(key)).value_or("0");
    const std::int64_t sum = std::stoll(value) + delta;
    inner_->set_text(named(key), std::to_string(sum));
    return sum;
  }
  Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) override {
    if (bug_ != Bug::compare_set_stores_always)
      return inner_->compare_set(named(key), expected, desired);
    inner_->set(named(key), desired);
    return {desired.begin(), desired.end()};
  }
  void do_append(std::string_view key, BytesView value) override {
    inner_->append(named(key), value);
  }
  bool do_check(std::span<const std::string> keys) override { return inner_->check(keys); }
  bool do_delete_key(std::string_view key) override { return inner_->delete_key(named(key)); }
  std::int64_t do_num_keys() override { return inner_->num_keys(); }
  Bytes do_get(std::string_view key, Duration timeout) override {
    if (bug_ == Bug::wait_ends_at_once)
      if (std::optional<Bytes> value = inner_->try_get(named(key)); !value)
        throw StoreError(StoreErrorKind::timeout, "at once");
    return inner_->get(named(key), timeout);
  }
  void do_wait(std::span<const std::string> keys, Duration timeout) override {
    inner_->wait(keys, timeout);
  }

 private:
  std::string named(std::string_view key) const { return own_ + std::string(key); }

  std::shared_ptr<Store> inner_;
  Bug bug_;
  std::string own_;
  int clients_ = 0;
};

}  // namespace gang::properties
