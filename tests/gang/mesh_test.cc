#include "gang/mesh.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "gang/error.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/factorizations.h"

namespace gang {
namespace {

using RankLists = std::vector<std::vector<int>>;
using test::message_of;
using test::small_meshes;

const Mesh layout({{"pp", 2}, {"dp", 3}, {"tp", 4}});

TEST(Mesh, IsRowMajorWithTheLastAxisAdjacent) {
  EXPECT_EQ(layout.coordinates(0), (std::vector{0, 0, 0}));
  EXPECT_EQ(layout.coordinates(1), (std::vector{0, 0, 1}));
  EXPECT_EQ(layout.coordinates(4), (std::vector{0, 1, 0}));
  EXPECT_EQ(layout.coordinates(12), (std::vector{1, 0, 0}));
  EXPECT_EQ(layout.coordinates(23), (std::vector{1, 2, 3}));
}

TEST(Mesh, LinesHaveAsManyRanksAsTheirAxisAndItsStride) {
  EXPECT_EQ(layout.line(6, "tp"), (std::vector{4, 5, 6, 7}));
  EXPECT_EQ(layout.line(6, "dp"), (std::vector{2, 6, 10}));
  EXPECT_EQ(layout.line(6, "pp"), (std::vector{6, 18}));
}

TEST(Mesh, LinesOfAnAxisAreOrderedByFirstRank) {
  const Mesh small({{"dp", 4}, {"tp", 2}});
  EXPECT_EQ(small.lines("tp"), (RankLists{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(small.lines("dp"), (RankLists{{0, 2, 4, 6}, {1, 3, 5, 7}}));
}

TEST(MeshLaws, CoordinatesAndRanksAreInverse) {
  for (const Mesh& mesh : small_meshes(24)) {
    for (int rank = 0; rank < mesh.size(); ++rank) {
      const std::vector<int> coordinates = mesh.coordinates(rank);
      ASSERT_EQ(mesh.rank_at(coordinates), rank) << to_string(mesh);
      for (std::size_t i = 0; i < coordinates.size(); ++i)
        ASSERT_EQ(mesh.coordinate(rank, mesh.axes()[i].name), coordinates[i]) << to_string(mesh);
    }
  }
}

TEST(MeshLaws, TheLinesOfAnAxisPartitionTheRanks) {
  for (const Mesh& mesh : small_meshes(24)) {
    for (const MeshAxis& axis : mesh.axes()) {
      std::vector<int> all;
      for (const std::vector<int>& line : mesh.lines(axis.name)) {
        ASSERT_EQ(static_cast<int>(line.size()), axis.size) << to_string(mesh);
        all.insert(all.end(), line.begin(), line.end());
      }
      std::ranges::sort(all);
      std::vector<int> expected(static_cast<std::size_t>(mesh.size()));
      std::iota(expected.begin(), expected.end(), 0);
      ASSERT_EQ(all, expected) << to_string(mesh) << " axis " << axis.name;
    }
  }
}

TEST(MeshLaws, LinesOfTwoAxesMeetInExactlyTheirRank) {
  for (const Mesh& mesh : small_meshes(24)) {
    for (const MeshAxis& first : mesh.axes()) {
      for (const MeshAxis& second : mesh.axes()) {
        if (first == second) continue;
        for (int rank = 0; rank < mesh.size(); ++rank) {
          std::vector<int> both;
          std::ranges::set_intersection(mesh.line(rank, first.name), mesh.line(rank, second.name),
                                        std::back_inserter(both));
          ASSERT_EQ(both, std::vector{rank}) << to_string(mesh);
        }
      }
    }
  }
}

TEST(MeshLaws, LineIndexAndCoordinateFindARankInTheLines) {
  for (const Mesh& mesh : small_meshes(24)) {
    for (const MeshAxis& axis : mesh.axes()) {
      const RankLists lines = mesh.lines(axis.name);
      for (int rank = 0; rank < mesh.size(); ++rank) {
        const auto index = static_cast<std::size_t>(mesh.line_index(rank, axis.name));
        const auto place = static_cast<std::size_t>(mesh.coordinate(rank, axis.name));
        ASSERT_EQ(lines.at(index).at(place), rank) << to_string(mesh);
        ASSERT_EQ(lines[index], mesh.line(rank, axis.name)) << to_string(mesh);
      }
      ASSERT_TRUE(std::ranges::is_sorted(lines, {}, [](const auto& line) { return line[0]; }));
    }
  }
}

TEST(MeshLaws, TheLastAxisIsAdjacent) {
  for (const Mesh& mesh : small_meshes(24)) {
    const std::vector<int> line = mesh.line(mesh.size() - 1, mesh.axes().back().name);
    for (std::size_t i = 1; i < line.size(); ++i) ASSERT_EQ(line[i], line[i - 1] + 1);
  }
}

TEST(MeshLaws, ASubMeshHoldsTheRanksThatAgreeOnTheOtherAxes) {
  for (const Mesh& mesh : small_meshes(12)) {
    for (unsigned subset = 0; subset < 1u << mesh.axes().size(); ++subset) {
      std::vector<std::string> named;
      for (std::size_t i = 0; i < mesh.axes().size(); ++i)
        if (subset >> i & 1) named.push_back(mesh.axes()[i].name);
      for (int rank = 0; rank < mesh.size(); ++rank) {
        std::vector<int> expected;
        for (int other = 0; other < mesh.size(); ++other) {
          const auto agrees = [&](const MeshAxis& axis) {
            return std::ranges::find(named, axis.name) != named.end() ||
                   mesh.coordinate(rank, axis.name) == mesh.coordinate(other, axis.name);
          };
          if (std::ranges::all_of(mesh.axes(), agrees)) expected.push_back(other);
        }
        ASSERT_EQ(mesh.sub_mesh(rank, named), expected) << to_string(mesh);
      }
    }
  }
}

TEST(MeshLaws, TextParsesBack) {
  for (const Mesh& mesh : small_meshes(24)) ASSERT_EQ(parse_mesh(to_string(mesh)), mesh);
}

TEST(Mesh, FlatteningMergesAdjacentAxes) {
  const std::vector<std::string> data = {"pp", "dp"};
  const Mesh merged = layout.flattened(data, "all_data");
  EXPECT_EQ(to_string(merged), "all_data=6 tp=4");
  for (int rank = 0; rank < layout.size(); ++rank)
    EXPECT_EQ(merged.line(rank, "all_data"), layout.sub_mesh(rank, data));
}

TEST(Mesh, FlatteningRefusesOtherAxes) {
  const auto flattened = [](std::vector<std::string> axes, std::string name) {
    return layout.flattened(axes, std::move(name));
  };
  EXPECT_THROW(flattened({"pp", "tp"}, "x"), InvalidArgument) << "not next to each other";
  EXPECT_THROW(flattened({"dp", "pp"}, "x"), InvalidArgument) << "not in order";
  EXPECT_THROW(flattened({}, "x"), InvalidArgument);
  EXPECT_THROW(flattened({"xx"}, "x"), InvalidArgument);
  EXPECT_THROW(flattened({"pp", "dp"}, "tp"), InvalidArgument) << "the name is taken";
  EXPECT_EQ(to_string(flattened({"pp", "dp"}, "pp")), "pp=6 tp=4");
  EXPECT_EQ(to_string(flattened({"dp"}, "ep")), "pp=2 ep=3 tp=4");
}

TEST(Mesh, BadAxesAreRefused) {
  EXPECT_THROW(Mesh({}), InvalidArgument);
  EXPECT_THROW(Mesh({{"", 2}}), InvalidArgument);
  EXPECT_THROW(Mesh({{"a b", 2}}), InvalidArgument);
  EXPECT_THROW(Mesh({{"a=", 2}}), InvalidArgument);
  EXPECT_THROW(Mesh({{"a", 2}, {"a", 3}}), InvalidArgument);
  EXPECT_THROW(Mesh({{"a", -1}}), InvalidArgument);
  EXPECT_EQ(message_of<InvalidArgument>([] { Mesh({{"tp", 0}}); }),
            "mesh axis tp has size 0; must be 1 or more");
}

TEST(Mesh, HasAtMostAsManyRanksAsAnIntCounts) {
  const int most = std::numeric_limits<int>::max();
  EXPECT_EQ(Mesh({{"a", most}}).size(), most);
  EXPECT_EQ(Mesh({{"a", most}}).coordinate(most - 1, "a"), most - 1);
  EXPECT_THROW(Mesh({{"a", most}, {"b", 2}}), InvalidArgument);
  EXPECT_THROW(Mesh({{"a", most}, {"b", most}, {"c", most}}), InvalidArgument);
}

TEST(Mesh, UnknownAxesAndRanksAreNamed) {
  EXPECT_EQ(message_of<InvalidArgument>([] { layout.axis_size("cp"); }),
            "the mesh pp=2 dp=3 tp=4 has no axis 'cp'; must be one of: pp, dp, tp");
  EXPECT_EQ(message_of<InvalidArgument>([] { layout.coordinates(24); }),
            "rank 24 is not in the mesh pp=2 dp=3 tp=4; must be 0 to 23");
  EXPECT_THROW(layout.line(-1, "tp"), InvalidArgument);
  EXPECT_THROW(layout.coordinate(24, "tp"), InvalidArgument);
  EXPECT_THROW(layout.line_index(24, "tp"), InvalidArgument);
  EXPECT_THROW(layout.sub_mesh(24, {}), InvalidArgument);
  EXPECT_THROW(layout.rank_at(std::vector{0, 0}), InvalidArgument);
  EXPECT_THROW(layout.rank_at(std::vector{0, 3, 0}), InvalidArgument);
  EXPECT_TRUE(layout.has_axis("dp"));
  EXPECT_FALSE(layout.has_axis("cp"));
}

TEST(ParseMesh, TakesAnyWhiteSpace) { EXPECT_EQ(parse_mesh("  pp=2\tdp=3 \n tp=4 "), layout); }

TEST(ParseMesh, NamesThePartThatIsWrong) {
  for (const char* part : {"tp", "tp=", "=2x", "tp=two", "tp=2,", "tp=99999999999", "tp=2=3"}) {
    const std::string message =
        message_of<InvalidArgument>([part] { parse_mesh("dp=2 " + std::string(part)); });
    EXPECT_NE(message.find("'" + std::string(part) + "'"), std::string::npos) << message;
  }
  EXPECT_THROW(parse_mesh(""), InvalidArgument);
  EXPECT_THROW(parse_mesh("=2"), InvalidArgument);
  EXPECT_THROW(parse_mesh("tp=-2"), InvalidArgument);
}

}  // namespace
}  // namespace gang
