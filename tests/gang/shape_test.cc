#include "gang/shape.h"

#include <limits>

#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang {
namespace {

TEST(Shape, CountIsTheProductOfTheExtents) {
  EXPECT_EQ((Shape{2, 3, 4}).count(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).count(), 0);
  EXPECT_EQ(Shape{}.count(), 1) << "a scalar";
  EXPECT_EQ(Shape::vector(7).count(), 7);
}

TEST(Shape, TextListsTheExtents) {
  EXPECT_EQ(to_string(Shape{4096}), "[4096]");
  EXPECT_EQ(to_string(Shape{2, 3}), "[2,3]");
  EXPECT_EQ(to_string(Shape{}), "[]");
}

TEST(Shape, ShapesDifferByExtentsAndNumberOfDimensions) {
  EXPECT_EQ((Shape{5}), Shape::vector(5));
  EXPECT_NE((Shape{5}), (Shape{5, 1}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 4}));
  EXPECT_NE((Shape{1}), Shape{});
}

TEST(Shape, HasAtMostEightDimensions) {
  EXPECT_EQ((Shape{1, 1, 1, 1, 1, 1, 1, 1}).dimensions(), Shape::max_rank);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), InvalidArgument);
}

TEST(Shape, NegativeExtentsAreRefused) { EXPECT_THROW((Shape{2, -1}), InvalidArgument); }

TEST(Shape, CountsBeyondSixtyThreeBitsAreRefused) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ((Shape{huge}).count(), huge);
  EXPECT_THROW((Shape{huge, 2}), InvalidArgument);
  EXPECT_THROW((Shape{huge, 2, 0}), InvalidArgument) << "the product overflows before the zero";
  EXPECT_THROW((Shape{0, huge, 2}), InvalidArgument) << "and after it";
}

TEST(Shape, ACopyIsEqual) {
  const Shape shape{2, 3, 4, 5};
  Shape copy = Shape::vector(9);
  copy = shape;
  EXPECT_EQ(copy, shape);
  EXPECT_EQ(copy[3], 5);
}

}  // namespace
}  // namespace gang
