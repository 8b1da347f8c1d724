// How the scores are spread, and the lines that evolution draws through them.
import { scores as read } from "./api.js";
import { edgeLink, fill, h, num, scoreBar, table } from "./dom.js";
import { histogram } from "./chart.js";

export function scores(page) {
  const said = h("p", { role: "status", id: "scores-status" });
  const box = h("div", { class: "chart", id: "histogram", role: "img", "aria-label": "Number of edges by score; the table of bins says the same." });
  const facts = h("dl", { class: "facts" });
  const lists = h("div", {});
  const live = h("input", { type: "checkbox", id: "live" });
  let now = null, plot = null, timer = 0, left = false;

  const lines = () => now === null ? [] : [
    { at: now.thresholds.tau_low, text: `τ low ${num(now.thresholds.tau_low, 1)}`, colour: "bad", left: true },
    { at: now.thresholds.mu, text: `μ ${num(now.thresholds.mu, 1)}`, colour: "ink" },
    { at: now.thresholds.tau_high, text: `τ high ${num(now.thresholds.tau_high, 1)}`, colour: "good" },
  ];

  async function look() {
    clearTimeout(timer);
    try {
      now = await read();
      if (left) return;
      said.textContent = "";
      if (plot) plot.set(now.bins);
      else plot = histogram(box, now.width, now.bins, lines);
      const t = now.thresholds;
      fill(facts, [
        ["Touched edges", t.touched], ["Mean μ", num(t.mu)], ["Deviation σ", num(t.sigma)],
        ["τ high: good from here", num(t.tau_high)], ["τ low: bad below", num(t.tau_low)],
        ["Suppressed", now.hidden], ["Shortcuts", now.shortcuts],
        ["Judged", t.enough ? "yes" : "not yet: too few edges are touched (evolution.min_touched)"],
      ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
      fill(lists, edges("Lowest", now.lowest), edges("Highest", now.highest), bins(now));
    } catch (err) {
      said.className = "error";
      said.textContent = err.message;
    }
    if (live.checked && !left) timer = setTimeout(look, 3000);
  }
  live.addEventListener("change", look);
  fill(page, h("h2", {}, "Learned scores"),
    h("div", { class: "row" }, h("button", { type: "button", onclick: look }, "Refresh"), h("label", { class: "check" }, live, "every 3 seconds")),
    said, h("section", { class: "card", "aria-label": "Distribution" }, box, facts), lists);
  look();
  return () => {
    left = true;
    clearTimeout(timer);
    if (plot) plot.leave();
  };
}

function edges(title, list) {
  if (!list?.length) return null;
  return table(title, ["Edge", "Score", "Updates", "Low runs", ""], list.map((e) => [
    `${e.head_name || e.head} → ${e.label || e.predicate} → ${e.object_name || e.object}` + (e.hidden ? " (suppressed)" : ""),
    scoreBar(e.score), String(e.n ?? 0), String(e.low ?? 0), edgeLink(e, "History"),
  ]));
}

function bins(s) {
  const rows = s.bins.map((n, i) => [`${num(i * s.width, 0)} to ${num((i + 1) * s.width, 0)}`, String(n)]).filter(([, n]) => n !== "0");
  return rows.length > 0 && h("details", { class: "card" }, h("summary", {}, "The bins as a table"), table("Edges by score", ["Score", "Edges"], rows));
}
