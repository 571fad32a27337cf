#include "harness/text/source_tree.h"

#include <system_error>

#include <fmt/format.h>

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_entries = 200'000;  // of a repository that are searched

fs::path repository_of(const fs::path& folder) {
  std::error_code error;
  for (fs::path above = folder;; above = above.parent_path()) {
    if (fs::exists(above / ".git", error)) return above;
    if (above == above.root_path() || above.empty()) return folder;
  }
}

bool is_searched(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return !name.starts_with('.') && !name.starts_with("build");
}

// RFC 3986: what a path in a URI may hold; everything else is escaped.
std::string to_uri(std::string_view path) {
  constexpr std::string_view marks = "/-._~!$&'()*+,;=@";
  std::string uri;
  for (const char one : path) {
    const bool is_plain = (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') ||
                          (one >= '0' && one <= '9') || marks.find(one) != std::string_view::npos;
    if (is_plain)
      uri += one;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(one));
  }
  return uri;
}

}  // namespace

SourceTree::SourceTree(const fs::path& folder)
    : folder_(fs::weakly_canonical(folder)), root_(repository_of(folder_)) {}

void SourceTree::prefer(const fs::path& path) {
  preferred_.insert_or_assign(path.filename().string(), path);
}

void SourceTree::index() {
  files_.emplace();
  std::error_code error;
  fs::recursive_directory_iterator place(root_, fs::directory_options::skip_permission_denied,
                                         error);
  std::size_t entries = 0;
  for (; !error && place != fs::recursive_directory_iterator() && entries < most_entries;
       place.increment(error)) {
    ++entries;
    std::error_code unreadable;
    if (place->is_directory(unreadable)) {
      if (!is_searched(place->path())) place.disable_recursion_pending();
      continue;
    }
    const auto [known, is_new] =
        files_->try_emplace(place->path().filename().string(), place->path());
    if (!is_new) known->second.clear();
  }
}

std::string SourceTree::relative_uri(const fs::path& path) const {
  const fs::path whole = fs::weakly_canonical(folder_ / path);
  const fs::path relative = whole.lexically_relative(root_);
  if (relative.empty() || *relative.begin() == "..") return "file://" + to_uri(whole.string());
  return to_uri(relative.generic_string());
}

std::string SourceTree::uri_of(std::string_view file) {
  const fs::path path{file};
  if (path.has_parent_path()) {
    std::error_code error;
    const bool is_there = path.is_absolute() || fs::exists(folder_ / path, error);
    return is_there ? relative_uri(path) : to_uri(path.generic_string());
  }
  if (const auto known = preferred_.find(file); known != preferred_.end())
    return relative_uri(known->second);
  if (!files_) index();
  const auto found = files_->find(file);
  if (found == files_->end() || found->second.empty()) return to_uri(file);
  return relative_uri(found->second);
}

}  // namespace gang::harness
