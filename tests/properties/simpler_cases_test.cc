#include "properties/simpler_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::properties {
namespace {

using ::testing::ElementsAre;

struct Pair {
  int number = 1;
  std::vector<int> list;

  friend bool operator==(const Pair&, const Pair&) = default;
};

TEST(SimplerCases, AreInOrderAndNeverTheOriginal) {
  const Pair original{5, {1, 2}};
  SimplerCases simpler(original);
  simpler.lower(&Pair::number, 5);
  simpler.lower(&Pair::number, 3);
  simpler.drop_each(&Pair::list);
  simpler.drop_each(&Pair::list, 2);
  simpler.reset(&Pair::number);
  simpler.add([](Pair& one) { one.number = 5; });
  simpler.add([](Pair& one) { one.list.clear(); });
  EXPECT_THAT(simpler.take(), ElementsAre(Pair{3, {1, 2}}, Pair{5, {2}}, Pair{5, {1}},
                                          Pair{1, {1, 2}}, Pair{5, {}}));
}

TEST(SimplerCases, DropElementsOfAListItself) {
  const std::vector<int> original = {7, 8};
  SimplerCases simpler(original);
  simpler.drop_each(std::identity());
  EXPECT_THAT(simpler.take(), ElementsAre(ElementsAre(8), ElementsAre(7)));
}

}  // namespace
}  // namespace gang::properties
