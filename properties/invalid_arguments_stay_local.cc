#include "properties/invalid_arguments_stay_local.h"

#include <fmt/format.h>

#include "properties/law.h"
#include "properties/rank_check.h"

namespace gang::properties {
namespace {

std::string_view to_text(ErrorClass error) {
  constexpr std::string_view names[] = {"no error", "InvalidArgument", "InvalidOperation",
                                        "NotSupported", "another error"};
  return names[static_cast<std::size_t>(error)];
}

ErrorClass error_of(const WrongCall& wrong, Gang& gang) {
  try {
    wrong.call(gang);
    return ErrorClass::none;
  } catch (const InvalidArgument&) {
    return ErrorClass::invalid_argument;
  } catch (const InvalidOperation&) {
    return ErrorClass::invalid_operation;
  } catch (const NotSupported&) {
    return ErrorClass::not_supported;
  } catch (const Error&) {
    return ErrorClass::other;
  }
}

struct WrongCallCase {
  WrongCall wrong;
  int world = 1;
};

std::string to_text(const WrongCallCase& one) {
  return fmt::format("world {}, {}", one.world, one.wrong.name);
}

std::vector<WrongCallCase> shrinks(const WrongCallCase& one) {
  std::vector<WrongCallCase> simpler;
  for (int world = 1; world < one.world; ++world) simpler.push_back({one.wrong, world});
  return simpler;
}

std::string check_error(const WrongCall& wrong, Gang& gang) {
  const ErrorClass error = error_of(wrong, gang);
  if (error == wrong.expected) return {};
  return fmt::format("{} gives {} on {}, expected {}", wrong.name, to_text(error),
                     gang.info().backend, to_text(wrong.expected));
}

// The gang still reduces, unless the error was that the gang is closed.
std::string check_usable(const WrongCall& wrong, Gang& gang) {
  if (wrong.expected == ErrorClass::invalid_operation) return {};
  std::int32_t one = 1;
  gang.all_reduce(view_of(one), ReduceOperation::sum);
  return one == gang.size() ? "" : "the gang gives a wrong sum afterwards";
}

std::string check_call(const WrongCall& wrong, Gang& gang) {
  std::string complaint = check_error(wrong, gang);
  return complaint.empty() ? check_usable(wrong, gang) : complaint;
}

Verdict judge_everywhere(const WrongCallCase& one, const FakeGangFactory& make_fake,
                         const Subject& subject) {
  for (int rank = 0; rank < one.world; ++rank) {
    const auto fake = make_fake({.rank = rank, .size = one.world});
    if (std::string complaint = check_call(one.wrong, *fake); !complaint.empty())
      return Verdict::violated(std::move(complaint));
  }
  return judge_ranks({.world_size = one.world}, subject, [&](sim::SimulatedRank& rank) {
    return check_call(one.wrong, *subject.wrapped(rank.root()));
  });
}

// Only one rank's call is wrong: it alone gets an error, and the others do not notice.
Verdict judge_alone(const WrongCallCase& one, const Subject& subject) {
  return judge_ranks({.world_size = one.world}, subject, [&](sim::SimulatedRank& rank) {
    const auto gang = subject.wrapped(rank.root());
    const bool is_wrong = rank.rank() == one.world - 1;
    if (is_wrong) {
      if (std::string complaint = check_error(one.wrong, *gang); !complaint.empty())
        return complaint;
    }
    return check_usable(one.wrong, *gang);
  });
}

}  // namespace

std::vector<Property> invalid_arguments_stay_local(const FakeGangFactory& make_fake,
                                                   const Subject& subject,
                                                   const std::vector<WrongCall>& calls) {
  const auto enumerate = [calls](int max_world) {
    std::vector<WrongCallCase> cases;
    for (int world = 1; world <= std::min(max_world, 4); ++world)
      for (const WrongCall& wrong : calls) cases.push_back({wrong, world});
    return cases;
  };
  return {
      to_property(Law<WrongCallCase>{
          .suite = "invalid_arguments_stay_local",
          .name = "every_backend_raises_one_error",
          .description = "A wrong call gives one class of error on fake and simulated gangs, which "
                         "stay usable.",
          .enumerate = enumerate,
          .verdict =
              [make_fake, subject](const WrongCallCase& one) {
                return judge_everywhere(one, make_fake, subject);
              }}),
      to_property(Law<WrongCallCase>{
          .suite = "invalid_arguments_stay_local",
          .name = "nothing_is_sent",
          .description =
              "A rank whose call is wrong takes part in the next operation as if nothing happened.",
          .enumerate = enumerate,
          .verdict = [subject](const WrongCallCase& one) { return judge_alone(one, subject); }})};
}

}  // namespace gang::properties
