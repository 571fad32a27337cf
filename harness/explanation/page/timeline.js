"use strict";
// The timeline: a lane for each rank, or for ranks that called the same, a box for each operation.

const timeline_shape = {least: 76, usual: 118, row: 28, faults: 22, finish: 110};
let is_by_time = false;

function call_words(slice) {
  const call = run.timeline.calls[slice.call];
  const number = call.is_message ? "" : ` #${slice.sequence}`;
  return `${call.operation}${number} ${call.arguments}`.trim();
}

function gang_name(slice) {
  return run.timeline.gangs[slice.gang].name;
}

// Where time begins and ends on the axis, and how many pixels a unit has.
function axis_of(room) {
  const slices = run.timeline.lanes.flatMap((lane) => lane.slices);
  const field = is_by_time ? "ns" : "steps";
  const first = Math.min(...slices.map((slice) => slice[field][0]));
  const last = Math.max(...slices.map((slice) => slice[field][1])) + (is_by_time ? 0 : 1);
  const units = Math.max(1, last - first);
  const width = is_by_time ? Math.max(room, 480)
      : Math.min(Math.max(room, units * timeline_shape.least), units * timeline_shape.usual);
  const scale = width / units;
  return {
    width,
    full_width: Math.max(width, room) + timeline_shape.finish,
    left: (slice) => (slice[field][0] - first) * scale,
    right: (slice) => (slice[field][1] + (is_by_time ? 0 : 1) - first) * scale,
    // Of a fault: after the step that its rank was at.
    place: (fault) => Math.min(width,
                               Math.max(0, (is_by_time ? fault.ns : fault.step + 1) - first) * scale),
  };
}

// Rows such that operations that overlap stand below each other.
function rows_of(slices, axis) {
  const ends = [];
  return slices.map((slice) => {
    let row = ends.findIndex((end) => end <= axis.left(slice) + 0.5);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = Math.max(axis.right(slice), axis.left(slice) + 6);
    return row;
  });
}

function slice_state(lane, slice) {
  if (slice.status !== "pending") return slice.status;
  if (lane.node === null || !slice.is_blocked) return "pending";
  return run.nodes[lane.node].is_core ? "blocked" : "blocked downstream";
}

const state_words = {
  "complete": "completed", "failed": "failed", "pending": "started, not finished",
  "blocked": "blocked forever", "blocked downstream": "blocked behind the core",
};

function choose_slice(lane, slice, drawn) {
  if (slice.is_blocked && lane.node !== null) {
    choose_node(lane.node);
    return;
  }
  mark_chosen([drawn]);
  const call = run.timeline.calls[slice.call];
  const times = slice.ns[1] > 0 ? `${slice.ns[0] / 1e6} ms to ${slice.ns[1] / 1e6} ms` : "";
  show_details(call_words(slice), [
    ["State", state_words[slice_state(lane, slice)]],
    [lane.count > 1 ? `Ranks (${lane.count})` : "Rank", rank_list(lane)],
    ["Gang", element("code", {}, run.timeline.gangs[slice.gang].label + (lane.count > 1
        ? " (that of its first rank)" : ""))],
    ["Arguments", call.arguments],
    ["Sequence number", call.is_message ? "" : String(slice.sequence)],
    ["Called at", element("code", {}, call.at)],
    ["Steps", `${slice.steps[0]} to ${slice.steps[1]}`],
    ["Virtual time", times],
  ]);
  document.getElementById("details").classList.add("open");
}

// Left and right go through the operations of a lane.
function on_arrow(event) {
  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  const next = event.key === "ArrowLeft" ? event.target.previousElementSibling
                                         : event.target.nextElementSibling;
  if (next === null || !next.classList.contains("slice")) return;
  event.preventDefault();
  next.focus();
}

function slice_button(lane, slice, place) {
  const state = slice_state(lane, slice);
  const hue = run.timeline.names.indexOf(gang_name(slice)) % 6;
  const mark = state.startsWith("blocked") ? "‖ " : state === "failed" ? "✕ " : "";
  const words = `${gang_name(slice)} ${call_words(slice)}`;
  const drawn = element("button.slice", {
    type: "button", tabindex: place.is_last ? "0" : "-1", keydown: on_arrow,
    title: `${words}: ${state_words[state]}`, "aria-label": `${words}: ${state_words[state]}`,
    click: () => choose_slice(lane, slice, drawn),
    style: `left:${place.left}px;width:${place.width}px;top:${place.top}px`}, mark + words);
  drawn.classList.add("g" + hue, ...state.split(" "));
  if (slice.is_blocked && lane.node !== null) {
    drawn.dataset.node = lane.node;
    show_as(lane.node, drawn);
  }
  return drawn;
}

function finish_mark(lane, left, top) {
  if (lane.end === "none") return "";
  const words = lane.end === "failed" ? "✕ exception" : "■ returned";
  return element("span.finish." + lane.end, {style: `left:${left + 6}px;top:${top}px`}, words);
}

function draw_lane(lane, axis) {
  const rows = rows_of(lane.slices, axis);
  const marks = fault_marks(lane, axis);
  const top = 4 + (marks.length ? timeline_shape.faults : 0);
  const height = top + (Math.max(0, ...rows) + 1) * timeline_shape.row + 2;
  const track = element("div.track", {
    style: `width:${axis.full_width}px;height:${height}px`});
  let right = 0;
  lane.slices.forEach((slice, i) => {
    const left = axis.left(slice);
    const end = slice.status === "pending" ? axis.full_width
                                           : Math.max(axis.right(slice), left + 6);
    right = Math.max(right, end);
    track.append(slice_button(lane, slice, {left: left + 2, width: end - left - 3,
      top: top + rows[i] * timeline_shape.row, is_last: i + 1 === lane.slices.length}));
  });
  track.append(finish_mark(lane, right, top), ...marks);
  const notes = [lane.context && "context " + lane.context,
                 lane.count > 1 && `${lane.count} ranks`,
                 lane.left_out && `${lane.left_out} earlier not shown`].filter((note) => note);
  const who = element("div.who", {title: rank_words(lane, lane.ranks)},
    rank_words(lane, shortened(lane.short_ranks, 40)),
    notes.map((note) => element("small", {}, note)));
  const drawn = element("div.lane" + (lane.is_odd ? ".odd" : ""), {}, who, track);
  if (lane.node !== null) show_as(lane.node, drawn);
  return drawn;
}

const most_first_lanes = 24;

function fill_timeline(view) {
  const room = view.clientWidth - timeline_shape.finish - 160;
  const axis = axis_of(Math.max(room, 240));
  const lanes = run.timeline.lanes;
  view.replaceChildren(...lanes.slice(0, most_first_lanes).map((lane) => draw_lane(lane, axis)));
  const rest = lanes.slice(most_first_lanes);
  if (rest.length) {
    const more = element("div.tools", {}, element("button", {type: "button", click: () => {
      more.replaceWith(...rest.map((lane) => draw_lane(lane, axis)));
    }}, `Show ${rest.length} more lanes`));
    view.append(more);
  }
  view.scrollLeft = view.scrollWidth;  // What is blocked is at the end.
}

function axis_tools(view) {
  if (!run.timeline.has_time) return "";
  const buttons = [["Steps", false], ["Virtual time", true]].map(([name, by_time]) =>
    element("button", {type: "button", "aria-pressed": String(is_by_time === by_time), click: () => {
      is_by_time = by_time;
      buttons.forEach((button) => button.setAttribute("aria-pressed",
                                                      String(button.textContent === name)));
      fill_timeline(view);
    }}, name));
  return element("div.tools", {role: "group", "aria-label": "Axis"}, buttons);
}

function timeline_key() {
  const states = new Set(run.timeline.lanes.flatMap((lane) => lane.slices.map(
    (slice) => slice_state(lane, slice))));
  const items = run.timeline.names.slice(0, 6).map((name, i) =>
    element("span", {}, element("span.swatch", {style: `background:var(--gang-${i})`}), name));
  if (states.has("blocked")) items.push(element("span", {}, "‖ hatched: blocked forever"));
  else if (states.has("blocked downstream")) items.push(element("span", {}, "‖ hatched: blocked"));
  if (states.has("pending")) items.push(element("span", {}, "dashed: started, not finished"));
  if (states.has("failed")) items.push(element("span", {}, "✕ failed"));
  if (run.faults.length) items.push(element("span", {}, element("span.struck-key", {}, "◆"),
                                            " a fault struck the rank"));
  return element("p.key", {}, items);
}

function draw_timeline(main) {
  const timeline = run.timeline;
  if (timeline === null || !timeline.lanes.some((lane) => lane.slices.length)) return;
  const view = element("div.timeline");
  const grouped = timeline.lanes.some((lane) => lane.count > 1)
      ? " Ranks that made the same calls share a lane." : "";
  const cut = timeline.lanes_left_out ? ` ${timeline.lanes_left_out} more lanes are not shown.` : "";
  main.append(section("Timeline", "Each operation, from its call until the last rank that it " +
    "waits for has called." + grouped + cut,
    axis_tools(view), element("div.card", {}, view, timeline_key())));
  fill_timeline(view);
}
