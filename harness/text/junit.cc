#include "harness/text/junit.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/text/markup.h"

namespace gang::harness {
namespace {

std::string to_xml(const JunitCase& one) {
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.6f}\"",
                  xml_escaped(one.class_name), xml_escaped(one.name), to_seconds(one.time));
  if (!one.failure) return head + "/>\n";
  return fmt::format("{}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n", head,
                     xml_escaped(one.failure->message), xml_escaped(one.failure->text));
}

}  // namespace

std::string to_junit_xml(std::string_view name, const std::vector<JunitSuite>& suites) {
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\">\n", xml_escaped(name));
  for (const JunitSuite& suite : suites) {
    std::string cases;
    Duration time{0};
    for (const JunitCase& one : suite.cases) {
      cases += to_xml(one);
      time += one.time;
    }
    const auto failures = std::ranges::count_if(
        suite.cases, [](const JunitCase& one) { return one.failure.has_value(); });
    xml += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" time=\"{:.6f}\">\n{}  "
        "</testsuite>\n",
        xml_escaped(suite.name), suite.cases.size(), failures, to_seconds(time), cases);
  }
  return xml + "</testsuites>\n";
}

}  // namespace gang::harness
