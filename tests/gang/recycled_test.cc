#include "gang/recycled.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gang {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool has_address_sanitizer = true;
#else
constexpr bool has_address_sanitizer = false;
#endif

struct Base {
  virtual ~Base() = default;
  int value = 7;
};

struct Small final : Base, Recycled<Small> {};

TEST(Recycled, TheNextObjectGetsTheMemoryOfADroppedOne) {
  std::unique_ptr<Base> first = std::make_unique<Small>();
  first->value = 8;
  const void* const place = dynamic_cast<void*>(first.get());
  first.reset();
  const std::unique_ptr<Base> second = std::make_unique<Small>();
  EXPECT_TRUE(has_address_sanitizer || dynamic_cast<void*>(second.get()) == place);
  EXPECT_EQ(second->value, 7) << "it is made anew";
}

TEST(Recycled, ManyAreDroppedSomeOnOtherThreads) {
  std::vector<std::unique_ptr<Base>> many(200);
  for (auto& one : many) one = std::make_unique<Small>();
  std::thread([&many] { many.resize(100); }).join();
  many.clear();
  for (int i = 0; i < 200; ++i) many.push_back(std::make_unique<Small>());
  EXPECT_EQ(many.size(), 200U);
}

// It is dropped after what frees the memory that its thread keeps, which its making has begun.
TEST(Recycled, WhatAThreadHoldsToItsEndIsFreed) {
  std::thread([] {
    thread_local std::unique_ptr<Base> held;
    std::make_unique<Small>().reset();
    held = std::make_unique<Small>();
    EXPECT_EQ(held->value, 7);
  }).join();
}

struct Large {
  std::array<int, 100> values{};
};

std::shared_ptr<Large> shared_large() {
  return std::allocate_shared<Large>(RecyclingAllocator<Large>());
}

TEST(RecyclingAllocator, TheNextSharedObjectGetsTheMemoryOfADroppedOne) {
  std::shared_ptr<Large> first = shared_large();
  const void* const place = first.get();
  first->values[1] = 2;
  first.reset();
  const std::shared_ptr<Large> second = shared_large();
  EXPECT_TRUE(has_address_sanitizer || second.get() == place);
  EXPECT_EQ(second->values[1], 0) << "it is made anew";
}

TEST(RecyclingAllocator, ObjectsThatLiveAtOnceShareNoMemory) {
  std::vector<std::shared_ptr<Large>> objects;
  for (int round = 0; round < 2; ++round) {
    objects.clear();
    for (int i = 0; i < 200; ++i) {
      objects.push_back(shared_large());
      objects.back()->values.fill(i);
    }
    for (int i = 0; i < 200; ++i) EXPECT_EQ(objects[static_cast<std::size_t>(i)]->values[99], i);
  }
}

TEST(RecyclingAllocator, MakesListsToo) {
  std::vector<int, RecyclingAllocator<int>> list(100, 7);
  list.push_back(8);
  EXPECT_EQ(list.front(), 7);
  EXPECT_EQ(list.back(), 8);
}

TEST(RecycledList, TheNextOneOfAboutItsSizeGetsTheMemoryOfADroppedOne) {
  const void* place = nullptr;
  {
    const RecycledList<int> list(100, 7);
    place = list.data();
  }
  const RecycledList<short> other(150, 8);
  EXPECT_TRUE(has_address_sanitizer || other.data() == place);
  EXPECT_EQ(other.back(), 8) << "it is made anew";
}

TEST(RecycledList, ListsOfEverySizeThatLiveAtOnceShareNoMemory) {
  std::vector<RecycledList<char>> lists;
  for (int round = 0; round < 2; ++round) {
    lists.clear();
    for (std::size_t size = 2; size <= 10'000; size += 1 + size / 2)
      lists.emplace_back(size, static_cast<char>(size));
    for (const auto& list : lists)
      EXPECT_EQ(std::ranges::count(list, static_cast<char>(list.size())),
                static_cast<std::ptrdiff_t>(list.size()));
  }
}

}  // namespace
}  // namespace gang
