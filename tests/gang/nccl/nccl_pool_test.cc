#include "gang/nccl/nccl_pool.h"

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

TEST(NcclPool, MemoryIsReusedIfItFits) {
  test::RecordedGang recorded;
  NcclPool pool(*recorded.nccl, *recorded.runtime);
  std::unique_ptr<NcclBuffer> buffer = pool.take_buffer(NcclMemory::pinned, 100);
  std::byte* const first = buffer->data();
  std::vector<std::unique_ptr<NcclBuffer>> buffers;
  buffers.push_back(std::move(buffer));
  pool.give_back(nullptr, std::move(buffers));
  EXPECT_NE(pool.take_buffer(NcclMemory::device, 100)->data(), first);
  EXPECT_EQ(pool.take_buffer(NcclMemory::pinned, 90)->data(), first);
}

TEST(NcclPool, EventsAreReused) {
  test::RecordedGang recorded;
  NcclPool pool(*recorded.nccl, *recorded.runtime);
  const int before = recorded.nccl->events_made;
  pool.give_back(pool.take_event(), {});
  const std::unique_ptr<NcclEvent> again = pool.take_event();
  EXPECT_EQ(recorded.nccl->events_made, before + 1);
}

TEST(NcclPool, MemoryThatIsTooSmallOrMuchTooLargeIsLeftForOthers) {
  test::RecordedGang recorded;
  NcclPool pool(*recorded.nccl, *recorded.runtime);
  std::vector<std::unique_ptr<NcclBuffer>> buffers;
  buffers.push_back(pool.take_buffer(NcclMemory::pinned, 100));
  buffers.push_back(pool.take_buffer(NcclMemory::pinned, 1U << 20U));
  std::byte* const large = buffers.back()->data();
  pool.give_back(nullptr, std::move(buffers));
  EXPECT_GE(pool.take_buffer(NcclMemory::pinned, 300)->size_bytes(), 300U);
  EXPECT_LT(pool.take_buffer(NcclMemory::pinned, 300)->size_bytes(), 10'000U);
  EXPECT_EQ(pool.take_buffer(NcclMemory::pinned, 1U << 19U)->data(), large);
}

TEST(NcclPool, AnEventIsGivenToOne) {
  test::RecordedGang recorded;
  NcclPool pool(*recorded.nccl, *recorded.runtime);
  pool.give_back(pool.take_event(), {});
  const std::unique_ptr<NcclEvent> first = pool.take_event();
  const std::unique_ptr<NcclEvent> second = pool.take_event();
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
}

}  // namespace
}  // namespace gang
