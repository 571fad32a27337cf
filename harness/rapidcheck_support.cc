#include "harness/rapidcheck_support.h"

namespace gang::harness {

RunResult check_holds(const RunSpecification& specification,
                      const std::function<void(Rank&)>& body) {
  const Program program{.name = "property", .description = "a case of a property", .run = body};
  RunSpecification named = specification;
  if (named.program.empty()) named.program = program.name;
  RunResult result = run(program, named);
  if (!result.holds()) RC_FAIL(sim::to_string(result.report));
  return result;
}

}  // namespace gang::harness
