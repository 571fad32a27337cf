// Part of a store, for one purpose: every key gets a prefix.
#pragma once

#include <memory>
#include <string>

#include "gang/store/store.h"

namespace gang {

// Sends every operation to `store` with the key "PREFIX/KEY". cancel() cancels `store`; to cancel
// the part alone, give it its own client (`store->new_client()`). num_keys() counts all keys of
// `store`. Errors: those of `store`, whose messages name the whole key; InvalidArgument for a null
// store or an empty prefix. Source: the joined keys are those of torch.distributed.PrefixStore.
std::shared_ptr<Store> make_prefix_store(std::string prefix, std::shared_ptr<Store> store);

}  // namespace gang
