// The ranked bundles in words and numbers, with the parts of each score.
import { edgeLink, h, num, scoreBar, signed, table } from "./dom.js";

const PARTS = {
  relevance: "how near the relations are to the question",
  contribution: "what feedback taught about these edges",
  question: "what it taught for questions like this one",
  hops: "what it taught about the length of paths",
};

/** resultList shows the results; on.choose(n) is called with the chosen one, 0 for none, and
 *  on.answer(text) with the ends of a result's paths. */
export function resultList(retrieval, on) {
  const best = Math.max(...retrieval.paths.map((r) => r.p));
  const widest = Math.max(1e-9, ...retrieval.paths.flatMap((r) => Object.values(r.instances[0].parts ?? {}).map(Math.abs)));
  const list = h("ol", { class: "results" }, retrieval.paths.map((r) => result(r, best, widest, on)));
  list.addEventListener("click", (e) => {
    const button = e.target.closest("button.choose");
    if (!button) return;
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const b of list.querySelectorAll("button.choose")) b.setAttribute("aria-pressed", String(b === button && on));
  });
  return list;
}

function result(r, best, widest, on) {
  const first = r.instances[0];
  const choose = h("button", {
    type: "button", class: "choose", "aria-pressed": "false",
    onclick: () => on.choose(choose.getAttribute("aria-pressed") === "true" ? 0 : r.n),
  }, h("b", {}, String(r.n)), " ", h("span", {}, name(r.start)), " ", first.triplets.map((t) => h("span", { class: "relation" }, (t.inverse ? "← " : "→ ") + t.label)));
  const share = h("span", { class: "share", "aria-hidden": "true" }, h("span", {}));
  share.firstChild.style.width = (100 * r.p) / best + "%";
  return h("li", { value: r.n },
    choose,
    h("div", { class: "row between" }, share, h("span", { class: "numbers" }, `p ${num(r.p, 3)}`)),
    h("p", { class: "ends" }, ends(r).slice(0, 5).map((end, n) => [n > 0 && ", ", h("b", {}, end)]), more(r)),
    parts(first, widest),
    h("details", {}, h("summary", {}, r.instances.length === 1 ? "Its path and edges" : `Its ${r.instances.length} paths and their edges`), r.instances.map(instance)),
    h("button", { type: "button", class: "quiet", onclick: () => on.answer(ends(r).join(", ")) }, "This was the answer"));
}

/** ends are where the paths lead to, each once. */
function ends(r) {
  return [...new Set(r.instances.map((i) => name(i.nodes.at(-1))))];
}

function more(r) {
  const hidden = ends(r).length - 5;
  if (r.total > r.instances.length) return ` … ${r.total_at_least ? "at least " : ""}${r.total} paths in all`;
  return hidden > 0 && ` and ${hidden} more`;
}

/** parts draws the summands of z to the left and right of a line. */
function parts(instance, widest) {
  if (!instance.parts) return null;
  return h("dl", { class: "parts" },
    Object.entries(PARTS).map(([key, meaning]) => {
      const value = instance.parts[key] ?? 0;
      const bar = h("span", { class: "fill " + (key === "relevance" ? "" : value < 0 ? "bad" : "good") });
      const size = (50 * Math.abs(value)) / widest;
      bar.style.left = (value < 0 ? 50 - size : 50) + "%";
      bar.style.width = size + "%";
      return h("div", { title: meaning }, h("dt", {}, key), h("dd", {}, h("span", { class: "track", "aria-hidden": "true" }, bar), h("span", { class: "numbers" }, signed(value, 3))));
    }),
    h("div", { class: "sum" }, h("dt", {}, "z"), h("dd", {}, h("span", { class: "numbers" }, num(instance.z, 3)))));
}

function instance(i) {
  return table(path(i) + ", z " + num(i.z, 3), ["Edge", "Score", "Sr", "Sc", "P", ""],
    i.triplets.map((t, n) => [
      `${name(i.nodes[n])} ${t.inverse ? "←" : "→"} ${t.label}` + (t.via ? ", short for " + t.via : ""),
      scoreBar(t.score), num(t.sr, 3), num(t.sc, 3), num(t.P, 3), edgeLink(t, "History"),
    ]));
}

function path(i) {
  return i.nodes.map((n, k) => (k === 0 ? "" : i.triplets[k - 1].inverse ? " ← " : " → ") + name(n)).join("");
}

function name(node) {
  return node.name || node.uid;
}
