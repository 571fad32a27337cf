#include "gang/nccl/nccl_pool.h"

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
  std::unique_ptr<NcclEvent> event = pool.take_event();
  const NcclEvent* const first = event.get();
  pool.give_back(std::move(event), {});
  EXPECT_EQ(pool.take_event().get(), first);
}

}  // namespace
}  // namespace gang
