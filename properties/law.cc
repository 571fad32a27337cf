#include "properties/law.h"

#include <chrono>
#include <exception>

#include <fmt/format.h>
#include <rapidcheck/Check.h>
#include <rapidcheck/Gen.h>
#include <rapidcheck/shrinkable/Create.h>
#include <rapidcheck/shrinkable/Transform.h>

#include "gang/error.h"
#include "properties/reproduce_token.h"

namespace gang::properties {
namespace {

using rc::detail::CaseDescription;
using rc::detail::CaseResult;
using SteadyClock = std::chrono::steady_clock;

// The state of one check, which the closures that RapidCheck calls share.
struct Search {
  const ErasedLaw& law;
  const Settings& settings;
  std::vector<ErasedLaw::Case> enumerated;
  SteadyClock::time_point begin = SteadyClock::now();
  SteadyClock::time_point deadline = SteadyClock::time_point::max();
  int max_world = 1;
  std::uint64_t generated = 0;
  std::uint64_t checked = 0;
  std::uint64_t discarded = 0;
  bool is_replay = false;
  std::string found_in;                    // the first line of the failing case, before shrinking
  std::string found_message;               // what was wrong with it
  std::string shrunk_message;              // the same of the last case that failed
  std::shared_ptr<const sim::Report> run;  // of the last case that failed: the most shrunk one
  std::uint64_t failing_case = 0;

  bool is_over() const { return !is_replay && SteadyClock::now() >= deadline; }
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Verdict judge(const ErasedLaw& law, const ErasedLaw::Case& one) {
  try {
    return law.verdict(one);
  } catch (const std::exception& error) {
    return Verdict::violated(fmt::format("the check threw an exception: {}", error.what()));
  }
}

CaseResult to_case_result(const Verdict& verdict) {
  if (!verdict.is_applicable()) return CaseResult(CaseResult::Type::Discard, "not applicable");
  if (verdict.is_violated()) return CaseResult(CaseResult::Type::Failure, verdict.message());
  return CaseResult(CaseResult::Type::Success);
}

// Called for every generated case and for every shrink that is tried.
CaseDescription describe(Search& search, const ErasedLaw::Case& one) {
  CaseDescription description;
  description.example = [&search, one] {
    return rc::detail::Example{{"case", search.law.to_text(one)}};
  };
  if (search.is_over()) {
    // RapidCheck asks once more of the case that it has shrunk to, for what it tells of it.
    description.result =
        CaseResult(CaseResult::Type::Success,
                   search.failing_case == 0 ? "out of time" : search.shrunk_message);
    return description;
  }
  const Verdict verdict = judge(search.law, one);
  description.result = to_case_result(verdict);
  if (verdict.is_violated()) {
    search.run = verdict.run();
    search.shrunk_message = verdict.message();
  }
  const bool is_shrink = search.failing_case != 0;
  if (!is_shrink) {
    ++(verdict.is_applicable() ? search.checked : search.discarded);
    if (verdict.is_violated()) {
      search.failing_case = search.generated;
      search.found_in = first_line(search.law.to_text(one));
      search.found_message = verdict.message();
      search.deadline = SteadyClock::now() + search.settings.shrink_budget;
    }
  }
  return description;
}

[[noreturn]] void reject_foreign_token() {
  throw InvalidArgument("the reproduce token belongs to another property or version");
}

ErasedLaw::Case generate_case(Search& search, const rc::Random& random, int size) {
  if (search.law.enumerate) {
    if (static_cast<std::size_t>(size) >= search.enumerated.size()) reject_foreign_token();
    return search.enumerated[static_cast<std::size_t>(size)];
  }
  rc::Random number = random;
  sim::RandomStream stream(number.next(), search.law.name);
  Draw draw{stream, size, search.max_world};
  return search.law.generate(draw);
}

rc::detail::Property make_rapidcheck_property(Search& search) {
  return rc::Gen<CaseDescription>([&search](const rc::Random& random, int size) {
    ++search.generated;
    if (search.is_over()) {
      CaseDescription skipped;
      skipped.result = CaseResult(CaseResult::Type::Success, "out of time");
      return rc::shrinkable::just(std::move(skipped));
    }
    if (search.settings.progress) search.settings.progress(search.checked);
    return rc::shrinkable::map(
        rc::shrinkable::shrinkRecur(generate_case(search, random, size),
                                    [&search](const ErasedLaw::Case& one) {
                                      return rc::seq::fromContainer(search.law.shrinks(one));
                                    }),
        [&search](ErasedLaw::Case&& one) { return describe(search, one); });
  });
}

struct SilentListener : rc::detail::TestListener {
  void onTestCaseFinished(const CaseDescription&) override {}
  void onShrinkTried(const CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

rc::detail::TestParams make_params(const Search& search) {
  rc::detail::TestParams params;
  params.seed = search.settings.seed;
  if (search.law.enumerate) {  // RapidCheck's sizes then count through the cases.
    params.maxSuccess = static_cast<int>(search.enumerated.size());
    params.maxSize = params.maxSuccess - 1;
  } else {
    params.maxSuccess =
        static_cast<int>(std::max<std::uint64_t>(1, search.settings.cases / search.law.cost));
  }
  return params;
}

// RapidCheck splits the random numbers of each case off those of the seed.
rc::detail::Reproduce to_reproduce(const ReproduceToken& token) {
  rc::Random root(token.seed);
  rc::Random random = root.split();
  for (std::uint64_t number = 1; number < token.case_number; ++number) random = root.split();
  return {random, token.size, token.shrink_path};
}

Counterexample to_counterexample(const Search& search, const rc::detail::FailureResult& failure,
                                 std::uint64_t case_number) {
  Counterexample found;
  found.text = failure.counterExample.empty() ? "" : failure.counterExample.front().second;
  found.message = failure.description;
  if (found.message.empty()) {  // RapidCheck judged the case again, and it held.
    found.message =
        search.found_message + "\nChecked again, the case held: it is not deterministic.";
  }
  found.run = search.run;
  found.found_in = search.found_in;
  found.case_number = case_number;
  found.shrink_steps = failure.reproduce.shrinkPath.size();
  found.reproduce = to_string(ReproduceToken{.seed = search.settings.seed,
                                             .case_number = case_number,
                                             .size = failure.reproduce.size,
                                             .max_world = search.max_world,
                                             .shrink_path = failure.reproduce.shrinkPath});
  return found;
}

void read_result(const Search& search, const rc::detail::TestResult& result,
                 std::uint64_t case_number, CheckResult& checked) {
  rc::detail::FailureResult failure;
  rc::detail::GaveUpResult gave_up;
  rc::detail::Error error;
  if (result.match(failure)) {
    checked.counterexample = to_counterexample(search, failure, case_number);
  } else if (result.match(gave_up)) {
    checked.gave_up = gave_up.description;
  } else if (result.match(error)) {
    if (!search.is_replay) {
      checked.gave_up = error.description;
    } else if (search.checked + search.discarded == 0) {  // the path leads to no case
      reject_foreign_token();
    }
  }
}

}  // namespace

CheckResult check(const ErasedLaw& law, const Settings& given) {
  Settings settings = given;
  std::uint64_t case_number = 0;
  std::unordered_map<std::string, rc::detail::Reproduce> reproduce;
  const rc::detail::TestMetadata metadata{law.suite + "." + law.name, law.description};
  if (settings.reproduce) {
    const ReproduceToken token = parse_reproduce_token(*settings.reproduce);
    settings.seed = token.seed;
    settings.max_world = token.max_world;
    case_number = token.case_number;
    reproduce.emplace(metadata.id, to_reproduce(token));
  }
  Search search{.law = law, .settings = settings, .enumerated = {}, .found_in = {}};
  search.max_world = settings.max_world;
  search.is_replay = !reproduce.empty();
  if (settings.time_budget) search.deadline = search.begin + *settings.time_budget;
  if (law.enumerate) search.enumerated = law.enumerate(settings.max_world);

  SilentListener listener;
  const rc::detail::TestParams params = make_params(search);
  const rc::detail::TestResult result = rc::detail::checkProperty(
      make_rapidcheck_property(search), metadata, params, listener, reproduce);

  CheckResult checked;
  read_result(search, result, search.is_replay ? case_number : search.failing_case, checked);
  checked.cases = search.checked;
  checked.planned_cases = search.is_replay ? 1 : static_cast<std::uint64_t>(params.maxSuccess);
  checked.discards = search.discarded;
  checked.time = SteadyClock::now() - search.begin;
  return checked;
}

Property to_property(ErasedLaw law) {
  Property property;
  property.suite = law.suite;
  property.name = law.name;
  property.description = law.description;
  property.check = [law = std::move(law)](const Settings& settings) {
    return check(law, settings);
  };
  return property;
}

}  // namespace gang::properties
