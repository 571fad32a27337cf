#include "properties/stores_behave.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using Connection = TcpStoreService::Connection;
using Replies = std::vector<TcpStoreService::Reply>;

TEST(HostileClients, HarmNoOne) {
  expect_hold({servers_survive_any_bytes([](TcpStoreService& service, Connection connection,
                                            const TcpStoreRequest& request) {
                return service.execute(connection, request);
              })},
              6000);
}

TEST(HostileClients, AServerThatDropsAKeyAtAnyDeletionIsCaughtAndShrunk) {
  const Counterexample found = expect_caught(
      {servers_survive_any_bytes([](TcpStoreService& service, Connection connection,
                                    const TcpStoreRequest& request) -> Replies {
        if (request.command == TcpStoreCommand::delete_key)
          service.execute(connection, {.command = request.command, .keys = {"bystander"}});
        return service.execute(connection, request);
      })},
      "servers_survive_any_bytes", "a bystander loses its connection");
  EXPECT_THAT(found.text, ::testing::StartsWith("1 piece,"));
}

TEST(HostileClients, AServerThatThrowsAnythingElseIsCaught) {
  expect_caught({servers_survive_any_bytes([](TcpStoreService& service, Connection connection,
                                              const TcpStoreRequest& request) -> Replies {
                  if (request.command == TcpStoreCommand::add && request.number == 5)
                    throw std::out_of_range("planted");
                  return service.execute(connection, request);
                })},
                "servers_survive_any_bytes", "throws an unexpected exception: planted");
}

}  // namespace
}  // namespace gang::properties
