"use strict";
// Faults of the run's plan that happened: a list, and a mark each in the timeline.

function fault_words(fault) {
  return fault.description[0].toUpperCase() + fault.description.slice(1);
}

function choose_fault(index) {
  const fault = run.faults[index];
  const marks = [...document.querySelectorAll(`[data-fault="${index}"]`)];
  mark_chosen(marks);
  show_details(fault_words(fault), [
    ["Kind", element("code", {}, fault.kind)],
    ["Rank", String(fault.rank)],
    ["Virtual time", fault.time],
    ["How often", fault.count > 1 ? `${fault.count} times; this is the first` : ""],
    ["In the plan", fault.planned],
  ]);
  document.getElementById("details").classList.add("open");
  const drawn = marks.find((mark) => mark.classList.contains("fault"));
  if (drawn) drawn.scrollIntoView({block: "nearest", inline: "center"});
}

// The marks of a lane, side by side where several are at one place.
function fault_marks(lane, axis) {
  let free = 0;
  return run.faults.flatMap((fault, index) => {
    if (lane.context || !holds_rank(lane, fault.rank)) return [];
    const place = axis.place(fault);
    const left = Math.max(place - 9, free);
    free = left + 20;
    const words = `Fault: ${fault.description}`;
    return [
      element("span.struck", {style: `left:${place}px`}),
      element("button.fault", {type: "button", title: words, "aria-label": words,
        "data-fault": index, click: () => choose_fault(index), style: `left:${left}px`}, "◆"),
    ];
  });
}

function draw_faults(main) {
  if (!run.faults.length) return;
  const items = run.faults.map((fault, index) => element("li", {},
    element("button.chip", {type: "button", "data-fault": index,
                            click: () => choose_fault(index)}, "rank " + fault.rank),
    fault_words(fault) + (fault.count > 1 ? `, ${fault.count} times` : ""),
    element("span.quiet", {}, `  at ${fault.time}`)));
  const left_out = run.faults_left_out ? ` ${run.faults_left_out} more are not shown.` : "";
  main.append(section("Faults", "The faults of the plan that happened, in the order of the plan." + left_out,
                      element("ul.card.items", {}, items)));
}
