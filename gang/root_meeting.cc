#include "gang/root_meeting.h"

#include <string>
#include <utility>

#include "gang/gang_cause.h"
#include "gang/store/rendezvous.h"

namespace gang {

std::shared_ptr<Store> meet_as_root_gang(const Environment& environment, Duration timeout) {
  try {
    return make_rendezvous_store(environment, timeout);
  } catch (const StoreError& error) {
    GangCause cause = cause_of(error);
    GangFailure failure;
    failure.kind = cause.kind;
    failure.gang = "root[0-" + std::to_string(environment.world_size - 1) + "]";
    failure.rank = environment.rank;
    failure.operation.kind = OperationKind::create_gang;
    failure.operation.count = environment.world_size;
    failure.operation.shape = Shape::vector(environment.world_size);
    failure.elapsed = timeout;
    failure.reason = std::move(cause.reason);
    throw GangError(std::move(failure));
  }
}

}  // namespace gang
