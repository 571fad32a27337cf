// The file behind a file store, and what a client that opens it writes next.

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <boost/crc.hpp>
#include <fmt/format.h>

#include "gang/store/file_log.h"
#include "gang/store/store.h"
#include "gang/store/tcp_store_protocol.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

// In memory, with a path.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    require(file_ >= 0, "a file in memory can be had");
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_); }

  void hold(std::span<const std::byte> bytes) const {
    require(::ftruncate(file_, 0) == 0, "the file can be emptied");
    require(::pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "the file can be written");
  }

 private:
  int file_;
};

// A file whose records have correct checksums: each is a size and so many bytes of the input.
std::vector<std::byte> records_of(Input& input) {
  constexpr std::string_view header = "gangsim store 1\n";
  const auto begin = std::as_bytes(std::span(header));
  std::vector<std::byte> bytes(begin.begin(), begin.end());
  while (!input.is_empty()) {
    const std::span<const std::byte> payload = input.bytes(input.byte());
    boost::crc_32_type crc;
    crc.process_bytes(payload.data(), payload.size());
    encode_u32(static_cast<std::uint32_t>(payload.size()), bytes);
    encode_u32(crc.checksum(), bytes);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
  }
  return bytes;
}

void open(const MemoryFile& file, Input& input) {
  const auto ignore_key = [](std::string_view) {};
  if (input.byte() % 2 == 0)
    file.hold(input.rest());
  else
    file.hold(records_of(input));
  FileLog log(file.path(), ignore_key);
  log.read_new();
  require(log.try_lock(), "nobody else has the lock");
  log.prepare_to_write();
  log.append("key", std::as_bytes(std::span("more", 4)));
  log.unlock();
  FileLog again(file.path(), ignore_key);
  again.read_new();
  require(again.contents() == log.contents(), "another client reads what was written");
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const gang::fuzz::MemoryFile file;
  try {
    gang::fuzz::Input input(data, size);
    gang::fuzz::open(file, input);
  } catch (const gang::StoreError&) {
  }
  return 0;
}
