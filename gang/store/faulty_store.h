// A store that does not always answer, to test what is built on stores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/runtime.h"
#include "gang/store/store.h"

namespace gang {

enum class StoreFaultKind : std::uint8_t {
  unavailable,  // a request is not answered before `begins` + `lasts`
  slow,         // an answer arrives `delay` later
  lossy,        // a request or its answer does not arrive
};

std::string_view to_string(StoreFaultKind kind) noexcept;

// Something that goes wrong between clients and their store. A value.
struct StoreFault {
  StoreFaultKind kind = StoreFaultKind::unavailable;
  Duration begins{0};                         // since the faulty store was made
  Duration lasts = no_timeout;                // no_timeout: forever
  Duration delay{0};                          // of slow
  std::optional<std::uint64_t> request = {};  // only this one, counted from 0; none: any request,
  double probability = 1;                     // with this probability

  friend bool operator==(const StoreFault&, const StoreFault&) = default;
};

// "slow by 5 ms", "unavailable from 1 s for 2 s", "lossy at request 3".
std::string to_string(const StoreFault& fault);

struct FaultyStoreOptions {
  std::vector<StoreFault> faults;
  Duration patience = std::chrono::seconds(30);  // the timeout of requests that have none, > 0
  std::uint64_t seed = 1;                        // decides what is lost
};

// Sends every operation to `store`, as far as the faults allow. A request that gets no answer ends
// with StoreError timeout after its own timeout or, without one, after `patience`; it may
// nevertheless have changed the store. Requests are not repeated. Clients made with new_client
// share the faults and the count of requests. `runtime` must outlive the store. Throws
// InvalidArgument for a null store, a patience that is not positive, a negative time, or a
// probability outside [0, 1].
std::shared_ptr<Store> make_faulty_store(Runtime& runtime, std::shared_ptr<Store> store,
                                         FaultyStoreOptions options);

}  // namespace gang
