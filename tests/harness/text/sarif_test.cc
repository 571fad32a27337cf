#include "harness/text/sarif.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/text/version.h"

namespace gang::harness {
namespace {

using nlohmann::json;

const std::vector<SarifResult> results = {
    {.rule = "cycle",
     .advice = "call them in one order",
     .message = "Each waits.",
     .place = SarifPlace{.uri = "a/train.cc", .line = 41},
     .related = {{.uri = "a/train.cc", .line = 43, .message = "rank 1"},
                 {.uri = "b.cc", .line = 7, .message = "rank 2"}},
     .identity = "here"},
    {.rule = "leak", .level = SarifLevel::warning, .message = "Not awaited.", .identity = "there"},
    {.rule = "cycle", .message = "Again.", .identity = "here"}};

TEST(Sarif, HasEveryRuleOnceAndEveryResult) {
  const json document = json::parse(to_sarif_text("gangsim run", results));
  EXPECT_EQ(document["version"], "2.1.0");
  const json& run = document["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "gangsim");
  EXPECT_EQ(run["tool"]["driver"]["fullName"], "gangsim run");
  EXPECT_EQ(run["tool"]["driver"]["version"], version());
  EXPECT_EQ(run["results"][0]["message"]["text"], "Each waits.");
  EXPECT_EQ(run["tool"]["driver"]["rules"],
            json::parse(R"([{"id": "cycle", "help": {"text": "call them in one order"}},
                            {"id": "leak"}])"));
  ASSERT_EQ(run["results"].size(), 3U);
  EXPECT_EQ(run["results"][1]["level"], "warning");
  EXPECT_EQ(run["results"][1]["locations"], json::array());
  EXPECT_EQ(run["results"][1]["ruleIndex"], 1);
  EXPECT_EQ(run["results"][2]["ruleIndex"], 0);
}

TEST(Sarif, PlacesAResultAtItsCallAndThoseOfTheOthers) {
  const json document = json::parse(to_sarif_text("gangsim run", results));
  const json& result = document["runs"][0]["results"][0];
  EXPECT_EQ(result["locations"], json::parse(R"([{"physicalLocation": {
      "artifactLocation": {"uri": "a/train.cc"}, "region": {"startLine": 41}}}])"));
  ASSERT_EQ(result["relatedLocations"].size(), 2U);
  EXPECT_EQ(result["relatedLocations"][1]["id"], 2);
  EXPECT_EQ(result["relatedLocations"][1]["message"]["text"], "rank 2");
  EXPECT_EQ(result["relatedLocations"][1]["physicalLocation"]["region"]["startLine"], 7);
}

TEST(Sarif, FingerprintsDependOnTheIdentityAlone) {
  const auto fingerprint = [](const std::vector<SarifResult>& of, std::size_t index) {
    const json document = json::parse(to_sarif_text("gangsim run", of));
    return document["runs"][0]["results"][index]["partialFingerprints"]["gangsimFinding/v1"]
        .get<std::string>();
  };
  EXPECT_EQ(fingerprint(results, 0), "0a4e01cc5f62582b:1");
  EXPECT_EQ(fingerprint(results, 2), "0a4e01cc5f62582b:2");
  EXPECT_NE(fingerprint(results, 1), fingerprint(results, 0));
  std::vector<SarifResult> moved = results;
  moved[0].place->line = 99;
  moved[0].message = "Now elsewhere.";
  EXPECT_EQ(fingerprint(moved, 0), fingerprint(results, 0));
}

TEST(Sarif, WithoutResultsItIsARunThatFoundNothing) {
  const json document = json::parse(to_sarif_text("gangsim run", {}));
  EXPECT_EQ(document["runs"][0]["results"], json::array());
  EXPECT_EQ(document["runs"][0]["tool"]["driver"]["rules"], json::array());
}

TEST(Sarif, OccurrencesAreCountedByIdentityAndNotByRule) {
  const json document = json::parse(
      to_sarif_text("gangsim run", {{.rule = "cycle", .message = "One.", .identity = "here"},
                                    {.rule = "cycle", .message = "Two.", .identity = "there"}}));
  for (const json& result : document["runs"][0]["results"]) {
    const auto fingerprint = result["partialFingerprints"]["gangsimFinding/v1"].get<std::string>();
    EXPECT_TRUE(fingerprint.ends_with(":1")) << fingerprint;
  }
}

TEST(Sarif, BytesThatAreNoTextDoNotKeepTheOthersFromBeingWritten) {
  const json document =
      json::parse(to_sarif_text("gangsim run", {{.rule = "cycle", .message = "label '\xff'"}}));
  EXPECT_EQ(document["runs"][0]["results"][0]["message"]["text"], "label '\ufffd'");
}

TEST(Sarif, EveryLevelHasItsName) {
  const json document = json::parse(to_sarif_text(
      "gangsim run", {{.rule = "a", .level = SarifLevel::error, .message = "One."},
                      {.rule = "b", .level = SarifLevel::warning, .message = "Two."},
                      {.rule = "c", .level = SarifLevel::note, .message = "Three."}}));
  const json& written = document["runs"][0]["results"];
  EXPECT_EQ(written[0]["level"], "error");
  EXPECT_EQ(written[1]["level"], "warning");
  EXPECT_EQ(written[2]["level"], "note");
}

}  // namespace
}  // namespace gang::harness
