// A store in this process.
#pragma once

#include <memory>

#include "gang/runtime.h"
#include "gang/store/store.h"

namespace gang {

// A client of a new, empty map. Waits go through `runtime`, which must outlive every client: with a
// simulated one they take virtual time, and every switch is the scheduler's choice.
// Errors: only those of Store.
std::shared_ptr<Store> make_memory_store(Runtime& runtime);

}  // namespace gang
