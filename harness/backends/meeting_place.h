// Where processes of this machine meet that one process has made.
#pragma once

#include <filesystem>

namespace gang::harness {

// A new folder that goes with this object, and with nothing but it: not with a copy of the process.
class MeetingPlace {
 public:
  // Throws std::system_error where there is no room for it in the temporary directory.
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
