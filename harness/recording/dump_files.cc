#include "harness/recording/dump_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "harness/recording/dump_error.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator place(folder, error), end; !error && place != end;
       place.increment(error))
    if (place->is_regular_file()) files.push_back(place->path().string());
  if (error)
    throw InvalidArgument(fmt::format("folder {}: cannot read: {}", folder, error.message()));
  std::ranges::sort(files);
  return files;
}

std::string beginning_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(4096, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// JSON is also a form of much else.
bool may_be_dump(const std::string& beginning) {
  if (!looks_like_dump(beginning)) return false;
  const auto has = [&beginning](std::string_view key) {
    return beginning.find(key) != std::string::npos;
  };
  return beginning.front() == '\x80' || has("\"entries\"") || has("\"pg_config\"");
}

// The last number in the name of a file: "nccl_trace_rank_3", "rank_3.json".
std::optional<int> rank_in(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const std::size_t last = name.find_last_of("0123456789");
  if (last == std::string::npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of("0123456789", last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  int rank = 0;
  const auto [stop, error] = std::from_chars(name.data() + first, name.data() + last + 1, rank);
  const bool is_rank = error == std::errc{} && rank < most_recorded_ranks;
  return is_rank ? std::optional(rank) : std::nullopt;
}

std::string bytes_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (!error && size > most_dump_bytes)
    throw InvalidArgument(
        fmt::format("dump {} has {} bytes; must be at most {}", path, size, most_dump_bytes));
  return read_file("dump", path);
}

class FilesReader {
 public:
  void read(const std::string& path) {
    try {
      Dump dump = read_dump(bytes_of(path), calls_);
      const std::optional<int> rank = dump.rank ? dump.rank : rank_in(path);
      if (!rank) throw InvalidArgument("its name does not end in its rank, as in 'rank_3'");
      dumps_.push_back({path, *rank, std::move(dump)});
    } catch (const CutOffDump& error) {
      cut_off_.push_back(
          fmt::format("dump {}: {}", fs::path(path).filename().string(), error.what()));
      first_cut_off_ =
          first_cut_off_.empty() ? fmt::format("dump {}: {}", path, error.what()) : first_cut_off_;
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("dump {}: {}", path, error.what()));
    }
  }

  Recording take(const std::string& place) {
    if (dumps_.empty() && !cut_off_.empty()) throw InvalidArgument(first_cut_off_);
    if (dumps_.empty())
      throw InvalidArgument(fmt::format("{} has no dump of a Flight Recorder", place));
    return join_dumps(std::move(dumps_), std::move(calls_), cut_off_);
  }

 private:
  CallTable calls_;
  std::vector<NamedDump> dumps_;
  std::vector<std::string> cut_off_;
  std::string first_cut_off_;
};

}  // namespace

bool has_dumps(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return fs::is_regular_file(path, error) && may_be_dump(beginning_of(path));
  const std::vector<std::string> files = files_of(path);
  return std::ranges::any_of(
      files, [](const std::string& file) { return may_be_dump(beginning_of(file)); });
}

std::string name_of_dumps(const std::vector<std::string>& paths) {
  if (paths.size() > 1) return fmt::format("{} dumps", paths.size());
  const fs::path path = fs::path(paths.front()).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

Recording read_recording(const std::vector<std::string>& paths) {
  FilesReader reader;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      reader.read(path);
      continue;
    }
    for (const std::string& file : files_of(path))
      if (may_be_dump(beginning_of(file))) reader.read(file);
  }
  return reader.take(paths.size() == 1 ? paths.front() : "the list");
}

}  // namespace gang::harness
