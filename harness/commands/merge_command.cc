#include <algorithm>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/run/run_file.h"
#include "harness/run/shard.h"
#include "harness/text/output_file.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;

struct ShardFile {
  std::string path;
  json content;
  Shard shard;
};

class MergeCommand final : public Command {
 public:
  explicit MergeCommand(std::vector<ShardFormat> formats) : formats_(std::move(formats)) {}

  std::string name() const override { return "merge"; }
  std::string description() const override { return "joins what the shards of one run wrote"; }
  std::vector<std::string> examples() const override {
    return {"explore ring --shard 0/2 --json shards/0.json",
            "explore ring --shard 1/2 --json shards/1.json", "merge shards/",
            "merge shards/*.json --json all.json --junit all.xml"};
  }

  std::string notes() const override {
    return "All shards must be there once, of one program, seed and version. The verdict, the "
           "coverage and the exit status are those of the same run by one process.";
  }

  std::vector<Option> options() override {
    Option files = list_option(
        "FILE", "", "what " + commands() + " --json wrote, of every shard; or a folder of them",
        paths_);
    files.is_required = true;
    return {std::move(files), json_.option("the same as one file"),
            junit_.option("the verdict as JUnit XML"),
            sarif_.option("the failures as SARIF, for code review"),
            flag_option("--quiet", "print nothing if all is well", quiet_)};
  }

  int run(CommandContext& context) override {
    std::vector<ShardFile> files;
    for (const std::string& path : paths_) read(path, files);
    const ShardFormat& format = format_of(files.front());
    check_same(files, format);
    put_in_order(files);
    json_.open();
    junit_.open();
    sarif_.open();
    std::vector<json> shards;
    for (ShardFile& file : files) shards.push_back(std::move(file.content));
    const MergedShards whole = format.merge(shards, context.binary);
    if (!whole.holds || !quiet_)
      context.out << fmt::format("Merged {} shard{} of {}\n", shards.size(),
                                 shards.size() == 1 ? "" : "s", format.command)
                  << whole.text << std::flush;
    json_.write([&whole] { return whole.json; });
    junit_.write([&] { return to_junit_xml("gangsim merge", whole.junit); });
    sarif_.write([&whole] { return to_sarif_text("gangsim merge", whole.sarif); });
    return whole.holds ? exit_status::holds : exit_status::finding;
  }

 private:
  // "explore, compare --random or check".
  std::string commands() const {
    std::string text;
    for (std::size_t i = 0; i < formats_.size(); ++i)
      text += (i == 0 ? "" : i + 1 == formats_.size() ? " or " : ", ") + formats_[i].command;
    return text;
  }

  const ShardFormat* find_format(const json& content) const {
    const auto found = std::ranges::find_if(formats_, [&content](const ShardFormat& format) {
      return content.is_object() && content.value("format", json{}) == format.name;
    });
    return found == formats_.end() ? nullptr : &*found;
  }

  const ShardFormat& format_of(const ShardFile& file) const { return *find_format(file.content); }

  // Other JSON in a folder is not meant.
  void read(const std::string& path, std::vector<ShardFile>& files) const {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(read_shard(path));
      return;
    }
    const std::size_t before = files.size();
    for (const std::filesystem::path& file : json_files_of(path)) {
      const json content = json::parse(read_file("shard", file.string()), nullptr, false);
      if (content.is_discarded() || find_format(content) != nullptr)
        files.push_back(read_shard(file.string()));
    }
    if (files.size() == before)
      throw InvalidArgument(
          fmt::format("folder {} has no shard; {} --json writes one", path, commands()));
  }

  ShardFile read_shard(const std::string& path) const {
    const std::string text = read_file("shard", path);
    try {
      ShardFile file{.path = path, .content = parse_json(text), .shard = {}};
      const ShardFormat* const format = find_format(file.content);
      if (format == nullptr)
        throw InvalidArgument("is not a shard; " + commands() + " --json writes one");
      const auto version = sim::field<int>(file.content, "version");
      if (version != format->version)
        throw InvalidArgument(
            fmt::format("field version is {}; must be {}", version, format->version));
      file.shard = shard_from_json(sim::object_field(file.content, "shard"));
      return file;
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("shard {}: {}", path, error.what()));
    }
  }

  void check_same(const std::vector<ShardFile>& files, const ShardFormat& format) const {
    std::vector<std::string> fields = {"format", "gangsim"};
    fields.insert(fields.end(), format.same.begin(), format.same.end());
    const ShardFile& first = files.front();
    for (const ShardFile& file : files) {
      for (const std::string& field : fields) {
        const json ours = first.content.value(field, json{});
        const json theirs = file.content.value(field, json{});
        if (ours == theirs) continue;
        throw InvalidArgument(fmt::format("{} and {} are not shards of one run: {} is {} and {}",
                                          first.path, file.path, field, excerpt(ours),
                                          excerpt(theirs)));
      }
      if (file.shard.count != first.shard.count)
        throw InvalidArgument(fmt::format("{} is shard {}, but {} is shard {}", first.path,
                                          to_string(first.shard), file.path,
                                          to_string(file.shard)));
    }
  }

  static std::string excerpt(const json& value) {
    constexpr std::size_t most = 60;
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    return text.size() <= most ? text : text.substr(0, most) + "...";
  }

  // Every shard once.
  static void put_in_order(std::vector<ShardFile>& files) {
    std::ranges::stable_sort(files, {}, [](const ShardFile& file) { return file.shard.index; });
    const auto twice = std::ranges::adjacent_find(
        files, {}, [](const ShardFile& file) { return file.shard.index; });
    if (twice != files.end())
      throw InvalidArgument(fmt::format("{} and {} are both shard {}", twice->path,
                                        std::next(twice)->path, to_string(twice->shard)));
    std::string missing;
    std::uint64_t expected = 0;
    const std::uint64_t count = files.front().shard.count;
    for (std::size_t i = 0; i <= files.size(); ++i) {
      const std::uint64_t next = i < files.size() ? files[i].shard.index : count;
      if (next > expected)
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ",
                               next == expected + 1 ? fmt::format("{}", expected)
                                                    : fmt::format("{}-{}", expected, next - 1));
      expected = next + 1;
    }
    if (!missing.empty())
      throw InvalidArgument(
          fmt::format("of {} shards, {} {} missing", count, missing,
                      missing.find_first_of(",-") == std::string::npos ? "is" : "are"));
  }

  std::vector<ShardFormat> formats_;
  std::vector<std::string> paths_;
  FileOption json_{"--json"};
  FileOption junit_{"--junit"};
  FileOption sarif_{"--sarif"};
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_merge_command(std::vector<ShardFormat> formats) {
  return std::make_unique<MergeCommand>(std::move(formats));
}

}  // namespace gang::harness
