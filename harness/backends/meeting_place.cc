#include "harness/backends/meeting_place.h"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace gang::harness {

MeetingPlace::MeetingPlace() {
  std::string pattern = (std::filesystem::temp_directory_path() / "gangsim-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), pattern);
  path_ = pattern;
}

MeetingPlace::~MeetingPlace() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gang::harness
