// Wrong calls raise the same error on every backend and leave the gang as it was.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/fake_gang_agrees.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// The class of error that a call must end with.
enum class ErrorClass : std::uint8_t {
  none,
  invalid_argument,
  invalid_operation,
  not_supported,
  other
};

// A call that is wrong whatever the gang's size.
struct WrongCall {
  std::string name;
  ErrorClass expected = ErrorClass::invalid_argument;
  std::function<void(Gang&)> call;
};

// Every way in which a call can be wrong.
std::vector<WrongCall> all_wrong_calls();

std::vector<Property> invalid_arguments_stay_local(
    const FakeGangFactory& make_fake = make_fake_gang, const Subject& subject = {},
    const std::vector<WrongCall>& calls = all_wrong_calls());

}  // namespace gang::properties
