#include "gang/nccl/real_nccl_api.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

TEST(RealNccl, WithoutOneItSaysWhatIsMissing) {
  const BackendAvailability nccl = nccl_availability();
  if (nccl.is_available) GTEST_SKIP() << "runs where there is no GPU";
  EXPECT_EQ(gpu_count(), 0);
  EXPECT_NE(test::message_of<NotSupported>([] {
              make_real_nccl_api(0, make_real_runtime());
            }).find(nccl.reason),
            std::string::npos);
}

// There and back, through pinned memory, in stream order, with a function of the host in between.
TEST(RealNccl, CopiesAsTheCpuDoes) {
  if (gpu_count() == 0) GTEST_SKIP() << "runs where there is a GPU: " << nccl_availability().reason;
  const auto api = make_real_nccl_api(0, make_real_runtime());
  constexpr std::size_t bytes = 1U << 20U;
  const auto stream = api->make_stream(StreamPriority::high);
  const auto device = api->allocate(NcclMemory::device, bytes);
  const auto pinned = api->allocate(NcclMemory::pinned, bytes);
  auto* const first = reinterpret_cast<std::uint8_t*>(pinned->data());
  std::iota(first, first + bytes, std::uint8_t{0});
  api->copy(*stream, device->data(), pinned->data(), bytes);
  api->call(*stream, [first] { std::memset(first, 0, bytes); });
  api->copy(*stream, pinned->data(), device->data(), bytes);
  const auto event = api->make_event();
  api->record(*event, *stream);
  NcclEvent* const events[] = {event.get()};
  while (api->wait_any(events, TimePoint::max(), api->changes()).reason != NcclWake::Reason::done) {
  }
  for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(first[i], static_cast<std::uint8_t>(i));
}

}  // namespace
}  // namespace gang
