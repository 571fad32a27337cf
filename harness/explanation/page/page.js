"use strict";
// The page of a run. Everything shown is set as text, never as markup.

const run = JSON.parse(document.getElementById("run").textContent);
const svg_namespace = "http://www.w3.org/2000/svg";

// element("p.lead", {title: "..."}, child, ...): children are nodes or texts.
function element(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  return filled(document.createElement(tag), classes, attributes, children);
}

function svg(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  return filled(document.createElementNS(svg_namespace, tag), classes, attributes, children);
}

function filled(made, classes, attributes, children) {
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== "") made.append(child);
  }
  return made;
}

// "rank 3", "ranks 0-3, 8": of a group, or of a call, by its `count`.
function rank_words(group, ranks = group.short_ranks) {
  return (group.count === 1 ? "rank " : "ranks ") + ranks.replaceAll(",", ", ");
}

// "0-3,8,10-14:2": "0-3, 8, 10-14 in steps of 2".
function range_words(ranks) {
  return ranks.replaceAll(",", ", ").replace(/:(\d+)/g, " in steps of $1");
}

// The ranks of a group; many of them are folded away.
function rank_list(group) {
  const words = range_words(group.ranks);
  const context = group.context ? `context ${group.context}` : "";
  if (words.length <= 100) return [words, context].filter((text) => text).join(", ");
  return element("details", {}, element("summary", {},
    [range_words(group.short_ranks), context].filter((text) => text).join(", ")), words);
}

function holds_rank(group, rank) {
  return group.ranges.some(([first, last, stride]) =>
    rank >= first && rank <= last && (rank - first) % stride === 0);
}

// What a choice is told with: Enter and Space work wherever a click does.
function choosing(action) {
  return {
    tabindex: "0",
    role: "button",
    click: action,
    keydown: (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      action();
    },
  };
}

// ---------------------------------------------------------------- the choice and its details

const shown_as = new Map();  // node index -> elements that show it

function show_as(node, shown) {
  if (!shown_as.has(node)) shown_as.set(node, []);
  shown_as.get(node).push(shown);
}

function mark_chosen(elements) {
  for (const marked of document.querySelectorAll(".chosen")) marked.classList.remove("chosen");
  for (const shown of elements) shown.classList.add("chosen");
}

function show_details(title, entries) {
  const panel = document.getElementById("details");
  const list = element("dl");
  for (const [name, value] of entries) {
    if (value === "" || value === null || value === undefined) continue;
    list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  }
  const close = element("button.close", {type: "button", click: close_details}, "Close");
  panel.replaceChildren(close, element("h2.code", {}, title), list);
  panel.scrollTop = 0;
}

function close_details() {
  document.getElementById("details").classList.remove("open");
}

function chip(node) {
  return element("button.chip", {type: "button", click: () => choose_node(node)},
                 rank_words(run.nodes[node]));
}

function operation_words(node) {
  return node.operation || node.note || "not blocked";
}

function choose_node(index, opens = true) {
  const node = run.nodes[index];
  mark_chosen(shown_as.get(index) ?? []);
  const role = !node.is_blocked ? element("span.tag.core", {}, "not blocked")
      : node.is_core ? element("span.tag.core", {}, "core: one of these must change")
      : element("span.tag.downstream", {}, "only waits for the core");
  const targets = run.edges.filter((edge) => edge[0] === index).map((edge) => chip(edge[1]));
  const waiting = run.edges.filter((edge) => edge[1] === index).map((edge) => chip(edge[0]));
  show_details(operation_words(node), [
    ["Role", role],
    [node.count > 1 ? `Ranks (${node.count})` : "Rank", rank_list(node)],
    ["Gang", node.gang && element("code", {}, node.gang)],
    ["Arguments", node.arguments],
    ["Sequence number", node.sequence],
    ["Called at", node.location && element("code", {}, node.location)],
    ["Behind, on its stream", node.behind && element("code", {},
        [node.behind, node.behind_location].filter((text) => text).join(" at "))],
    [node.waits_for_any ? "Waits for any one of" : "Waits for", targets.length ? targets
        : range_words(node.waits_for)],
    ["Ranks waited for", node.is_alike && node.waits_for_count > 1 && targets.length
        ? `${range_words(node.waits_for)} (${node.waits_for_count})` : ""],
    ["Waited for by", waiting.length ? waiting : ""],
    ["Note", node.is_blocked ? node.note : ""],
    ["Would fail after", node.timeout],
    ["Call stack", node.stack && element("pre", {}, node.stack)],
  ]);
  if (opens) document.getElementById("details").classList.add("open");
}

// ---------------------------------------------------------------- sections

function section(title, about, ...children) {
  return element("section", {}, element("h2", {}, title),
                 about && element("p.about", {}, about), ...children);
}

function draw_verdict() {
  const first_words = (run.outcome === "completed" && run.findings.length ? "completed, but"
      : run.outcome).replaceAll("_", " ");
  const mark = run.holds ? "✓ " : "✕ ";
  const advice = element("dl.advice");
  for (const [name, text] of run.advice) {
    const value = name === "Reproduce" ? element("code", {}, text) : text;
    const copy = name === "Reproduce" && navigator.clipboard
        ? element("button.copy", {type: "button", click: (event) => copy_text(event, text)}, "Copy")
        : null;
    advice.append(element("dt", {}, name),
                  element(name === "Fix" ? "dd.fix" : "dd", {}, value, copy));
  }
  document.getElementById("verdict").append(element("div", {},
    element("p.eyebrow", {},
      element(run.holds ? "span.badge.holds" : "span.badge", {},
              mark + first_words[0].toUpperCase() + first_words.slice(1)),
      run.id && element("code", {}, run.id),
      element("span.run", {}, [run.program, run.world && `world ${run.world}`, `seed ${run.seed}`]
        .filter((text) => text).join(" · "))),
    element("h1", {}, run.verdict),
    run.more && element("p.lead", {}, run.more),
    advice));
}

function copy_text(event, text) {
  navigator.clipboard.writeText(text).then(() => { event.target.textContent = "Copied"; });
}

function summary_card(kind, heading, call) {
  return element("div." + kind, {},
    element("h3", {}, heading),
    call.operation
      ? element("p", {}, element("code", {}, [call.gang, call.operation].join(" ").trim()))
      : element("p", {}, call.note || "no call"),
    call.operation && call.note ? element("p", {}, call.note) : "",
    call.location && element("p.quiet", {}, element("code", {}, call.location)));
}

function draw_way(kind, heading, way) {
  const lines = way.deeds.map(({context, did}) => element("li", {},
    element("strong", {}, "rank " + context), did));
  if (way.further) lines.push(element("li", {}, "", `and ${way.further} more`));
  return element("div." + kind, {}, element("h3", {}, heading), element("ol", {}, lines),
                 element("p", {}, "→ " + way.end));
}

// What makes the failure one, and what the ranks concerned do if it is decided otherwise.
function draw_decisive(main) {
  const decisive = run.decisive;
  if (!decisive) return;
  const ways = decisive.found && element("div.card.parting.ways", {},
    draw_way("odd", "As found", decisive.found),
    draw_way("most", "The other way", decisive.otherwise));
  const text = decisive.text[0].toUpperCase() + decisive.text.slice(1) + ".";
  main.append(section("The choice that decides", [text, decisive.consequence].join(" ").trim(),
                      ways || ""));
}

function draw_divergence(divergence) {
  const cards = [];
  const common = divergence.last_common;
  divergence.parted.forEach((call) => {
    cards.push(summary_card("common", "Already apart: " + rank_words(call), call));
  });
  if (!divergence.parted.some((call) => call.operation === common.operation))
    cards.push(summary_card("common", common.operation ? "Last call of all" : "Before",
      common.operation ? common : {note: "no call in common"}));
  divergence.next.forEach((call, i) => {
    cards.push(summary_card(i === 0 && divergence.has_majority ? "most" : "odd",
                            "Then " + rank_words(call), call));
  });
  return element("div.card.parting", {}, cards);
}

function draw_near_misses(misses) {
  return element("ul.card.items", {}, misses.map((miss) => element("li", {},
    miss.field === "call site"
      ? element("p", {}, "These calls matched, made in different places:")
      : element("p", {}, "These would match if ", element("strong", {}, miss.field),
                " were equal:"),
    [miss.first, miss.second].map((call) => element("p", {}, rank_words(call) + ": ",
      element("code", {}, [call.gang, call.operation].join(" ").trim()),
      call.location ? element("span.quiet", {}, "  at " + call.location) : "")))));
}

const most_rows = 40;

function draw_table(indices) {
  const body = element("tbody");
  const add = (index) => {
    const node = run.nodes[index];
    const row = element("tr.choice", choosing(() => choose_node(index)),
      element("td.ranks", {"data-name": "rank"},
              node.short_ranks.replaceAll(",", ", ") + (node.context ? " / " + node.context : "")),
      element("td", {"data-name": "blocked in"},
              element("code", {}, [node.gang, node.operation].join("  ").trim())),
      element("td", {"data-name": "waits for"},
              (node.waits_for_any ? "any of " : "") + (node.waits_for || "-")),
      element("td.at", {"data-name": "at"}, element("code", {}, node.location)));
    row.dataset.node = index;
    show_as(index, row);
    body.append(row);
  };
  indices.slice(0, most_rows).forEach(add);
  const heads = ["rank", "blocked in", "waits for", "at"].map((name) => element("th", {}, name));
  const table = element("table", {}, element("thead", {}, element("tr", {}, heads)), body);
  const rest = indices.slice(most_rows);
  const more = rest.length ? element("div.tools", {}, element("button", {type: "button",
    click: (event) => { rest.forEach(add); event.target.parentElement.remove(); }},
    `Show ${rest.length} more`)) : "";
  return element("div.card", {}, table, more);
}

function draw_blocked(main) {
  const blocked = run.nodes.map((node, i) => i).filter((i) => run.nodes[i].is_blocked);
  if (!blocked.length) return;
  const core = blocked.filter((i) => run.nodes[i].is_core);
  const downstream = blocked.filter((i) => !run.nodes[i].is_core);
  if (core.length) {
    main.append(section("The core", "One of these calls must change.", rank_finder(),
                        draw_table(core)));
  }
  if (downstream.length) {
    main.append(section("Blocked behind these",
                        "Nothing is wrong with these: they wait for the core, or for each other.",
                        core.length ? "" : rank_finder(), draw_table(downstream)));
  }
}

function rank_finder() {
  if (run.world <= 16) return "";
  const message = element("span.message", {role: "status"});
  const find = (event) => {
    event.preventDefault();
    const rank = Number(event.target.elements.rank.value);
    const index = run.nodes.findIndex((node) => holds_rank(node, rank));
    message.textContent = index < 0 ? `Rank ${rank} is not blocked, and no rank waits for it.` : "";
    if (index >= 0) choose_node(index);
  };
  return element("form.tools", {submit: find},
    element("label", {}, "Find rank ", element("input", {name: "rank", type: "number", min: "0",
      max: String(run.world - 1), required: "", "aria-label": "rank"})),
    element("button", {type: "submit"}, "Show"), message);
}

function draw_findings(main) {
  run.findings.forEach((finding, i) => {
    if (i > 0) {
      main.append(section("Also found: " + finding.id, "", element("ul.card.items", {},
        element("li", {}, finding.message),
        finding.fix && element("li", {}, "Fix: " + finding.fix),
        finding.certainty && element("li", {}, "Certainty: " + finding.certainty))));
    }
    if (finding.divergence) {
      main.append(section("Where they part", "", draw_divergence(finding.divergence)));
    }
    if (finding.near_misses.length) {
      main.append(section("Near misses", "", draw_near_misses(finding.near_misses)));
    }
  });
}

function draw_consequences(main) {
  run.findings.forEach((finding) => {
    if (!finding.consequences.length) return;
    main.append(section("What followed", "Consequences of " + finding.id + ", not causes.",
      element("ul.card.items", {}, finding.consequences.map((text) => element("li", {}, text)))));
  });
}

function draw_handled(main) {
  if (!run.handled.length) return;
  const items = run.handled.map((error) => element("li.handled", {},
    element("p", {}, error.message),
    element("p.quiet", {}, element("code", {},
            [error.id, error.location].filter((text) => text).join(" at ")))));
  if (run.handled_left_out) items.push(element("li", {}, `and ${run.handled_left_out} more`));
  main.append(section("Errors that the program handled", "The program caught these, so they are not findings.",
                      element("ul.card.items", {}, items)));
}

function draw_facts(main) {
  main.append(section("The run", "", element("dl.card.facts", {}, run.facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, element("code", {}, value)))))));
}
