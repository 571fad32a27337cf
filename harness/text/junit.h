// Verdicts as JUnit XML, as Jenkins, GitLab and GitHub read it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"

namespace gang::harness {

struct JunitCase {
  struct Failure {
    std::string message;  // one sentence
    std::string text = {};
  };
  std::string class_name;
  std::string name;
  Duration time{0};
  std::optional<Failure> failure = {};
};

struct JunitSuite {
  std::string name;
  std::vector<JunitCase> cases = {};
};

// The suites as one document called `name`, with their numbers and times. Characters that XML 1.0
// lacks are left out.
std::string to_junit_xml(std::string_view name, const std::vector<JunitSuite>& suites);

}  // namespace gang::harness
