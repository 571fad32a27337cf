#include "gang/store/file_log.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/store/store_matchers.h"
#include "tests/gang/store/temporary_folder.h"

namespace gang {
namespace {

using testing::ElementsAre;

class FileLogs : public testing::Test {
 protected:
  FileLog open() {
    return {path_, [this](std::string_view key) { seen_.emplace_back(key); }};
  }

  static void set(FileLog& log, std::string_view key, std::string_view value) {
    ASSERT_TRUE(log.try_lock());
    log.prepare_to_write();
    log.set(key, as_store_bytes(value));
    log.unlock();
  }

  static std::string value(FileLog& log, std::string_view key) {
    log.read_new();
    const auto* found = log.contents().find(key);
    return found == nullptr ? "(none)" : as_store_text(*found);
  }

  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.file("log");
  std::vector<std::string> seen_;
};

TEST_F(FileLogs, WhatOneClientWritesAnotherReads) {
  FileLog writer = open();
  FileLog reader = open();
  set(writer, "a", "1");
  EXPECT_EQ(value(reader, "a"), "1");
  set(reader, "a", "2");
  EXPECT_EQ(value(writer, "a"), "2");
  EXPECT_EQ(value(writer, "b"), "(none)");
}

TEST_F(FileLogs, AppendsAndErasuresAreRead) {
  FileLog writer = open();
  ASSERT_TRUE(writer.try_lock());
  writer.prepare_to_write();
  writer.append("a", as_store_bytes("x"));
  writer.append("a", as_store_bytes("y"));
  writer.append("b", as_store_bytes("z"));
  writer.erase("b");
  writer.unlock();
  FileLog reader = open();
  EXPECT_EQ(value(reader, "a"), "xy");
  EXPECT_EQ(value(reader, "b"), "(none)");
  EXPECT_EQ(reader.contents(), writer.contents());
}

TEST_F(FileLogs, EveryNewKeyIsReported) {
  FileLog writer = open();
  set(writer, "a", "1");
  seen_.clear();
  FileLog reader = open();
  reader.read_new();
  EXPECT_THAT(seen_, ElementsAre("a"));
  reader.read_new();
  EXPECT_THAT(seen_, ElementsAre("a"));
  seen_.clear();
  ASSERT_TRUE(writer.try_lock());
  writer.prepare_to_write();
  writer.append("b", as_store_bytes("x"));
  writer.unlock();
  reader.read_new();
  EXPECT_THAT(seen_, ElementsAre("b", "b")) << "by both";
}

TEST_F(FileLogs, TheFormatIsAsDocumented) {
  FileLog writer = open();
  set(writer, "k", "v");
  const std::string expected = std::string("gangsim store 1\n") + std::string("\x07\0\0\0", 4) +
                               bytes().substr(20, 4) + std::string("\x01\x01\0\0\0kv", 7);
  EXPECT_EQ(bytes(), expected);
  // CRC-32 (IEEE 802.3) of 01 01000000 6b 76.
  EXPECT_EQ(bytes().substr(20, 4), std::string("\x0a\x61\x28\xcf", 4));
}

TEST_F(FileLogs, OneHoldsTheLock) {
  FileLog first = open();
  FileLog second = open();
  EXPECT_TRUE(first.try_lock());
  EXPECT_FALSE(second.try_lock());
  first.unlock();
  EXPECT_TRUE(second.try_lock());
}

// A writer killed after any number of bytes.
TEST_F(FileLogs, ARecordIsReadCompletelyOrNotAtAll) {
  FileLog writer = open();
  set(writer, "a", "1");
  const std::size_t first = bytes().size();
  set(writer, "b", "22");
  const std::string whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    FileLog reader = open();
    EXPECT_EQ(value(reader, "a"), size < first ? "(none)" : "1") << size;
    EXPECT_EQ(value(reader, "b"), "(none)") << size;
    set(reader, "c", "3");
    FileLog other = open();
    EXPECT_EQ(value(other, "c"), "3") << size;
    EXPECT_EQ(other.contents().key_count(), size < first ? 1 : 2) << size;
  }
}

// Shorter than what is left, so that it does not cover all of it.
TEST_F(FileLogs, WhatIsLeftOfALongRecordIsCutOffBeforeAShortOneIsWritten) {
  FileLog writer = open();
  set(writer, "a", "1");
  const std::string before = bytes();
  set(writer, "b", std::string(100, 'x'));
  write(bytes().substr(0, before.size() + 90));
  FileLog next = open();
  set(next, "c", "3");
  EXPECT_EQ(bytes().size(), before.size() + 15);
  FileLog reader = open();
  EXPECT_EQ(value(reader, "c"), "3");
  set(reader, "d", "4");
  EXPECT_EQ(value(next, "d"), "4");
  EXPECT_EQ(value(next, "b"), "(none)");
}

TEST_F(FileLogs, EveryDamagedByteIsNoticed) {
  FileLog writer = open();
  set(writer, "a", "1");
  const std::string whole = bytes();
  set(writer, "b", "2");
  const std::string longer = bytes();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = longer;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    write(damaged);
    FileLog reader = open();
    // A damaged size may look like a record that is still being written; then nothing is read.
    try {
      EXPECT_EQ(value(reader, "a"), "(none)") << i;
      EXPECT_EQ(value(reader, "b"), "(none)") << i;
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), StoreErrorKind::corrupt) << i;
    }
  }
}

TEST_F(FileLogs, DamageIsNamedByItsPlace) {
  FileLog writer = open();
  set(writer, "a", "1");
  set(writer, "b", "2");
  std::string damaged = bytes();
  damaged.back() = 'x';
  write(damaged);
  FileLog reader = open();
  EXPECT_THAT([&] { reader.read_new(); },
              fails_with(StoreErrorKind::corrupt,
                         "the store file '" + path_.string() + "' is damaged at byte 31"));
}

TEST_F(FileLogs, ASizeThatNoRecordHasIsDamageAndNotARecordToCome) {
  FileLog writer = open();
  set(writer, "a", "1");
  for (const std::string& size : {std::string("\xff\xff\xff\x7f"), std::string("\x04\0\0\0", 4)}) {
    write(bytes().substr(0, 31) + size + "hash");
    FileLog reader = open();
    EXPECT_THAT([&] { reader.read_new(); },
                fails_with(StoreErrorKind::corrupt, "damaged at byte 31"));
  }
}

TEST_F(FileLogs, AnotherKindOfFileIsLeftAlone) {
  write("my thesis, the only copy\n");
  FileLog log = open();
  EXPECT_THAT([&] { log.prepare_to_write(); },
              fails_with(StoreErrorKind::corrupt,
                         "is not a store file: it does not begin with "
                         "'gangsim store 1'"));
  EXPECT_EQ(bytes(), "my thesis, the only copy\n");
}

TEST_F(FileLogs, AFileThatShrinksIsDamaged) {
  FileLog log = open();
  set(log, "a", "1");
  write("gang");
  EXPECT_THAT([&] { log.read_new(); }, fails_with(StoreErrorKind::corrupt, "damaged at byte 31"));
}

TEST_F(FileLogs, AFileThatCannotBeOpenedIsNamed) {
  path_ = folder_.file("no/such/folder");
  EXPECT_THAT([&] { open(); }, fails_with(StoreErrorKind::connection,
                                          "cannot open the store file '" + path_.string() +
                                              "': No such file or directory"));
}

}  // namespace
}  // namespace gang
