#include "gang/store/file_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <boost/crc.hpp>
#include <fmt/format.h>

#include "gang/store/store.h"

namespace gang {
namespace {

constexpr std::string_view header = "gangsim store 1\n";
constexpr std::size_t record_header_bytes = 8;
constexpr std::size_t payload_header_bytes = 5;
constexpr std::size_t max_payload_bytes =
    payload_header_bytes + max_store_key_bytes + max_store_value_bytes;

std::uint32_t u32_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= std::to_integer<std::uint32_t>(bytes[offset + i]) << (8U * i);
  return value;
}

void put_u32(std::vector<std::byte>& bytes, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(value >> (8U * i)));
}

void put(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::uint32_t checksum_of(std::span<const std::byte> payload) {
  boost::crc_32_type crc;
  crc.process_bytes(payload.data(), payload.size());
  return crc.checksum();
}

}  // namespace

FileLog::FileLog(std::filesystem::path path, KeyExists key_exists)
    : path_(std::move(path)), key_exists_(std::move(key_exists)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) throw_system("open");
}

FileLog::~FileLog() { ::close(file_); }

bool FileLog::try_lock() {
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) throw_system("lock");
  }
  return true;
}

void FileLog::unlock() noexcept { ::flock(file_, LOCK_UN); }

void FileLog::read_new() {
  if (read_records() != Tail::damaged) return;
  // Another process may be replacing the damaged tail; under the lock, it is not.
  if (!try_lock()) return;
  const Tail tail = read_records();
  unlock();
  if (tail == Tail::damaged) throw_damaged();
}

void FileLog::prepare_to_write() {
  const Tail tail = read_records();
  if (tail == Tail::damaged) throw_damaged();
  if (tail == Tail::incomplete && ::ftruncate(file_, static_cast<off_t>(end_)) != 0)
    throw_system("truncate");
  if (end_ == 0) write_at_end(std::as_bytes(std::span(header)));
}

FileLog::Tail FileLog::read_records() {
  const std::uint64_t size = file_size();
  if (size < end_) throw_damaged();
  unread_.resize(size - end_);
  std::size_t have = 0;
  while (have < unread_.size()) {
    const ssize_t got = ::pread(file_, unread_.data() + have, unread_.size() - have,
                                static_cast<off_t>(end_ + have));
    if (got < 0 && errno != EINTR) throw_system("read");
    if (got == 0) break;  // truncated in the meantime
    have += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  std::span<const std::byte> rest = std::span(unread_).first(have);
  Tail tail = Tail::none;
  while (!rest.empty() && tail == Tail::none) {
    std::size_t taken = 0;
    tail = take_record(rest, taken);
    rest = rest.subspan(taken);
    end_ += taken;
  }
  return tail;
}

// Takes one record, or the header, from the front of `rest`.
FileLog::Tail FileLog::take_record(std::span<const std::byte> rest, std::size_t& size) {
  if (end_ == 0) {
    const std::size_t compared = std::min(rest.size(), header.size());
    if (std::memcmp(rest.data(), header.data(), compared) != 0) return Tail::damaged;
    if (compared < header.size()) return Tail::incomplete;
    size = header.size();
    return Tail::none;
  }
  if (rest.size() < record_header_bytes) return Tail::incomplete;
  const std::size_t payload_size = u32_at(rest, 0);
  if (payload_size < payload_header_bytes || payload_size > max_payload_bytes) return Tail::damaged;
  if (rest.size() - record_header_bytes < payload_size) return Tail::incomplete;
  const std::span payload = rest.subspan(record_header_bytes, payload_size);
  if (checksum_of(payload) != u32_at(rest, 4)) return Tail::damaged;
  apply(payload);
  size = record_header_bytes + payload_size;
  return Tail::none;
}

void FileLog::apply(std::span<const std::byte> payload) {
  const auto kind = static_cast<Kind>(payload[0]);
  const std::size_t key_size = u32_at(payload, 1);
  if (key_size > payload.size() - payload_header_bytes) throw_damaged();
  const std::string key = as_store_text(payload.subspan(payload_header_bytes, key_size));
  const std::span value = payload.subspan(payload_header_bytes + key_size);
  switch (kind) {
    case Kind::set:
      contents_.set(key, value);
      return key_exists_(key);
    case Kind::append:
      contents_.append(key, value);
      return key_exists_(key);
    case Kind::erase:
      contents_.erase(key);
      return;
  }
  throw_damaged();
}

void FileLog::set(std::string_view key, StoreContents::BytesView value) {
  write(Kind::set, key, value);
}

void FileLog::append(std::string_view key, StoreContents::BytesView value) {
  write(Kind::append, key, value);
}

void FileLog::erase(std::string_view key) { write(Kind::erase, key, {}); }

void FileLog::write(Kind kind, std::string_view key, StoreContents::BytesView value) {
  std::vector<std::byte> payload;
  payload.reserve(payload_header_bytes + key.size() + value.size());
  payload.push_back(static_cast<std::byte>(kind));
  put_u32(payload, static_cast<std::uint32_t>(key.size()));
  put(payload, as_store_bytes(key));
  put(payload, value);
  std::vector<std::byte> record;
  record.reserve(record_header_bytes + payload.size());
  put_u32(record, static_cast<std::uint32_t>(payload.size()));
  put_u32(record, checksum_of(payload));
  put(record, payload);
  write_at_end(record);
  apply(payload);
}

void FileLog::write_at_end(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote =
        ::pwrite(file_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(end_ + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      const int error = errno;
      // What remains of the record is like what a killed writer leaves: it is not read.
      [[maybe_unused]] const int ignored = ::ftruncate(file_, static_cast<off_t>(end_));
      errno = error;
      throw_system("write");
    }
    done += static_cast<std::size_t>(wrote);
  }
  end_ += bytes.size();
}

std::uint64_t FileLog::file_size() const {
  struct stat status{};
  if (::fstat(file_, &status) != 0) throw_system("read");
  return static_cast<std::uint64_t>(status.st_size);
}

void FileLog::throw_system(std::string_view what) const {
  throw StoreError(StoreErrorKind::connection,
                   fmt::format("cannot {} the store file '{}': {}", what, path_.string(),
                               std::generic_category().message(errno)));
}

void FileLog::throw_damaged() const {
  if (end_ == 0)
    throw StoreError(StoreErrorKind::corrupt,
                     fmt::format("'{}' is not a store file: it does not begin with '{}'",
                                 path_.string(), header.substr(0, header.size() - 1)));
  throw StoreError(StoreErrorKind::corrupt,
                   fmt::format("the store file '{}' is damaged at byte {}", path_.string(), end_));
}

}  // namespace gang
