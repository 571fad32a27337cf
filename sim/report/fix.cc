#include "sim/report/fix.h"

namespace gang::sim {
namespace {

// About sends and receives, where it is not what is to be done about other calls. Empty: it is.
std::string_view fix_for_message(const Finding& finding) noexcept {
  const bool is_send = finding.call.kind == "send";
  if (!is_send && finding.call.kind != "recv") return "";
  if (finding.id == finding_id::participant_missing)
    return is_send ? "receive it on the other rank, or do not send it"
                   : "send it from another rank, or do not receive it";
  if (finding.id == finding_id::point_to_point_cycle && finding.ranks.size() == 1)
    return "copy the buffer, or start send and receive before the waits";
  if (finding.id == finding_id::mismatch_count) return "receive as many elements as are sent";
  if (finding.id == finding_id::mismatch_data_type) return "receive the data type that is sent";
  if (finding.id == finding_id::mismatch_gang) return "send and receive on one gang";
  return "";
}

}  // namespace

std::string_view fix_for(const Finding& finding) noexcept {
  const std::string_view fix = fix_for_message(finding);
  return fix.empty() ? fix_for(finding.id) : fix;
}

}  // namespace gang::sim
