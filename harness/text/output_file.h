// A file that appears whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace gang::harness {

// Writes to a temporary file beside `path` and renames it when all is written: if anything goes
// wrong, the old file stays as it was. Made before a long computation, it proves that the file can
// be written. Devices and pipes ("/dev/stdout") are written in place. A resource.
//
// Every error is an InvalidArgument: the option, the path, the system's reason.
class OutputFile {
 public:
  // `option` names the path in errors: "--json". Creates the temporary file.
  OutputFile(std::string option, std::string path);
  ~OutputFile();  // removes the temporary file unless committed
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Writes `text`, flushes it to the device, and puts the file in place. Once.
  void commit(std::string_view text);

 private:
  [[noreturn]] void fail() const;

  std::string option_;
  std::string path_;       // where it goes, links resolved
  std::string temporary_;  // empty: written in place, or committed
  int descriptor_ = -1;
};

// The whole file. Throws InvalidArgument: `what` ("program file"), path, the system's reason.
std::string read_file(std::string_view what, const std::string& path);

}  // namespace gang::harness
