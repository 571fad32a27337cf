#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/backends/backend.h"
#include "harness/commands/commands.h"
#include "harness/text/suggestion.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

constexpr std::size_t description_column = 24;
constexpr std::size_t parameter_column = 20;

std::string parameter_text(const Parameter& parameter) {
  return sim::described(
      "  " + parameter.name,
      fmt::format("{}: {} [{}]", parameter.description, describe_accepted(parameter),
                  to_string(parameter.default_value)),
      parameter_column);
}

std::string program_text(const Program& program) {
  std::string text = sim::described(program.name, program.description, description_column);
  for (const Parameter& parameter : program.parameters) text += parameter_text(parameter);
  return text;
}

// "  missing_rank         participant_missing       a rank stops a step early"
std::string faulty_text(const Program& program) {
  return fmt::format("  {:<20} {:<25} {}\n", program.name, program.finding, program.description);
}

class ListCommand final : public Command {
 public:
  std::string name() const override { return "list"; }
  std::string description() const override {
    return "lists programs, backends, schedules and so on";
  }
  std::vector<std::string> examples() const override {
    return {"list", "list programs", "list faulty"};
  }

  std::vector<Option> options() override {
    return {text_option("WHAT", "", "programs, faulty, backends, ... [all of it]", what_)};
  }

  int run(CommandContext& context) override {
    std::vector<std::string> names = {"programs", "faulty"};
    for (const Listing& listing : context.listings) names.push_back(listing.name);
    if (!what_.empty() && std::ranges::find(names, what_) == names.end())
      throw InvalidArgument(unknown_name(what_, names));
    if (is_wanted("programs")) list_programs(context);
    if (is_wanted("faulty")) list_faulty(context);
    for (const Listing& listing : context.listings)
      if (is_wanted(listing.name)) print(listing, context.out);
    return exit_status::holds;
  }

 private:
  bool is_wanted(const std::string& listing) const { return what_.empty() || what_ == listing; }

  static void list_programs(CommandContext& context) {
    context.out << "programs\n";
    for (const Program& program : context.programs)
      if (program.finding.empty()) context.out << program_text(program);
  }

  // Programs that are wrong on purpose, and the finding that each gives.
  static void list_faulty(CommandContext& context) {
    std::string lines;
    for (const Program& program : context.programs)
      if (!program.finding.empty()) lines += faulty_text(program);
    context.out << "faulty (with --set fixed=true each is correct)\n"
                << (lines.empty() ? "  none\n" : lines);
  }

  static void print(const Listing& listing, std::ostream& out) {
    out << listing.name << '\n';
    const std::vector<Listing::Entry> entries = listing.entries();
    if (entries.empty()) out << "  none\n";
    for (const Listing::Entry& entry : entries)
      out << sim::described(entry.name, entry.description, description_column);
  }

  std::string what_;
};

std::vector<Listing::Entry> backend_entries() {
  std::vector<Listing::Entry> entries;
  for (const Backend& backend : all_backends())
    entries.push_back(
        {std::string(to_string(backend.kind)),
         backend.is_available() ? backend.description : "unavailable: " + backend.unavailable});
  return entries;
}

Listing fixed_listing(std::string name, std::vector<Listing::Entry> entries) {
  return {std::move(name), [entries = std::move(entries)] { return entries; }};
}

}  // namespace

std::unique_ptr<Command> make_list_command() { return std::make_unique<ListCommand>(); }

std::vector<Listing> make_standard_listings() {
  std::vector<Listing> listings;
  listings.push_back({"backends", backend_entries});
  listings.push_back(fixed_listing(
      "contexts", {{"fiber", "all ranks on one thread, a stack each: a million ranks in a process"},
                   {"thread", "a thread per rank, one at a time: for debuggers and sanitizers"},
                   {"parallel", "a thread per rank, all at the same time: for data races"}}));
  listings.push_back(fixed_listing(
      "schedules",
      {{"round_robin", "ranks in order; a rank runs until it blocks"},
       {"random", "any runnable rank, at every call"},
       {"recheck",
        "random, twice: differences that the schedule does not explain are a finding"}}));
  listings.push_back(fixed_listing(
      "executions",
      {{"independent", "each gang on its own, as with Gloo"},
       {"stream_ordered", "in the order in which a rank launched them, as with NCCL"}}));
  listings.push_back(fixed_listing(
      "faults", {{"none", "nothing goes wrong"},
                 {"one_crash", "one rank that dies anywhere; explore tries every place"},
                 {"light", "one rank that dies, with its peers notified, fails or is slow"},
                 {"swarm", "about three faults, from a random half of the kinds"},
                 {"production", "about one fault, in the proportions of a large training job"},
                 {"byzantine", "silently corrupted data"}}));
  return listings;
}

}  // namespace gang::harness
