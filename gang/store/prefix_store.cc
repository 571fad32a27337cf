#include "gang/store/prefix_store.h"

#include <utility>

namespace gang {
namespace {

class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store)
      : prefix_(std::move(prefix)), store_(std::move(store)) {}

  void cancel() override { store_->cancel(); }

  std::shared_ptr<Store> new_client() override {
    return std::make_shared<PrefixStore>(prefix_, store_->new_client());
  }

  std::string description() const override { return store_->description(); }

 protected:
  void do_set(std::string_view key, BytesView value) override { store_->set(joined(key), value); }

  std::optional<Bytes> do_try_get(std::string_view key) override {
    return store_->try_get(joined(key));
  }

  std::int64_t do_add(std::string_view key, std::int64_t delta) override {
    return store_->add(joined(key), delta);
  }

  Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) override {
    return store_->compare_set(joined(key), expected, desired);
  }

  void do_append(std::string_view key, BytesView value) override {
    store_->append(joined(key), value);
  }

  bool do_check(std::span<const std::string> keys) override { return store_->check(joined(keys)); }

  bool do_delete_key(std::string_view key) override { return store_->delete_key(joined(key)); }

  std::int64_t do_num_keys() override { return store_->num_keys(); }

  Bytes do_get(std::string_view key, Duration timeout) override {
    return store_->get(joined(key), timeout);
  }

  void do_wait(std::span<const std::string> keys, Duration timeout) override {
    store_->wait(joined(keys), timeout);
  }

 private:
  std::string joined(std::string_view key) const {
    std::string whole = prefix_;
    whole += '/';
    return whole.append(key);
  }

  std::vector<std::string> joined(std::span<const std::string> keys) const {
    std::vector<std::string> whole;
    whole.reserve(keys.size());
    for (const std::string& key : keys) whole.push_back(joined(std::string_view(key)));
    return whole;
  }

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace

std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store) {
  if (store == nullptr) throw InvalidArgument("make_prefix_store: the store is null");
  if (prefix.empty())
    throw InvalidArgument("make_prefix_store: the prefix is empty; must be non-empty");
  return std::make_shared<PrefixStore>(std::move(prefix), std::move(store));
}

}  // namespace gang
