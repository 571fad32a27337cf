#include "harness/recording/pickle_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/recording/dump_error.h"

namespace gang::harness {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

// A text of a value: enough to compare.
std::string text_of(const ValueTree& tree, const ValueTree::Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "None";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True" : "False";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string_view>(&value))
    return "'" + std::string(*text) + "'";
  std::string text;
  for (const ValueTree::Value& item : tree.items(value))
    text += (text.empty() ? "" : ", ") + text_of(tree, item);
  const bool is_map = std::get<ValueTree::Container>(value).is_map;
  return (is_map ? "{" : "[") + text + (is_map ? "}" : "]");
}

std::string read(const std::string& bytes) {
  const ValueTree tree = read_pickle(bytes);
  return text_of(tree, tree.root());
}

std::string pickle_error_of(const std::string& bytes) {
  try {
    return "no error: " + read(bytes);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

// Written by Python 3.11: pickle.dumps(value, protocol).
TEST(PickleReader, ReadsWhatPythonWrites) {
  // {'a': [1, 300, -70000, 2**40], 'b': (None, True, 0.5)}, protocol 2
  EXPECT_EQ(read("\x80\x02}q\x00(X\x01\x00\x00\x00"
                 "aq\x01]q\x02(K\x01M,\x01J\x90\xee\xfe\xff"
                 "\x8a\x06\x00\x00\x00\x00\x00\x01"
                 "eX\x01\x00\x00\x00"
                 "bq\x03N\x88G?\xe0\x00\x00"
                 "\x00\x00\x00\x00\x87q\x04u."s),
            "{'a', [1, 300, -70000, 1099511627776], 'b', [None, True, 0.500000]}");
  // [['x', 'x'], ('x',)] with one 'x', protocol 4
  EXPECT_EQ(read("\x80\x04\x95\x0f\x00\x00\x00\x00\x00\x00\x00]\x94(]\x94(\x8c\x01x\x94h\x02"
                 "eh\x02\x85\x94"
                 "e."s),
            "[['x', 'x'], ['x']]");
}

TEST(PickleReader, ListsMayBeSharedAndGrowLater) {
  // l = ['a']; [l, l, ...] where l gets 'b' after it was remembered
  EXPECT_EQ(read("\x80\x02](]q\x00X\x01\x00\x00\x00"
                 "aah\x00X\x01\x00\x00\x00"
                 "bae."s),
            "[['a', 'b'], ['a', 'b']]");
}

TEST(PickleReader, RefusesWhatWouldRunCode) {
  // What pickle.dumps makes of an object whose __reduce__ is (os.system, ('id',)).
  EXPECT_EQ(pickle_error_of("\x80\x02"
                            "cposix\nsystem\nq\x00X\x02\x00\x00\x00idq\x01\x85q\x02Rq\x03."s),
            "opcode GLOBAL ('c') at byte 2 would run code; nothing was run");
  EXPECT_THAT(pickle_error_of("\x80\x04\x8c\x05posix\x8c\x06system\x93."s),
              HasSubstr("opcode STACK_GLOBAL (0x93) at byte 17 would run code"));
  for (const char code : {'R', 'b', 'i', 'o', '\x81', '\x92', '\x82', '\x83', '\x84', 'P', 'Q'})
    EXPECT_THAT(pickle_error_of("\x80\x02"s + code + "."), HasSubstr("at byte 2 would run code"));
}

TEST(PickleReader, RefusesWhatNoDumpHas) {
  EXPECT_THAT(pickle_error_of("\x80\x02"
                              "0."s),
              HasSubstr("opcode POP ('0') at byte 2 is not one that"));
  EXPECT_THAT(pickle_error_of("\x80\x02\xff."s),
              HasSubstr("byte 2 is 0xff, which is not an opcode"));
  EXPECT_THAT(pickle_error_of("hello"), HasSubstr("not a pickle"));
  EXPECT_THAT(pickle_error_of("\x80\x02\x8a\x09\1\1\1\1\1\1\1\1\1."s),
              HasSubstr("integer of 9 bytes"));
}

TEST(PickleReader, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(pickle_error_of("\x80\x02"
                            "e."s),
            "byte 2 is wrong: the opcode there finds no MARK");
  EXPECT_EQ(pickle_error_of("\x80\x02}(Nu."s),
            "byte 5 is wrong: the opcode there finds a key without a value");
  EXPECT_THAT(pickle_error_of("\x80\x02N(Ne."s), HasSubstr("finds no list to add to"));
  EXPECT_THAT(pickle_error_of("\x80\x02h\x05."s), HasSubstr("recalls value 5, which is unknown"));
  EXPECT_THAT(pickle_error_of("\x80\x02NN."s), HasSubstr("values left over"));
  EXPECT_THAT(pickle_error_of("\x80\x02(\x85."s), HasSubstr("finds too few values"));
}

TEST(PickleReader, ALengthBeyondTheFileTakesNoMemory) {
  EXPECT_THROW(read("\x80\x02X\xff\xff\xff\xff"
                    "abc"s),
               CutOffDump);
  EXPECT_THROW(read("\x80\x04\x8d\x00\x00\x00\x00\x00\x00\x00\x10"
                    "abc"s),
               CutOffDump);                                           // 2^60
  EXPECT_THROW(read("\x80\x02r\xff\xff\xff\xff"s), InvalidArgument);  // remembers nothing, far away
  EXPECT_EQ(read("\x80\x02Nr\xff\xff\xff\xff."s), "None");
}

TEST(PickleReader, AFileThatEndsTooEarlyIsCutOff) {
  const std::string whole =
      "\x80\x02}q\x00(X\x01\x00\x00\x00"
      "aJ\x01\x00\x00\x00u."s;
  EXPECT_EQ(read(whole), "{'a', 1}");
  for (std::size_t size = 2; size < whole.size(); ++size)
    EXPECT_THROW(read(whole.substr(0, size)), CutOffDump) << size;
}

TEST(PickleReader, NestingIsNoRecursion) {
  constexpr std::size_t depth = 1'000'000;
  std::string bytes = "\x80\x02";
  bytes.append(depth, ']').append(depth - 1, 'a').append(".");
  EXPECT_NO_THROW(read_pickle(bytes));
}

TEST(PickleReader, WhatIsBelowAMarkIsLeftAlone) {
  EXPECT_THAT(pickle_error_of("\x80\x02N(\x85."s), HasSubstr("finds too few values"));
  EXPECT_THAT(pickle_error_of("\x80\x02](Na."s), HasSubstr("finds nothing to add to"));
}

TEST(PickleReader, AnIntegerOfNoBytesIsZero) { EXPECT_EQ(read("\x80\x02\x8a\x00."s), "0"); }

TEST(PickleReader, NothingIsLeftOverAtTheEnd) {
  EXPECT_EQ(read("\x80\x02N."s), "None");
  EXPECT_THAT(pickle_error_of("\x80\x02NN."s), HasSubstr("byte 4 is wrong"));
  EXPECT_THAT(pickle_error_of("\x80\x02N(."s), HasSubstr("byte 4 is wrong"));
}

TEST(PickleReader, SaysHowMuchOfAFileThatIsCutOffIsMissing) {
  EXPECT_THAT(pickle_error_of("\x80\x02X\x05\x00\x00\x00"
                              "ab"s),
              HasSubstr("cut off at byte 9: a text at byte 2 needs 3 bytes more"));
}

TEST(PickleReader, AMapIsNoList) {
  EXPECT_THAT(pickle_error_of("\x80\x02}(NNe."s), HasSubstr("finds no list to add to"));
  EXPECT_THAT(pickle_error_of("\x80\x02](NNu."s), HasSubstr("finds no map to add to"));
}

TEST(PickleReader, WhatIsRememberedMayBeReplaced) {
  EXPECT_EQ(read("\x80\x02](Nq\x00K\x05q\x00h\x00"
                 "e."s),
            "[None, 5, 5]");
}

// As Python numbers them: by how many there are.
TEST(PickleReader, WhatIsRememberedIsNumberedBehindAllTheRest) {
  EXPECT_EQ(read("\x80\x04](Nr\xe8\x03\x00\x00K\x05\x94h\x01"
                 "e."s),
            "[None, 5, 5]");
}

TEST(PickleReader, KnowsItsProtocols) {
  EXPECT_TRUE(looks_like_pickle("\x80\x02}."));
  EXPECT_TRUE(looks_like_pickle("\x80\x05}."));
  EXPECT_FALSE(looks_like_pickle("\x80\x01}."));
  EXPECT_FALSE(looks_like_pickle("\x80\x06}."));
}

}  // namespace
}  // namespace gang::harness
