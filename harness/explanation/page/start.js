"use strict";
// Draws the page: the verdict, then what explains it, the most telling first.

function draw_page() {
  const main = document.getElementById("main");
  draw_verdict();
  draw_decisive(main);
  draw_findings(main);
  draw_blocked(main);
  draw_graph(main);
  draw_faults(main);
  draw_timeline(main);
  draw_consequences(main);
  draw_handled(main);
  draw_facts(main);
  const first = run.nodes.findIndex((node) => node.is_core && node.is_blocked);
  if (first >= 0) choose_node(first, false);
  else if (run.nodes.length) choose_node(0, false);
  else show_details("Details", [["", "Choose an operation in the timeline."]]);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close_details();
  });
}

draw_page();
