// What happened in a run, in order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/call_site.h"
#include "gang/call_text.h"
#include "gang/duration.h"
#include "sim/schedule/schedule.h"

namespace gang::sim {

enum class TraceEventKind : std::uint8_t {
  post,      // a context called an operation
  complete,  // an operation completed for a context
  fail,      // an operation failed for a context
  task_start,
  task_end,
};

std::string_view to_string(TraceEventKind kind) noexcept;

// TraceEvent::call_site of a task's beginning and end.
inline constexpr std::uint32_t no_call_site = 0xffff'ffff;

struct TraceEvent {
  TraceEventKind kind = TraceEventKind::post;
  TaskId task = 0;
  int rank = 0;            // of the root gang
  std::uint32_t gang = 0;  // index into Trace::gangs
  std::uint64_t sequence_number = 0;
  TimePoint time{0};
  CallText call;  // of tasks: the name of the context as its kind; empty: the program
  std::uint32_t call_site = no_call_site;  // index into Trace::call_sites

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

// The events of a run in the order in which they happened. Byte for byte the same for the same
// program, options and seed, on fibers and on threads. `digest` covers every event whether or not
// the events were kept. A value.
struct Trace {
  std::uint64_t digest = 0;
  std::vector<std::string> gangs;          // labels, by gang index
  std::vector<SourceLocation> call_sites;  // each once, in the order of their first events
  std::vector<TraceEvent> events;          // empty unless recorded

  friend bool operator==(const Trace&, const Trace&) = default;
};

// Where the event's call is; empty for tasks.
const SourceLocation& location_of(const Trace& trace, const TraceEvent& event) noexcept;

// One line per event, virtual timestamps only.
std::string to_string(const Trace& trace);

// Chrome trace format (JSON object with traceEvents), one process per rank, one thread per context.
// Opens in Perfetto. Operations that never ended last to the end. If no virtual time passes, events
// are a microsecond apart, in order; `otherData.axis` says which applies. Source: "Trace Event
// Format", Google, 2016.
std::string to_chrome_trace(const Trace& trace);

}  // namespace gang::sim
