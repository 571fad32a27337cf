#include "gang/store/tcp_store_service.h"

#include <utility>

#include <fmt/format.h>

namespace gang {
namespace {

// The memory that a key takes in addition to its bytes.
constexpr std::size_t key_overhead_bytes = 160;

[[noreturn]] void refuse(std::string message, StoreErrorKind kind = StoreErrorKind::corrupt) {
  throw StoreError(kind, message);
}

std::vector<std::byte> number_reply(std::int64_t number) {
  std::vector<std::byte> bytes;
  encode_u64(static_cast<std::uint64_t>(number), bytes);
  return bytes;
}

std::size_t size_of(const TcpStoreRequest& request) {
  std::size_t size = request.keys.size() * key_overhead_bytes;
  for (const std::string& key : request.keys) size += key.size();
  for (const std::vector<std::byte>& value : request.values) size += value.size();
  return size;
}

bool makes_keys(TcpStoreCommand command) {
  return command == TcpStoreCommand::set || command == TcpStoreCommand::compare_set ||
         command == TcpStoreCommand::add || command == TcpStoreCommand::append ||
         command == TcpStoreCommand::multi_set;
}

}  // namespace

std::size_t TcpStoreService::memory_bytes() const noexcept {
  return contents_.size_bytes() +
         static_cast<std::size_t>(contents_.key_count()) * key_overhead_bytes + waits_.size_bytes();
}

std::vector<TcpStoreService::Reply> TcpStoreService::execute(Connection connection,
                                                             const TcpStoreRequest& request) {
  std::vector<Reply> replies;
  if (Bytes bytes = answer(connection, request); !bytes.empty())
    replies.push_back({connection, std::move(bytes)});
  if (!makes_keys(request.command)) return replies;
  for (const std::string& key : request.keys)
    if (waits_.waiter_count() > 0 && contents_.has(key))
      for (const Connection waiting : waits_.key_exists(key))
        replies.push_back({waiting, {tcp_store_reply::stop_waiting}});
  return replies;
}

TcpStoreService::Bytes TcpStoreService::answer(Connection connection,
                                               const TcpStoreRequest& request) {
  if (makes_keys(request.command)) check_room_for(request);
  Bytes reply;
  switch (request.command) {
    case TcpStoreCommand::validate:
      break;
    case TcpStoreCommand::set:
      contents_.set(request.keys[0], request.values[0]);
      break;
    case TcpStoreCommand::compare_set:
      encode_bytes(contents_.compare_set(request.keys[0], request.values[0], request.values[1]),
                   reply);
      break;
    case TcpStoreCommand::get:
    case TcpStoreCommand::multi_get:
      return values_of(request);
    case TcpStoreCommand::add:
      return add(request);
    case TcpStoreCommand::check:
      return {contents_.missing_of(request.keys).empty() ? tcp_store_reply::ready
                                                         : tcp_store_reply::not_ready};
    case TcpStoreCommand::wait:
      return wait(connection, request.keys);
    case TcpStoreCommand::num_keys:
      return number_reply(contents_.key_count());
    case TcpStoreCommand::delete_key:
      return number_reply(contents_.erase(request.keys[0]) ? 1 : 0);
    case TcpStoreCommand::append:
      check_appended_size(request);
      contents_.append(request.keys[0], request.values[0]);
      break;
    case TcpStoreCommand::multi_set:
      for (std::size_t i = 0; i < request.keys.size(); ++i)
        contents_.set(request.keys[i], request.values[i]);
      break;
    case TcpStoreCommand::cancel_wait:
      waits_.remove(connection);
      return {tcp_store_reply::wait_cancelled};
    case TcpStoreCommand::ping:
      encode_u32(static_cast<std::uint32_t>(request.number), reply);
      break;
  }
  return reply;
}

TcpStoreService::Bytes TcpStoreService::values_of(const TcpStoreRequest& request) const {
  std::size_t size = 0;
  for (const std::string& key : request.keys) {
    const Bytes* value = contents_.find(key);
    if (value == nullptr)
      refuse(fmt::format("{} of a key without a value", to_string(request.command)));
    size += value->size();
    if (size > limits_.max_reply_bytes)
      refuse(fmt::format("{} of more than {} bytes", to_string(request.command),
                         limits_.max_reply_bytes));
  }
  Bytes reply;
  reply.reserve(size + 8 * request.keys.size());
  for (const std::string& key : request.keys) encode_bytes(*contents_.find(key), reply);
  return reply;
}

TcpStoreService::Bytes TcpStoreService::wait(Connection connection,
                                             const std::vector<std::string>& keys) {
  if (waits_.is_waiting(connection)) refuse("a wait before the last one has ended");
  const std::vector<std::string> missing = contents_.missing_of(keys);
  if (missing.empty()) return {tcp_store_reply::stop_waiting};
  if (memory_bytes() + KeyWaits::size_bytes_of(missing) > limits_.max_memory_bytes)
    refuse(fmt::format("not enough memory for a wait; the limit is {} bytes",
                       limits_.max_memory_bytes));
  waits_.add(connection, missing);
  return {};
}

TcpStoreService::Bytes TcpStoreService::add(const TcpStoreRequest& request) {
  const std::optional<std::int64_t> sum = contents_.add(request.keys[0], request.number);
  if (!sum) refuse("add to a value that is not a decimal number", StoreErrorKind::not_a_number);
  return number_reply(*sum);
}

// Counts values that will be replaced twice, which is never too little.
void TcpStoreService::check_room_for(const TcpStoreRequest& request) const {
  if (memory_bytes() + size_of(request) > limits_.max_memory_bytes)
    refuse(fmt::format("not enough memory for {}; the limit is {} bytes",
                       to_string(request.command), limits_.max_memory_bytes));
}

void TcpStoreService::check_appended_size(const TcpStoreRequest& request) const {
  const Bytes* value = contents_.find(request.keys[0]);
  if (value != nullptr && value->size() + request.values[0].size() > limits_.max_value_bytes)
    refuse(fmt::format("append to more than {} bytes", limits_.max_value_bytes));
}

}  // namespace gang
