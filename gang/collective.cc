#include "gang/collective.h"

#include "gang/call_text.h"

namespace gang {

std::string to_string(const Collective& collective) { return to_string(describe(collective)); }

}  // namespace gang
