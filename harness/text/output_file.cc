#include "harness/text/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

std::string system_reason() { return std::generic_category().message(errno); }

// Whether `path` is something that a rename cannot replace.
bool is_special(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// The target of a link is replaced, not the link.
std::string resolved(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

// Takes standard output for whoever writes to the result; what is printed from now on goes to
// standard error. A negative number if that is impossible.
int take_standard_output() {
  std::cout.flush();
  std::fflush(stdout);
  const int taken = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (taken < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return taken;
  ::close(taken);
  return -1;
}

}  // namespace

OutputFile::OutputFile(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)) {
  if (takes_standard_output()) {
    descriptor_ = take_standard_output();
    if (descriptor_ < 0) fail();
    return;
  }
  if (path_ == "/dev/stdout" || is_special(path_)) {
    // Standard output may be a file that has been printed to.
    descriptor_ = path_ == "/dev/stdout" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                         : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail();
    return;
  }
  open_temporary();
}

// Without a name, where the file system can do that: nothing is left of it if we are killed.
void OutputFile::open_temporary() {
  const std::filesystem::path target = resolved(path_);
  temporary_ = target.string() + ".XXXXXX";
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor_ >= 0) return;
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail();
  is_named_ = true;
}

// Gives the temporary file a name that no other file has.
void OutputFile::name_temporary() {
  const std::string opened = fmt::format("/proc/self/fd/{}", descriptor_);
  const std::string pattern = temporary_;
  for (int i = 0; !is_named_; ++i) {
    temporary_ = fmt::format("{}{}.{}", pattern.substr(0, pattern.size() - 6), ::getpid(), i);
    is_named_ =
        ::linkat(AT_FDCWD, opened.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (!is_named_ && errno != EEXIST) fail();
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : option_(std::move(other.option_)),
      path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      is_named_(std::exchange(other.is_named_, false)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() {
  give_standard_output_back();
  if (descriptor_ >= 0) ::close(descriptor_);
  if (is_named_) ::unlink(temporary_.c_str());
}

void OutputFile::commit(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  give_standard_output_back();
  if (!temporary_.empty()) {
    if (::fsync(descriptor_) != 0) fail();
    if (::fchmod(descriptor_, 0644) != 0) fail();
    name_temporary();
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), resolved(path_).c_str()) != 0) fail();
  is_named_ = false;
}

void OutputFile::give_standard_output_back() noexcept {
  if (!takes_standard_output() || descriptor_ < 0) return;
  std::cout.flush();
  std::fflush(stdout);
  ::dup2(descriptor_, STDOUT_FILENO);
}

void OutputFile::fail() const {
  const std::string reason = system_reason();
  if (is_named_) ::unlink(temporary_.c_str());
  throw InvalidArgument(fmt::format("{} {}: cannot be written: {}", option_, path_, reason));
}

std::vector<std::filesystem::path> json_files_of(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator place(folder, error), end; !error && place != end;
       place.increment(error)) {
    if (place->path().extension() == ".json" && place->is_regular_file())
      files.push_back(place->path());
  }
  if (error)
    throw InvalidArgument(fmt::format("folder {}: cannot read: {}", folder, error.message()));
  std::ranges::sort(files);
  return files;
}

std::string read_file(std::string_view what, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr)
    throw InvalidArgument(fmt::format("{} {}: cannot be read: {}", what, path, system_reason()));
  std::string text;
  char buffer[4096];
  std::size_t size = 0;
  while ((size = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, size);
  const bool failed = std::ferror(file) != 0;
  const std::string reason = system_reason();
  std::fclose(file);
  if (failed) throw InvalidArgument(fmt::format("{} {}: cannot be read: {}", what, path, reason));
  return text;
}

}  // namespace gang::harness
