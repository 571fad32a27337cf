#include "gang/gloo/recycled.h"

#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gang {
namespace {

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
  EXPECT_EQ(dynamic_cast<void*>(second.get()), place);
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

}  // namespace
}  // namespace gang
