// A place for the files of a test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace gang::test {

// A directory of this process's own, with a slash behind; empty at first, removed when the process
// ends. Tests of one executable run at the same time in several processes.
inline const std::string& temporary_directory() {
  struct Directory {
    Directory()
        : path(std::filesystem::temp_directory_path() /
               ("gangsim-test-" + std::to_string(::getpid()) + "/")) {
      std::filesystem::create_directories(path);
    }
    ~Directory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path;
  };
  static const Directory directory;
  return directory.path;
}

}  // namespace gang::test
