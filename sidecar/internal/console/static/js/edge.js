// Why one edge's score is what it is.
import { explain } from "./api.js";
import { fill, h, num, scoreBar, signed, table, when } from "./dom.js";
import { course } from "./chart.js";

export function edge(page, query) {
  const said = h("p", { role: "status", id: "edge-status" });
  const shown = h("div", { id: "history" });
  let plot = null, left = false;
  const field = (name, text, hint) => h("label", {}, text, h("input", { name, required: true, value: query.get(name) ?? "", autocomplete: "off", placeholder: hint }));
  const form = h("form", { id: "edge-form", class: "card row" },
    field("head", "From", "uid or name"), field("predicate", "Predicate", "owned_by"), field("object", "To", "uid or name"),
    h("button", { type: "submit" }, "Explain"));

  form.addEventListener("submit", (e) => {
    e.preventDefault();
    location.hash = "#/edge?" + new URLSearchParams(new FormData(form));
  });
  async function look() {
    try {
      const got = await explain(Object.fromEntries(query));
      if (left) return;
      fill(shown, ...history(got));
      const box = shown.querySelector(".chart");
      if (box) plot = course(box, points(got));
    } catch (err) {
      said.className = "error";
      said.textContent = err.message;
    }
  }
  fill(page, h("h2", {}, "History of an edge"), form, said, shown);
  if (query.get("head")) look();
  return () => {
    left = true;
    if (plot) plot.leave();
  };
}

/** points are the scores after each step, the one before the first in front. */
function points(e) {
  const steps = e.history.filter((s) => s.after !== undefined);
  return steps.length === 0 ? [] : [steps[0].before, ...steps.map((s) => s.after)];
}

function history(e) {
  const out = [h("section", { class: "card" },
    h("h3", {}, `${e.head_name || e.head} → ${e.predicate} → ${e.object_name || e.object}`),
    e.there ? h("p", {}, "Score ", scoreBar(e.now.score), `, ${e.now.n ?? 0} updates`, e.now.low ? `, low runs ${e.now.low}` : "", e.now.hidden ? ". Suppressed: rankings leave it out." : ".")
      : h("p", { class: "error" }, "This edge is not in the graph."),
    points(e).length > 0 && h("div", { class: "chart", role: "img", "aria-label": "How the score went; the table says the same." }))];
  if (e.history.length === 0) return [...out, h("p", {}, "No feedback has touched it.")];
  out.push(table("Steps, in their order", ["When", "Batch", "Before", "After", "Change", "Rating", "By", "Question", "Answer"], e.history.map((s) => [
    when(s.time), String(s.batch), num(s.before), s.after === undefined ? "the edge was missing" : num(s.after), s.after === undefined ? "" : signed(s.after - s.before),
    (s.kind === "applied" ? "" : s.kind + ": ") + (s.rating ? num(s.rating, s.rating % 1 ? 2 : 0) : ""), s.rater || "somebody",
    s.question ? h("a", { href: "#/ask?" + new URLSearchParams({ q: s.question }) }, s.question) : "", h("span", { class: "clip", title: s.response ?? "" }, s.response ?? ""),
  ])));
  return out;
}
