// Connects Gloo gangs through a Store.
#pragma once

#include <memory>

#include <gloo/transport/device.h>

#include "gang/gloo/gloo_connector.h"
#include "gang/runtime.h"
#include "gang/store/store.h"

namespace gang {

// The members of a gang write the addresses at which they listen to `store` and connect to each
// other, with one connection per pair. `device` makes the transports: Gloo's TCP device, or any
// other. Time is that of `runtime`.
std::shared_ptr<GlooConnector> make_store_connector(std::shared_ptr<gloo::transport::Device> device,
                                                    std::shared_ptr<Store> store,
                                                    std::shared_ptr<Runtime> runtime);

// Gloo's TCP device on the address from which this machine reaches `host`. Throws InvalidArgument
// if there is no such address. Makes this process ignore SIGPIPE if that would end it, since Gloo
// writes to connections whose other end may be gone.
std::shared_ptr<gloo::transport::Device> make_tcp_device(const std::string& host);

}  // namespace gang
