// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gang::harness {

// What stands for standard output where a path may be given.
inline constexpr std::string_view standard_output = "-";

// Writes to a temporary file beside `path`, which has no name until all is written, and then takes
// the place of the old one: if anything goes wrong, the old file stays as it was. Made before a
// long computation, it proves that the file can be written. Devices and pipes ("/dev/stdout") are
// written in place. A resource.
//
// The path "-" is standard output, which this takes for itself: until it has been written, all else
// that this process and its children print there goes to standard error.
//
// Every error is an InvalidArgument: the option, the path, the system's reason.
class OutputFile {
 public:
  // `option` names the path in errors: "--json". Opens the temporary file.
  OutputFile(std::string option, std::string path);
  ~OutputFile();  // removes the temporary file unless committed; gives standard output back
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  // Writes `text`, flushes it to the device, and puts the file in place. Once.
  void commit(std::string_view text);

 private:
  bool takes_standard_output() const noexcept { return path_ == standard_output; }
  void give_standard_output_back() noexcept;
  void open_temporary();
  void name_temporary();
  [[noreturn]] void fail() const;

  std::string option_;
  std::string path_;       // where it goes, links resolved
  std::string temporary_;  // empty: written in place
  bool is_named_ = false;  // the temporary file is in the folder
  int descriptor_ = -1;
};

// The files of a folder whose names end with .json, by name. Throws InvalidArgument.
std::vector<std::filesystem::path> json_files_of(const std::string& folder);

// The whole file. Throws InvalidArgument: `what` ("program file"), path, the system's reason.
std::string read_file(std::string_view what, const std::string& path);

}  // namespace gang::harness
