#include "gang/gloo/gloo_collectives.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "gang/half.h"
#include "gang/reduction.h"
#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using test::on_gloo_ranks;
using Bytes = std::vector<std::byte>;

TEST(TagOf, DiffersWhereverMembersMustAgree) {
  const Collective base{.kind = OperationKind::all_reduce, .count = 8};
  Collective other_kind = base;
  other_kind.kind = OperationKind::reduce_scatter;
  Collective other_type = base;
  other_type.data_type = DataType::i32;
  Collective other_operation = base;
  other_operation.reduce_operation = ReduceOperation::max;
  Collective other_count = base;
  other_count.count = 9;
  Collective next = base;
  next.sequence_number = 1;
  const std::set<std::uint32_t> tags = {tag_of(base),        tag_of(other_kind),
                                        tag_of(other_type),  tag_of(other_operation),
                                        tag_of(other_count), tag_of(next)};
  EXPECT_EQ(tags.size(), 6U);
  Collective rooted{.kind = OperationKind::broadcast, .peer = 0};
  const std::uint32_t from_0 = tag_of(rooted);
  rooted.peer = 1;
  EXPECT_NE(tag_of(rooted), from_0);
}

TEST(TagOf, IsTheSameWhateverMembersMayDifferIn) {
  Collective collective{.kind = OperationKind::all_reduce, .count = 8};
  const std::uint32_t tag = tag_of(collective);
  collective.blocking = false;
  collective.shape = Shape{2, 4};
  collective.label = "gradients";
  EXPECT_EQ(tag_of(collective), tag);
}

// Values of `type` whose reductions are exact in any order: small integers, powers of two.
Bytes values_for(DataType type, ReduceOperation operation, int rank, std::size_t count) {
  Bytes bytes(count * size_bytes(type));
  std::mt19937 random(static_cast<unsigned>(rank) * 7919U + 1U);
  for (std::size_t i = 0; i < count; ++i) {
    const auto draw = random();
    const bool is_float = is_floating_point(type);
    const double small = is_float && operation == ReduceOperation::product
                             ? (draw % 2 == 0 ? 1.0 : 2.0)
                             : static_cast<double>(draw % 8) * (is_float ? 4 : 1);
    std::byte* const place = bytes.data() + i * size_bytes(type);
    const auto put = [place](auto value) { std::memcpy(place, &value, sizeof(value)); };
    switch (type) {
      case DataType::boolean:
        put(draw % 2 == 0);
        break;
      case DataType::f16:
        put(f16(static_cast<float>(small)));
        break;
      case DataType::bf16:
        put(bf16(static_cast<float>(small)));
        break;
      case DataType::f32:
        put(static_cast<float>(small));
        break;
      case DataType::f64:
        put(small);
        break;
      default:  // integers of any width wrap around
        for (std::size_t byte = 0; byte < size_bytes(type); ++byte)
          place[byte] = static_cast<std::byte>(random());
    }
  }
  return bytes;
}

Bytes reduced(DataType type, ReduceOperation operation, int size, std::size_t count) {
  std::vector<Bytes> inputs;
  std::vector<const void*> pointers;
  for (int rank = 0; rank < size; ++rank)
    inputs.push_back(values_for(type, operation, rank, count));
  for (const Bytes& input : inputs) pointers.push_back(input.data());
  Bytes output(count * size_bytes(type));
  reduce_block(operation, type, output.data(), pointers.data(), size, count);
  return output;
}

TensorView tensor(Bytes& bytes, DataType type) {
  return {bytes.data(), type,
          Shape::vector(static_cast<std::int64_t>(bytes.size() / size_bytes(type)))};
}

// Every reduction of one type and operation on one rank, in and out of place.
void reduce_in_every_way(Gang& gang, DataType type, ReduceOperation operation, std::size_t chunk) {
  const auto size = static_cast<std::size_t>(gang.size());
  const std::size_t count = chunk * size;
  const Bytes own = values_for(type, operation, gang.rank(), count);
  const Bytes expected = reduced(type, operation, gang.size(), count);
  const std::string what =
      std::string(to_string(operation)) + " of " + std::string(to_string(type));

  Bytes in_place = own;
  gang.all_reduce(tensor(in_place, type), operation);
  EXPECT_EQ(in_place, expected) << "all_reduce " << what;

  Bytes input = own;
  Bytes output(own.size());
  gang.all_reduce(tensor(output, type), tensor(input, type), operation);
  EXPECT_EQ(output, expected) << "all_reduce " << what;
  EXPECT_EQ(input, own) << "all_reduce changed its input, " << what;

  const int root = gang.size() - 1;
  Bytes reduced_in_place = own;
  gang.reduce(tensor(reduced_in_place, type), operation, root);
  EXPECT_EQ(reduced_in_place, gang.rank() == root ? expected : own) << "reduce " << what;

  Bytes scattered(chunk * size_bytes(type));
  gang.reduce_scatter(tensor(scattered, type), tensor(input, type), operation);
  const auto first = expected.begin() + static_cast<std::ptrdiff_t>(scattered.size()) * gang.rank();
  EXPECT_EQ(scattered, Bytes(first, first + static_cast<std::ptrdiff_t>(scattered.size())))
      << "reduce_scatter " << what;
  EXPECT_EQ(input, own) << "reduce_scatter changed its input, " << what;
}

TEST(GlooCollectives, ReduceEveryTypeWithEveryOperationAsTheReferenceDoes) {
  for (const int size : {2, 3, 4}) {
    on_gloo_ranks({.size = size}, [](std::shared_ptr<Gang>& gang) {
      for (const DataType type : all_data_types)
        for (const ReduceOperation operation : all_reduce_operations)
          if (is_defined(operation, type) &&
              (operation != ReduceOperation::mean || gang->size() != 3 || !is_floating_point(type)))
            reduce_in_every_way(*gang, type, operation, 5);
    });
  }
}

TEST(GlooCollectives, ReduceTensorsOfManySegments) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    reduce_in_every_way(*gang, DataType::i32, ReduceOperation::sum, 900'001);
  });
}

TEST(GlooCollectives, MeanMultipliesByTheRoundedReciprocal) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    float value = 1.0F;
    gang->all_reduce(view_of(value), ReduceOperation::mean);
    const float third = 1.0F / 3.0F;
    EXPECT_EQ(value, third + (third + third));
    std::int32_t whole = gang->rank() == 0 ? -5 : 0;
    gang->all_reduce(view_of(whole), ReduceOperation::mean);
    EXPECT_EQ(whole, -1);  // towards zero
  });
}

using Values = std::vector<std::int32_t>;

// Element `index` of what `source` sends to `destination`.
Values message(int source, int destination, std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = source * 10'000 + destination * 100 + static_cast<std::int32_t>(i);
  return values;
}

Values joined(int parts, const std::function<Values(int)>& part) {
  Values all;
  for (int i = 0; i < parts; ++i) {
    const Values next = part(i);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

TEST(GlooCollectives, GatherAndScatterWhereverTheListsLie) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    const int me = gang->rank();
    constexpr std::size_t count = 7;
    Values own = message(me, 0, count);
    const Values all = joined(3, [](int rank) { return message(rank, 0, count); });
    Values gathered(3 * count);
    gang->all_gather(view(gathered), view(own));
    EXPECT_EQ(gathered, all);

    // Entries in reverse memory order, so that nothing is where Gloo would put it.
    Values spread(3 * count);
    std::vector<TensorView> list;
    for (int rank = 0; rank < 3; ++rank)
      list.push_back(view(spread).slice((2 - rank) * static_cast<std::int64_t>(count), count));
    const Values reversed = joined(3, [](int rank) { return message(2 - rank, 0, count); });
    gang->all_gather_to_list(list, view(own));
    EXPECT_EQ(spread, reversed);

    std::ranges::fill(spread, -1);
    const auto on_root = [&](int root) {
      return me == root ? std::span<const TensorView>(list) : std::span<const TensorView>();
    };
    gang->gather(on_root(1), view(own), 1);
    EXPECT_EQ(spread, me == 1 ? reversed : Values(3 * count, -1));

    Values part(count);
    const Values parts = joined(3, [](int rank) { return message(2, 2 - rank, count); });
    if (me == 2) std::ranges::copy(parts, spread.begin());
    gang->scatter(view(part), on_root(2), 2);
    EXPECT_EQ(part, message(2, me, count));
  });
}

TEST(GlooCollectives, ScansPassOnWhatTheRanksBeforeHaveReduced) {
  on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    const int me = gang->rank();
    Values own = {me + 1, -me};
    Values until_here(2);
    Values before = {7, 7};
    gang->scan(view(until_here), view(own), ReduceOperation::sum);
    gang->exclusive_scan(view(before), view(own), ReduceOperation::sum);
    const auto sums = [](int n) { return Values{n * (n + 1) / 2, -n * (n - 1) / 2}; };
    EXPECT_EQ(until_here, sums(me + 1));
    EXPECT_EQ(before, me == 0 ? (Values{7, 7}) : sums(me));
    gang->start_scan(view(own), ReduceOperation::max).wait();
    EXPECT_EQ(own, (Values{me + 1, 0}));
  });
}

TEST(GlooCollectives, AllGatherWithCounts) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    const std::array<std::int64_t, 3> counts = {2, 0, 5};
    const auto count = [&](int rank) {
      return static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
    };
    Values own = message(gang->rank(), 0, count(gang->rank()));
    Values all(7);
    gang->all_gather(view(all), view(own), counts);
    EXPECT_EQ(all, joined(3, [&](int rank) { return message(rank, 0, count(rank)); }));
  });
}

TEST(GlooCollectives, ExchangeChunksEvenAndUneven) {
  on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    const int me = gang->rank();
    Values input = joined(4, [me](int rank) { return message(me, rank, 3); });
    Values output(12);
    gang->all_to_all(view(output), view(input));
    EXPECT_EQ(output, joined(4, [me](int rank) { return message(rank, me, 3); }));

    // Rank i sends (i + j) % 3 elements to rank j: some chunks are empty.
    const auto count = [](int from, int to) { return static_cast<std::size_t>((from + to) % 3); };
    Values uneven_input = joined(4, [&](int rank) { return message(me, rank, count(me, rank)); });
    const Values expected = joined(4, [&](int rank) { return message(rank, me, count(rank, me)); });
    std::vector<std::int64_t> to(4);
    std::vector<std::int64_t> from(4);
    for (int rank = 0; rank < 4; ++rank) {
      to[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(count(me, rank));
      from[static_cast<std::size_t>(rank)] = static_cast<std::int64_t>(count(rank, me));
    }
    Values uneven_output(expected.size());
    gang->all_to_all(view(uneven_output), view(uneven_input), {.output = from, .input = to});
    EXPECT_EQ(uneven_output, expected);
  });
}

TEST(GlooCollectives, BroadcastFromAnyRoot) {
  on_gloo_ranks({.size = 5}, [](std::shared_ptr<Gang>& gang) {
    for (int root = 0; root < 5; ++root) {
      Values values = message(gang->rank(), 0, 1000);
      gang->broadcast(view(values), root);
      EXPECT_EQ(values, message(root, 0, 1000));
    }
  });
}

TEST(GlooCollectives, WithoutElementsTheyStillMeet) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    Values none;
    const std::vector<TensorView> list(3, view(none));
    const bool is_root = gang->rank() == 0;
    const auto on_root =
        is_root ? std::span<const TensorView>(list) : std::span<const TensorView>();
    gang->all_reduce(view(none), ReduceOperation::sum);
    gang->reduce(view(none), ReduceOperation::sum, 0);
    gang->reduce_scatter(view(none), view(none), ReduceOperation::sum);
    gang->all_gather(view(none), view(none));
    gang->all_gather_to_list(list, view(none));
    gang->gather(on_root, view(none), 0);
    gang->scatter(view(none), on_root, 0);
    gang->all_to_all(view(none), view(none));
    gang->broadcast(view(none));
    std::int32_t one = 1;
    gang->all_reduce(view_of(one), ReduceOperation::sum);
    EXPECT_EQ(one, 3);
  });
}

}  // namespace
}  // namespace gang
