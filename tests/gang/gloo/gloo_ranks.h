// Gloo gangs in one process: a thread for each rank, over loopback TCP.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gang/gloo/gloo_connector.h"
#include "gang/gloo/gloo_gang.h"
#include "gang/gloo/store_connector.h"
#include "gang/store/memory_store.h"

namespace gang::test {

struct GlooRanksOptions {
  int size = 4;
  Duration timeout = std::chrono::seconds(20);
  // Wraps a rank's connector, if given.
  std::function<std::shared_ptr<GlooConnector>(int rank, std::shared_ptr<GlooConnector>)> wrap = {};
};

// The error with which a rank's body ended.
struct RankError {
  std::string kind;  // "timeout", ... of a GangError, "other"; "": none
  std::string text;
  std::vector<int> ranks_at_fault;
  Duration elapsed{0};
};

// The device of all tests of this process, since its thread closes connections slowly.
inline std::shared_ptr<gloo::transport::Device> loopback_device() {
  static const std::shared_ptr<gloo::transport::Device> device = make_tcp_device("127.0.0.1");
  return device;
}

inline RankError error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const GangError& error) {
    return {std::string(to_string(error.kind())), error.what(), error.ranks_at_fault(),
            error.elapsed()};
  } catch (const std::exception& error) {
    return {"other", error.what(), {}, Duration(0)};
  }
  return {};
}

// Runs `body` with the root gang of each rank; returns how each ended. A rank's gang is gone when
// its body has ended.
inline std::vector<RankError> run_gloo_ranks(
    const GlooRanksOptions& options, const std::function<void(std::shared_ptr<Gang>&)>& body) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const std::shared_ptr<Store> store = make_memory_store(*runtime);
  std::vector<RankError> errors(static_cast<std::size_t>(options.size));
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < options.size; ++rank) {
    ranks.emplace_back([&, rank] {
      errors[static_cast<std::size_t>(rank)] = error_of([&] {
        auto connector = make_store_connector(loopback_device(), store->new_client(), runtime);
        if (options.wrap) connector = options.wrap(rank, std::move(connector));
        std::shared_ptr<Gang> gang = make_gloo_gang({.connector = connector,
                                                     .runtime = runtime,
                                                     .rank = rank,
                                                     .size = options.size,
                                                     .timeout = options.timeout});
        body(gang);
      });
    });
  }
  ranks.clear();
  return errors;
}

// The same for a body that must not fail on any rank.
inline void on_gloo_ranks(const GlooRanksOptions& options,
                          const std::function<void(std::shared_ptr<Gang>&)>& body) {
  const std::vector<RankError> errors = run_gloo_ranks(options, body);
  for (std::size_t rank = 0; rank < errors.size(); ++rank)
    EXPECT_EQ(errors[rank].kind, "") << "rank " << rank << ": " << errors[rank].text;
}

}  // namespace gang::test
