#include "gang/gloo/deadline_context.h"

#include <vector>

#include <gloo/barrier.h>
#include <gloo/common/error.h>
#include <gloo/transport/unbound_buffer.h>

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""h;

// Two connected transports.
class DeadlineContextTest : public testing::Test {
 protected:
  DeadlineContextTest() {
    const std::shared_ptr<Store> store = make_memory_store(*runtime);
    const auto connector = make_store_connector(test::loopback_device(), store, runtime);
    std::jthread other([&] { transports[1] = connector->connect({"pair", 1, 2}, 10s); });
    transports[0] = connector->connect({"pair", 0, 2}, 10s);
  }

  std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::shared_ptr<gloo::transport::Context> transports[2];
};

TEST_F(DeadlineContextTest, CarriesGloosCollectives) {
  const auto run = [this](std::size_t rank) {
    gloo::BarrierOptions options(
        make_gloo_context(std::make_shared<DeadlineContext>(transports[rank], *runtime)));
    gloo::barrier(options);
  };
  std::jthread other([&run] { run(1); });
  run(0);
}

TEST_F(DeadlineContextTest, AWaitEndsAtTheDeadlineWhateverItsOwnTimeout) {
  DeadlineContext context(transports[0], *runtime);
  char byte = 0;
  const auto buffer = context.createUnboundBuffer(&byte, 1);
  buffer->recv(1, 77);
  const TimePoint began = runtime->now();
  context.begin_operation(began + 50ms);
  EXPECT_THROW(buffer->waitRecv(1h), gloo::IoException);
  EXPECT_GE(runtime->now() - began, 50ms);
  EXPECT_LT(runtime->now() - began, 5s);
  EXPECT_EQ(context.awaited_rank(), 1);
}

TEST_F(DeadlineContextTest, TheAwaitedRankIsThatOfThisOperationIfThereIsOne) {
  DeadlineContext context(transports[0], *runtime);
  char byte = 0;
  const auto fail_to_receive = [&](gloo::transport::UnboundBuffer& buffer) {
    context.begin_operation(runtime->now() + 20ms);
    EXPECT_EQ(context.awaited_rank(), no_rank);
    EXPECT_THROW(buffer.waitRecv(1h), gloo::IoException);
    return context.awaited_rank();
  };
  const auto from_one = context.createUnboundBuffer(&byte, 1);
  from_one->recv(1, 77);
  EXPECT_EQ(fail_to_receive(*from_one), 1);
  context.begin_operation(TimePoint::max());
  EXPECT_EQ(context.awaited_rank(), no_rank) << "the next operation";
}

// The other side takes nothing.
TEST_F(DeadlineContextTest, ASendThatIsNotTakenAwaitsItsDestination) {
  DeadlineContext context(transports[0], *runtime);
  std::vector<char> much(std::size_t{32} << 20U);
  const auto buffer = context.createUnboundBuffer(much.data(), much.size());
  context.begin_operation(runtime->now() + 50ms);
  buffer->send(1, 77);
  EXPECT_THROW(buffer->waitSend(1h), gloo::IoException);
  EXPECT_EQ(context.awaited_rank(), 1);
}

TEST_F(DeadlineContextTest, AnAbortedWaitThrows) {
  DeadlineContext context(transports[0], *runtime);
  char byte = 0;
  const auto buffer = context.createUnboundBuffer(&byte, 1);
  buffer->recv(1, 77);
  buffer->abortWaitRecv();
  EXPECT_THROW(buffer->waitRecv(), gloo::IoException);
}

TEST_F(DeadlineContextTest, ALimitIsNeverNegativeAndNeverOverflows) {
  EXPECT_EQ(wait_limit(*runtime, TimePoint(0)), 0ms);
  EXPECT_LE(wait_limit(*runtime, runtime->now() + 10ms), 10ms);
  EXPECT_GT(wait_limit(*runtime, TimePoint::max()), 1h);
}

}  // namespace
}  // namespace gang
