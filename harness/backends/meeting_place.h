// A place where the processes that one process has started meet.
#pragma once

#include <filesystem>

namespace gang::harness {

// A new folder that is removed with this object, but not by a copy of the process.
class MeetingPlace {
 public:
  // Throws std::system_error if the folder cannot be made in the temporary directory.
  MeetingPlace();
  ~MeetingPlace();
  MeetingPlace(const MeetingPlace&) = delete;
  MeetingPlace& operator=(const MeetingPlace&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

  // For make_file_store.
  std::filesystem::path store() const { return path_ / "store"; }

 private:
  std::filesystem::path path_;
};

}  // namespace gang::harness
