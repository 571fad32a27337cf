// The file behind a file store: changes in order, written by several processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "gang/store/store_contents.h"

namespace gang {

// A client's view of the file: what it has read so far, as contents.
//
// Format: the line "gangsim store 1", then records of u32 payload size, u32 CRC-32 of the payload,
// payload: u8 kind (1 set, 2 append, 3 erase), u32 key size, key, value; little-endian. Writers
// hold an exclusive flock() and only append. Readers take no lock: a record counts if its checksum
// is correct. The next writer cuts off what is left of a record whose writer was killed.
//
// Errors: StoreError connection (the file cannot be opened, read or written; includes the system's
// message), corrupt (not a store file, or damaged; says at which byte).
// Threads: one at a time per object; any number of objects and processes per file.
class FileLog {
 public:
  using KeyExists = std::function<void(std::string_view key)>;

  // Opens the file; creates it if it does not exist. Calls `key_exists` for every set or append
  // that is read, including this object's own.
  FileLog(std::filesystem::path path, KeyExists key_exists);
  FileLog(const FileLog&) = delete;
  FileLog& operator=(const FileLog&) = delete;
  ~FileLog();

  const std::filesystem::path& path() const noexcept { return path_; }

  // Takes the exclusive lock if it is free. The system frees it when a process dies.
  bool try_lock();
  void unlock() noexcept;

  // Reads what has been written since the last read.
  void read_new();
  const StoreContents& contents() const noexcept { return contents_; }

  // Appends a change and applies it. Under the lock, after prepare_to_write().
  void set(std::string_view key, StoreContents::BytesView value);
  void append(std::string_view key, StoreContents::BytesView value);
  void erase(std::string_view key);

  // Reads what is new and cuts off what a killed writer left. Under the lock.
  void prepare_to_write();

 private:
  enum class Kind : std::uint8_t { set = 1, append = 2, erase = 3 };
  enum class Tail : std::uint8_t { none, incomplete, damaged };

  Tail read_records();
  Tail take_record(std::span<const std::byte> rest, std::size_t& size);
  void apply(std::span<const std::byte> payload);
  void write(Kind kind, std::string_view key, StoreContents::BytesView value);
  void write_at_end(std::span<const std::byte> bytes);
  std::uint64_t file_size() const;
  [[noreturn]] void throw_system(std::string_view what) const;
  [[noreturn]] void throw_damaged() const;

  std::filesystem::path path_;
  KeyExists key_exists_;
  StoreContents contents_;
  std::vector<std::byte> unread_;  // a buffer, kept between reads
  std::uint64_t end_ = 0;          // of what has been read
  int file_ = -1;
};

}  // namespace gang
