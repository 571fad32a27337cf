#include "harness/program/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> list = {
      integer_parameter("count", 4, {1, 100}, "elements"),
      number_parameter("rate", 0.5, {0, 1}, "learning rate"),
      choice_parameter("mode", "fast", {"fast", "slow"}, "how"),
      text_parameter("note", "none", "for people"),
      data_type_parameter("type", DataType::f32, "of the elements"),
      reduce_operation_parameter("op", ReduceOperation::sum, "what to do")};
  return list;
}

TEST(ParameterValues, HasTheDefaults) {
  const ParameterValues values{parameters(), {}};
  EXPECT_EQ(values.get<int>("count"), 4);
  EXPECT_EQ(values.get<double>("rate"), 0.5);
  EXPECT_EQ(values.get<std::string>("mode"), "fast");
  EXPECT_EQ(values.get<DataType>("type"), DataType::f32);
  EXPECT_EQ(values.get<ReduceOperation>("op"), ReduceOperation::sum);
}

TEST(ParameterValues, TakesWhatIsGiven) {
  const ParameterValues values{
      parameters(), {{"count", "7"}, {"rate", "0.25"}, {"type", "bf16"}, {"note", "a=b"}}};
  EXPECT_EQ(values.get<std::int64_t>("count"), 7);
  EXPECT_EQ(values.get<float>("rate"), 0.25F);
  EXPECT_EQ(values.get<DataType>("type"), DataType::bf16);
  EXPECT_EQ(values.get<std::string>("note"), "a=b");
}

TEST(ParameterValues, NamesTheParameterTheValueAndWhatIsAccepted) {
  const auto with = [](const char* key, const char* text) {
    return [key, text] { ParameterValues(parameters(), {{key, text}}); };
  };
  EXPECT_THAT(with("count", "0"), ThrowsMessage<InvalidArgument>("count is '0'; must be 1 to 100"));
  EXPECT_THAT(with("count", "4k"), ThrowsMessage<InvalidArgument>(HasSubstr("1 to 100")));
  EXPECT_THAT(with("rate", "2"), ThrowsMessage<InvalidArgument>(HasSubstr("from 0 to 1")));
  EXPECT_THAT(with("mode", "fastest"),
              ThrowsMessage<InvalidArgument>(HasSubstr("one of fast, slow")));
  EXPECT_THAT(with("cuont", "1"),
              ThrowsMessage<InvalidArgument>(HasSubstr("did you mean 'count'?")));
}

TEST(ParameterValues, RejectsLookupsTheProgramDoesNotDeclare) {
  const ParameterValues values{parameters(), {}};
  EXPECT_THROW(values.get<int>("absent"), InvalidArgument);
  EXPECT_THROW(values.get<int>("mode"), InvalidArgument);
  EXPECT_THROW(values.get<DataType>("mode"), InvalidArgument);
}

TEST(ParameterValues, BothEndsOfARangeAreAccepted) {
  for (const auto& [name, text] : {std::pair{"count", "1"}, std::pair{"count", "100"},
                                   std::pair{"rate", "0"}, std::pair{"rate", "1"}})
    EXPECT_NO_THROW(ParameterValues(parameters(), {{name, text}})) << name << text;
  for (const auto& [name, text] : {std::pair{"count", "101"}, std::pair{"count", "-1"},
                                   std::pair{"rate", "1.5"}, std::pair{"rate", "-0.5"}})
    EXPECT_THROW(ParameterValues(parameters(), {{name, text}}), InvalidArgument) << name << text;
}

TEST(ParameterValues, AWholeNumberIsANumberToo) {
  EXPECT_EQ(ParameterValues(parameters(), {}).get<double>("count"), 4.0);
  EXPECT_THROW(ParameterValues(parameters(), {}).get<double>("mode"), InvalidArgument);
}

TEST(ParameterValues, WhatIsNoNumberIsRefused) {
  for (const char* text : {"nan", "inf", "-nan", "0.5x", ""})
    EXPECT_THROW(ParameterValues(parameters(), {{"rate", text}}), InvalidArgument) << text;
}

TEST(ParameterValues, AnUnknownTypeOrOperationIsRefusedWithTheKnownOnes) {
  EXPECT_THAT([] { ParameterValues(parameters(), {{"type", "f33"}}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("type is 'f33'; must be one of bool, u8")));
  EXPECT_THAT([] { ParameterValues(parameters(), {{"op", "plus"}}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("op is 'plus'; must be one of sum, ")));
}

TEST(ParameterValues, AParameterThatIsAskedForAsAnotherTypeIsNamed) {
  const ParameterValues values{parameters(), {}};
  EXPECT_THAT([&] { values.get<int>("mode"); },
              ThrowsMessage<InvalidArgument>("parameter 'mode' is not a whole number"));
  EXPECT_THAT([&] { values.get<std::string>("count"); },
              ThrowsMessage<InvalidArgument>("parameter 'count' is not a text"));
  EXPECT_THAT([&] { values.get<DataType>("mode"); },
              ThrowsMessage<InvalidArgument>("parameter 'mode' is not a data type"));
  EXPECT_THAT([&] { values.get<ReduceOperation>("mode"); },
              ThrowsMessage<InvalidArgument>("parameter 'mode' is not a reduce operation"));
  EXPECT_THAT([&] { values.get<int>("absent"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'absent'")));
}

TEST(Parameter, OfOneChoiceTakesNoOther) {
  const Parameter only = choice_parameter("mode", "fast", {"fast"}, "how");
  EXPECT_EQ(describe_accepted(only), "one of fast");
  EXPECT_THROW(parse_parameter_value(only, "slow"), InvalidArgument);
  EXPECT_EQ(parse_parameter_value(only, "fast"), ParameterValue("fast"));
}

TEST(Parameter, SaysWhatItAccepts) {
  EXPECT_EQ(describe_accepted(integer_parameter("count", 4, {1, 100}, "")), "1 to 100");
  EXPECT_EQ(describe_accepted(number_parameter("rate", 1, {0.5, 2}, "")), "a number from 0.5 to 2");
  EXPECT_EQ(describe_accepted(text_parameter("note", "", "")), "any text");
}

TEST(ParameterValue, IsWrittenWithAllItsDigits) {
  EXPECT_EQ(to_string(ParameterValue(0.12345678)), "0.12345678");
  EXPECT_EQ(to_string(ParameterValue(std::int64_t{123456789012})), "123456789012");
  EXPECT_EQ(to_string(ParameterValue("a=b")), "a=b");
}

}  // namespace
}  // namespace gang::harness
