"use strict";
// The wait-for graph: those who wait above those they wait for, cycles as a ring of boxes.

const box = {width: 214, height: 66, gap_x: 52, gap_y: 50};

function successors_of(count, edges) {
  const successors = Array.from({length: count}, () => []);
  for (const [from, to] of edges) if (from !== to) successors[from].push(to);
  return successors;
}

// The strongly connected components, each as a list of nodes (Tarjan, without recursion).
function components_of(successors) {
  const order = new Array(successors.length).fill(-1);
  const low = new Array(successors.length).fill(0);
  const on_stack = new Array(successors.length).fill(false);
  const stack = [];
  const components = [];
  let count = 0;
  for (let root = 0; root < successors.length; ++root) {
    if (order[root] >= 0) continue;
    const visits = [[root, 0]];
    while (visits.length) {
      const visit = visits[visits.length - 1];
      const node = visit[0];
      if (visit[1] === 0) {
        order[node] = low[node] = count++;
        stack.push(node);
        on_stack[node] = true;
      }
      if (visit[1] < successors[node].length) {
        const next = successors[node][visit[1]++];
        if (order[next] < 0) visits.push([next, 0]);
        else if (on_stack[next]) low[node] = Math.min(low[node], order[next]);
        continue;
      }
      visits.pop();
      if (visits.length) {
        const parent = visits[visits.length - 1][0];
        low[parent] = Math.min(low[parent], low[node]);
      }
      if (low[node] !== order[node]) continue;
      const component = [];
      let member;
      do {
        member = stack.pop();
        on_stack[member] = false;
        component.push(member);
      } while (member !== node);
      components.push(component);
    }
  }
  return components;
}

// Members of a component in the order in which each waits for the next, as far as that goes.
function around(component, successors) {
  const left = new Set(component);
  const order = [];
  let node = Math.min(...component);
  while (node !== undefined) {
    order.push(node);
    left.delete(node);
    node = successors[node].find((next) => left.has(next)) ?? [...left][0];
  }
  return order;
}

// Cells (column, row) of a block: a ring around the edge of a grid.
function ring_cells(count, most_columns) {
  if (count <= most_columns && count <= 2) return Array.from({length: count}, (_, i) => [i, 0]);
  const columns = Math.min(most_columns, Math.max(2, Math.ceil(count / 4) + 1));
  const rows = Math.max(2, Math.ceil((count - 2 * columns + 4) / 2));
  const cells = [];
  for (let x = 0; x < columns; ++x) cells.push([x, 0]);
  for (let y = 1; y < rows; ++y) cells.push([columns - 1, y]);
  for (let x = columns - 2; x >= 0; --x) cells.push([x, rows - 1]);
  for (let y = rows - 2; y >= 1; --y) cells.push([0, y]);
  return cells.slice(0, count);
}

// Distance of every component to the nearest that waits for nobody.
function levels_of(components, successors) {
  const component_of = new Map();
  components.forEach((members, i) => members.forEach((node) => component_of.set(node, i)));
  const levels = [];  // Tarjan gives components after those that they lead to
  components.forEach((members, i) => {
    let level = 0;
    for (const node of members) {
      for (const next of successors[node]) {
        if (component_of.get(next) !== i) level = Math.max(level, levels[component_of.get(next)] + 1);
      }
    }
    levels.push(level);
  });
  return levels;
}

// The centre of every box, and the size of the whole.
function place_nodes(count, edges, most_columns) {
  const successors = successors_of(count, edges);
  const components = components_of(successors);
  const levels = levels_of(components, successors);
  const places = new Array(count);
  const step_x = box.width + box.gap_x;
  const step_y = box.height + box.gap_y;
  let top = 0;
  let width = 0;
  for (let level = Math.max(0, ...levels); level >= 0; --level) {
    const at_level = components.filter((_, i) => levels[i] === level);
    const single = at_level.filter((members) => members.length === 1).flat().sort((a, b) => a - b);
    const blocks = at_level.filter((members) => members.length > 1).map((members) => {
      const order = around(members, successors);
      return {order, cells: ring_cells(order.length, most_columns)};
    });
    for (let i = 0; i < single.length; i += most_columns) {
      const row = single.slice(i, i + most_columns);
      blocks.push({order: row, cells: row.map((_, column) => [column, 0])});
    }
    for (const {order, cells} of blocks) {
      const columns = Math.max(...cells.map((cell) => cell[0])) + 1;
      const rows = Math.max(...cells.map((cell) => cell[1])) + 1;
      order.forEach((node, i) => {
        places[node] = {x: (cells[i][0] - (columns - 1) / 2) * step_x,
                        y: top + cells[i][1] * step_y + box.height / 2};
      });
      width = Math.max(width, columns * step_x - box.gap_x);
      top += rows * step_y;
    }
  }
  for (const place of places) place.x += width / 2;
  return {places, width, height: top - box.gap_y};
}

// Where the line from the middle of a box towards `to` leaves it.
function border(from, to, slack) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const scale = Math.min((box.width / 2 + slack) / Math.abs(dx || 1e-9),
                         (box.height / 2 + slack) / Math.abs(dy || 1e-9));
  return {x: from.x + dx * scale, y: from.y + dy * scale};
}

function edge_path(from, to, is_mutual) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const shift = is_mutual ? 9 : 0;
  const offset = {x: -(to.y - from.y) / length * shift, y: (to.x - from.x) / length * shift};
  const a = border(from, to, 2);
  const b = border(to, from, 5);
  return `M${a.x + offset.x},${a.y + offset.y} L${b.x + offset.x},${b.y + offset.y}`;
}

function loop_path(place) {
  const x = place.x + box.width / 2;
  const y = place.y - box.height / 2;
  return `M${x + 1},${y + 18} C${x + 40},${y + 8} ${x + 40},${y + 58} ${x + 7},${y + 46}`;
}

function shortened(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

function node_box(index, place) {
  const node = run.nodes[index];
  const kind = !node.is_blocked ? ".gone" : node.is_core ? ".core" : "";
  const title = shortened(rank_words(node) + (node.context ? " / " + node.context : ""),
                          25);
  const what = node.is_blocked ? node.operation : "✕ " + operation_words(node);
  const where = [node.gang, node.location].filter((text) => text).join("  ");
  const label = `${rank_words(node)}: ${operation_words(node)}`;
  const left = -box.width / 2 + 12;
  const made = svg("g.node" + kind, {...choosing(() => choose_node(index)), "aria-label": label,
                                     transform: `translate(${place.x},${place.y})`},
    svg("title", {}, `${label}  ${where}`),
    svg("rect", {x: -box.width / 2, y: -box.height / 2, width: box.width, height: box.height,
                 rx: node.waits_for_any ? box.height / 2 : 6}),
    svg("text.ranks", {x: left, y: -14}, title),
    svg("text", {x: left, y: 5}, shortened(what, 27)),
    svg("text.where", {x: left, y: 23}, shortened(where, 31)));
  show_as(index, made);
  return made;
}

function arrow_head(name) {
  return svg("marker", {id: "arrow-" + name, viewBox: "0 0 10 10", refX: "8", refY: "5",
                        markerWidth: "11", markerHeight: "11", orient: "auto-start-reverse",
                        markerUnits: "userSpaceOnUse"},
             svg("path.arrow." + name, {d: "M0,0 L10,5 L0,10 z"}));
}

function draw_edges(places) {
  const known = new Set(run.edges.map(([from, to]) => from + ">" + to));
  return run.edges.map(([from, to]) => {
    const is_core = run.nodes[from].is_core && (run.nodes[to].is_core || !run.nodes[to].is_blocked);
    const path = from === to ? loop_path(places[from])
        : edge_path(places[from], places[to], known.has(to + ">" + from));
    return svg("path.edge" + (is_core ? ".core" : "") + (run.nodes[from].waits_for_any ? ".any" : ""),
               {d: path, "marker-end": `url(#arrow-${is_core ? "core" : "rest"})`});
  });
}

function graph_key() {
  const item = (drawn, text) => element("span", {},
    svg("svg", {width: "34", height: "12", "aria-hidden": "true"}, drawn), text);
  const items = [item(svg("path.edge", {d: "M1,6 L33,6"}), "waits for (needs all)")];
  if (run.nodes.some((node) => node.waits_for_any)) {
    items.push(item(svg("path.edge.any", {d: "M1,6 L33,6"}), "waits for any one of"));
  }
  if (run.nodes.some((node) => node.is_core)) {
    items.push(item(svg("path.edge.core", {d: "M1,6 L33,6"}), "core"));
  }
  if (run.nodes.some((node) => !node.is_blocked)) {
    items.push(element("span", {}, "✕ dotted box: waited for, not blocked itself"));
  }
  return element("p.key", {}, items);
}

const most_drawn_nodes = 60;

function draw_graph(main) {
  if (!run.nodes.length) return;
  if (run.nodes.length > most_drawn_nodes) {
    main.append(section("Who waits for whom", `${run.nodes.length} different calls are too many to ` +
                        "draw; the table above has them, and gangsim explain --dot all edges."));
    return;
  }
  const room = document.getElementById("main").clientWidth - 24;
  const columns = Math.max(1, Math.min(3, Math.floor((room + box.gap_x) / (box.width + box.gap_x))));
  const {places, width, height} = place_nodes(run.nodes.length, run.edges, Math.max(2, columns));
  const margin = 6;
  const has_loop = run.edges.some(([from, to]) => from === to);
  const full_width = width + 2 * margin + (has_loop ? 80 : 0);
  const left = -margin - (has_loop ? 40 : 0);
  const drawing = svg("svg", {width: full_width, height: height + 2 * margin, role: "group",
      "aria-label": "Wait-for graph",
      viewBox: `${left} ${-margin} ${full_width} ${height + 2 * margin}`},
    svg("defs", {}, arrow_head("core"), arrow_head("rest")),
    draw_edges(places), run.nodes.map((_, i) => node_box(i, places[i])));
  main.append(section("Who waits for whom", "", element("div.card", {},
    element("div.graph", {}, drawing), graph_key())));
}
