// A law over generated or enumerated cases, and how it becomes a property.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "properties/property.h"
#include "sim/schedule/random_stream.h"

namespace gang::properties {

// A law's verdict on one case.
class Verdict {
 public:
  static Verdict holds() { return Verdict(Kind::holds, {}); }
  static Verdict violated(std::string message) { return {Kind::violated, std::move(message)}; }
  // Violated by `problem`; holds if it is empty.
  static Verdict holds_unless(std::string problem) {
    return problem.empty() ? holds() : violated(std::move(problem));
  }
  // The law says nothing about this case.
  static Verdict not_applicable() { return Verdict(Kind::not_applicable, {}); }

  bool is_violated() const noexcept { return kind_ == Kind::violated; }
  bool is_applicable() const noexcept { return kind_ != Kind::not_applicable; }
  const std::string& message() const noexcept { return message_; }

  // The same verdict; a violation keeps the run that shows it.
  Verdict shown_by(const sim::Report& run) && {
    if (is_violated()) run_ = std::make_shared<const sim::Report>(run);
    return std::move(*this);
  }
  const std::shared_ptr<const sim::Report>& run() const noexcept { return run_; }  // or null

 private:
  enum class Kind : std::uint8_t { holds, violated, not_applicable };
  Verdict(Kind kind, std::string message) : message_(std::move(message)), kind_(kind) {}

  std::string message_;
  std::shared_ptr<const sim::Report> run_;
  Kind kind_;
};

// What a generator draws from. Equal draws give equal cases.
struct Draw {
  sim::RandomStream& random;
  int size = 0;  // 0 ... 100: grows during a check, so that early cases are small
  int max_world = 1;

  // Uniform in [first, last].
  int between(int first, int last) {
    const auto width = static_cast<std::uint64_t>(std::int64_t{last} - first);
    return static_cast<int>(first + static_cast<std::int64_t>(random.below(width + 1)));
  }
  bool one_in(int count) { return random.below(static_cast<std::uint64_t>(count)) == 0; }
  template <typename Range>
  auto any_of(const Range& range) {
    return range[random.below(std::size(range))];
  }
  // A number of ranks from `fewest` up to what `size` and `max_world` allow.
  int world(int fewest = 1) {
    return between(fewest, std::max(fewest, fewest + (max_world - fewest) * size / 100));
  }
};

// A law over cases of type Case, for which argument-dependent lookup finds
//   std::string to_text(const Case&)         the case in lines; the first line sums it up
//   std::vector<Case> shrinks(const Case&)   simpler variants, the simplest first; never the case
//                                            itself
template <typename Case>
struct Law {
  std::string suite;
  std::string name;
  std::string description;
  std::uint64_t cost = 1;  // runs Settings::cases / cost cases
  std::function<Case(Draw&)> generate = {};
  // Instead of `generate`: every case of a small space, never empty.
  std::function<std::vector<Case>(int max_world)> enumerate = {};
  std::function<Verdict(const Case&)> verdict;  // an exception is a violation
};

// A row in the table of a suite whose laws judge the same type of case.
template <typename Judge>
struct LawRow {
  const char* name;
  const char* description;
  Judge judge;
  std::uint64_t cost = 1;
};

// A law with its case type erased.
struct ErasedLaw {
  using Case = std::shared_ptr<const void>;

  std::string suite;
  std::string name;
  std::string description;
  std::uint64_t cost = 1;
  std::function<Case(Draw&)> generate;                        // empty if enumerated
  std::function<std::vector<Case>(int max_world)> enumerate;  // empty if generated
  std::function<Verdict(const Case&)> verdict;
  std::function<std::vector<Case>(const Case&)> shrinks;
  std::function<std::string(const Case&)> to_text;
};

// Searches with RapidCheck: its seeds, sizes, shrinking and reproduction.
// Source: K. Claessen and J. Hughes, "QuickCheck", ICFP 2000; rapidcheck's documentation.
CheckResult check(const ErasedLaw& law, const Settings& settings);

Property to_property(ErasedLaw law);

namespace detail {

template <typename Case>
const Case& get(const ErasedLaw::Case& erased) {
  return *static_cast<const Case*>(erased.get());
}

template <typename Case>
std::vector<ErasedLaw::Case> erase_all(std::vector<Case> cases) {
  std::vector<ErasedLaw::Case> erased;
  erased.reserve(cases.size());
  for (Case& one : cases) erased.push_back(std::make_shared<const Case>(std::move(one)));
  return erased;
}

}  // namespace detail

template <typename Case>
Property to_property(const Law<Case>& law) {
  ErasedLaw erased{
      .suite = law.suite, .name = law.name, .description = law.description, .cost = law.cost};
  if (law.generate)
    erased.generate = [generate = law.generate](Draw& draw) -> ErasedLaw::Case {
      return std::make_shared<const Case>(generate(draw));
    };
  if (law.enumerate)
    erased.enumerate = [enumerate = law.enumerate](int max_world) {
      return detail::erase_all(enumerate(max_world));
    };
  erased.verdict = [verdict = law.verdict](const ErasedLaw::Case& one) {
    return verdict(detail::get<Case>(one));
  };
  erased.shrinks = [](const ErasedLaw::Case& one) {
    return detail::erase_all(shrinks(detail::get<Case>(one)));
  };
  erased.to_text = [](const ErasedLaw::Case& one) { return to_text(detail::get<Case>(one)); };
  return to_property(std::move(erased));
}

// The properties of a table of laws over the cases of `law`; `apply(judge, case)` judges a case.
template <typename Case, typename Judge, std::size_t count, typename Apply>
std::vector<Property> laws_of(const LawRow<Judge> (&rows)[count], Law<Case> law,
                              const Apply& apply) {
  std::vector<Property> properties;
  for (const LawRow<Judge>& row : rows) {
    law.name = row.name;
    law.description = row.description;
    law.cost = row.cost;
    law.verdict = [judge = row.judge, apply](const Case& one) { return apply(judge, one); };
    properties.push_back(to_property(law));
  }
  return properties;
}

}  // namespace gang::properties
