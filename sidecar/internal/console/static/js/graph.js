// Paths as a graph: the start at one side, each hop further to the other, every edge once.
import cytoscape from "../vendor/cytoscape.esm.min.mjs";
import { edgeLink, fill, num } from "./dom.js";

const perBundle = 4; // instances drawn of a bundle that is not chosen
const key = (t) => `${t.head} ${t.predicate} ${t.object}`;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/** collect lists nodes and edges, each once, with the results that they belong to and the
 *  fewest hops to get there. */
function collect(retrieval) {
  const nodes = new Map(), edges = new Map();
  for (const r of retrieval.paths) {
    r.instances.forEach((path, rank) => {
      path.nodes.forEach((n, depth) => {
        const known = nodes.get(n.uid) ?? { ...n, depth, results: new Set(), main: false };
        known.depth = Math.min(known.depth, depth);
        known.results.add(r.n);
        known.main ||= rank < perBundle;
        nodes.set(n.uid, known);
      });
      for (const t of path.triplets) {
        const known = edges.get(key(t)) ?? { ...t, results: new Set(), main: false };
        known.results.add(r.n);
        known.main ||= rank < perBundle;
        edges.set(key(t), known);
      }
    });
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] };
}

/** place lays nodes out by hops, to the right; closer together where there is little width. */
function place(nodes, narrow) {
  const layers = [];
  for (const n of nodes) (layers[n.depth] ??= []).push(n.uid);
  const at = new Map();
  layers.forEach((layer, depth) => layer.forEach((uid, i) => {
    const across = i - (layer.length - 1) / 2;
    at.set(uid, { x: depth * (narrow ? 160 : 230), y: across * 62 });
  }));
  return at;
}

function style() {
  const ink = colour("ink"), line = colour("line"), paper = colour("card");
  return [
    { selector: "node", style: { label: "data(name)", color: ink, "font-size": 13, "text-wrap": "wrap", "text-max-width": 130, "text-valign": "bottom", "text-margin-y": 4, "background-color": colour("accent"), width: 18, height: 18, "text-outline-color": paper, "text-outline-width": 2 } },
    { selector: "node.start", style: { width: 26, height: 26, "border-width": 3, "border-color": ink } },
    { selector: "edge", style: { label: "data(text)", color: ink, "font-size": 11, "text-rotation": "autorotate", "text-outline-color": paper, "text-outline-width": 3, "curve-style": "bezier", "target-arrow-shape": "triangle", width: "data(width)", "line-color": line, "target-arrow-color": line } },
    { selector: "edge.good", style: { "line-color": colour("good"), "target-arrow-color": colour("good") } },
    { selector: "edge.bad", style: { "line-color": colour("bad"), "target-arrow-color": colour("bad"), "line-style": "dashed" } },
    { selector: "edge.evolved", style: { "line-style": "dotted" } },
    { selector: ".faded", style: { opacity: 0.25 } },
    { selector: ".away", style: { display: "none" } },
    { selector: "edge:selected", style: { "overlay-color": colour("accent"), "overlay-opacity": 0.25 } },
  ];
}

/** drawPaths draws a retrieval and tells in info what an edge is. */
export function drawPaths(canvas, retrieval, info) {
  const { nodes, edges } = collect(retrieval);
  const names = new Map(nodes.map((n) => [n.uid, n.name || n.uid]));
  const at = place(nodes.filter((n) => n.main), canvas.clientWidth < 560);
  const rest = place(nodes, canvas.clientWidth < 560);
  const starts = new Set(retrieval.paths.map((r) => r.start.uid));
  const cy = cytoscape({
    container: canvas, style: style(), layout: { name: "preset", fit: false },
    minZoom: 0.15, maxZoom: 3, boxSelectionEnabled: false, autoungrabify: false,
    elements: [
      ...nodes.map((n) => ({
        data: { id: n.uid, name: names.get(n.uid), main: n.main, results: n.results },
        position: { ...(at.get(n.uid) ?? rest.get(n.uid)) },
        classes: starts.has(n.uid) ? "start" : "",
      })),
      ...edges.map((t) => ({
        data: { id: key(t), source: t.head, target: t.object, text: `${t.label} ${num(t.score, 0)}`, width: 1 + 5 * t.P, main: t.main, results: t.results, triplet: t },
        classes: [t.score < 99.5 ? "bad" : t.score > 100.5 ? "good" : "", t.predicate === "evorag.shortcut" ? "evolved" : ""].join(" "),
      })),
    ],
  });

  function choose(n) {
    cy.batch(() => cy.elements().forEach((e) => {
      const in_ = n === 0 ? e.data("main") : e.data("results").has(n);
      const all = n === 0 || in_ || e.data("main");
      e.toggleClass("away", !all);
      e.toggleClass("faded", n !== 0 && !in_);
    }));
    fit();
  }
  function fit() {
    const visible = cy.elements().filter((e) => e.visible() && !e.hasClass("faded"));
    cy.fit(visible, 24);
    const readable = Math.min(1.15, Math.max(0.6, cy.zoom())); // beyond it one drags
    cy.zoom(readable);
    cy.center(visible);
  }
  cy.on("tap", "edge", (e) => {
    const t = e.target.data("triplet");
    fill(info, `${names.get(t.head)} –[${t.label}]→ ${names.get(t.object)}: score ${num(t.score, 1)}, Sr ${num(t.sr, 3)}, Sc ${num(t.sc, 3)}, P ${num(t.P, 3)}. `, edgeLink(t, "History"));
  });
  cy.on("dbltap", "edge", (e) => {
    const { head, predicate, object } = e.target.data("triplet");
    location.hash = "#/edge?" + new URLSearchParams({ head, predicate, object });
  });
  const themed = () => cy.style(style());
  addEventListener("themed", themed);
  choose(0);
  return {
    choose, fit,
    zoom: (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }),
    leave: () => {
      removeEventListener("themed", themed);
      cy.destroy();
    },
  };
}
