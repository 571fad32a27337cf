#include "gang/root_meeting.h"

#include "gang/gang.h"
#include "gang/gang_cause.h"
#include "gang/store/rendezvous.h"

namespace gang {

std::shared_ptr<Store> meet_as_root_gang(const Environment& environment, Duration timeout) {
  try {
    return make_rendezvous_store(environment, timeout);
  } catch (const StoreError& error) {
    const GangInfo root{.name = "root", .size = environment.world_size};
    throw error_for(root, environment.rank, creation_of(environment.world_size), cause_of(error),
                    timeout);
  }
}

}  // namespace gang
