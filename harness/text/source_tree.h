// Where the sources of a program are in its repository.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gang::harness {

// The files of the repository that a folder belongs to: of the nearest folder above it that has a
// .git, else of the folder itself. Looks at the disk when it is asked, not before.
class SourceTree {
 public:
  explicit SourceTree(const std::filesystem::path& folder);

  // `path`, from the folder that this was made for, is what its name stands for.
  void prefer(const std::filesystem::path& path);

  // `file` as a URI, relative to the repository where it is in it. A name without folders stands
  // for the preferred file of that name, else for the only one in the repository, else for itself.
  // Folders whose name begins with a dot or with "build" are not searched.
  std::string uri_of(std::string_view file);

 private:
  void index();
  std::string relative_uri(const std::filesystem::path& path) const;

  std::filesystem::path folder_;
  std::filesystem::path root_;
  std::map<std::string, std::filesystem::path, std::less<>> preferred_;  // by name
  std::optional<std::map<std::string, std::filesystem::path, std::less<>>>
      files_;  // empty: several
};

}  // namespace gang::harness
