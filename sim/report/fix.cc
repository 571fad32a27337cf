#include "sim/report/fix.h"

namespace gang::sim {
namespace {

// About sends and receives, where it is not what is to be done about other calls. Empty: it is.
std::string_view fix_for_message(const Finding& finding) noexcept {
  const bool is_send = finding.call.kind == "send";
  const bool is_batch = finding.call.kind == "batch";
  if (!is_send && !is_batch && finding.call.kind != "recv") return "";
  if (finding.id == finding_id::participant_missing) {
    if (is_batch) return "give each send of a batch its receive on the other rank, and vice versa";
    return is_send ? "receive it on the other rank, or do not send it"
                   : "send it from another rank, or do not receive it";
  }
  if (finding.id == finding_id::point_to_point_cycle) {
    if (finding.ranks.size() == 1)
      return "copy the buffer, or start send and receive before the waits";
    if (is_batch) return "order the batches so that each send meets its receive";
    if (!is_send) return "let one side send first, or use batch";  // see told_message
  }
  if (finding.id == finding_id::mismatch_count) return "receive as many elements as are sent";
  if (finding.id == finding_id::mismatch_data_type) return "receive the data type that is sent";
  if (finding.id == finding_id::mismatch_gang) return "send and receive on one gang";
  return "";
}

// Whether the calls that do not match are at different places: they may be one, of which each side
// has its own, or two, of which a rank has left one out.
bool has_two_places(const Finding& finding) noexcept {
  if (!finding.divergence || finding.divergence->next.size() < 2) return false;
  const SourceLocation& first = finding.divergence->next[0].location;
  const SourceLocation& second = finding.divergence->next[1].location;
  return !first.file.empty() && !second.file.empty() && !is_same_line(first, second);
}

// An all_to_all whose members pass different numbers is right if they fit, pair by pair.
std::string_view fix_for_pairs(const Finding& finding) noexcept {
  const bool is_of_pairs = finding.id == finding_id::mismatch_count &&
                           finding.call.kind == "all_to_all" && !has_two_places(finding);
  return is_of_pairs ? "receive from each rank as many elements as it sends" : "";
}

std::string_view fix_for_two_places(const Finding& finding) noexcept {
  if (!has_two_places(finding)) return "";
  if (finding.id == finding_id::mismatch_count)
    return "call the same operations in the same order, with the same number of elements";
  if (finding.id == finding_id::mismatch_data_type)
    return "call the same operations in the same order, with the same data type";
  if (finding.id == finding_id::mismatch_reduce_operation)
    return "call the same operations in the same order, with the same reduce operation";
  if (finding.id == finding_id::mismatch_root)
    return "call the same operations in the same order, with the same root";
  return "";
}

}  // namespace

std::string_view fix_for(const Finding& finding) noexcept {
  for (const std::string_view fix :
       {fix_for_message(finding), fix_for_pairs(finding), fix_for_two_places(finding)})
    if (!fix.empty()) return fix;
  return fix_for(finding.id);
}

}  // namespace gang::sim
