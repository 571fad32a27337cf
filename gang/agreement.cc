#include "gang/agreement.h"

namespace gang {

bool broadcast_flag(Gang& gang, bool flag, int source_rank, CallSite call_site) {
  gang.broadcast(view_of(flag), source_rank, {}, call_site);
  return flag;
}

std::int64_t all_sum(Gang& gang, std::int64_t value, CallSite call_site) {
  gang.all_reduce(view_of(value), ReduceOperation::sum, {}, call_site);
  return value;
}

double all_sum(Gang& gang, double value, CallSite call_site) {
  gang.all_reduce(view_of(value), ReduceOperation::sum, {}, call_site);
  return value;
}

}  // namespace gang
