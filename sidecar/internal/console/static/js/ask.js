// Ask a question, see what was ranked and why, rate it.
import { retrieve } from "./api.js";
import { fill, h, num } from "./dom.js";
import { drawPaths } from "./graph.js";
import { rateForm } from "./rate.js";
import { resultList } from "./results.js";

// What is asked and shown, kept while other pages are looked at.
const asked = { question: "", hops: "2", paths: "5", hidden: false };
let shown = null;

export function ask(page, query) {
  if (query.has("q")) asked.question = query.get("q");
  const answer = h("div", { id: "answer" });
  const said = h("p", { role: "status", id: "ask-status" });
  const form = h("form", { id: "ask-form", class: "card" },
    h("label", { class: "wide" }, "Question",
      h("input", { name: "question", required: true, value: asked.question, autocomplete: "off", placeholder: "Who is 20th Century Studios owned by?" })),
    h("div", { class: "row" },
      h("label", {}, "Hops", h("input", { name: "hops", type: "number", min: 1, max: 6, value: asked.hops })),
      h("label", {}, "Results", h("input", { name: "paths", type: "number", min: 1, max: 50, value: asked.paths })),
      h("label", { class: "check" }, h("input", { name: "suppressed", type: "checkbox", checked: asked.hidden }), "with suppressed edges"),
      h("button", { type: "submit" }, "Ask")));
  let leave = () => {};

  const look = (retrieval) => {
    leave();
    leave = showRetrieval(answer, retrieval, again);
  };
  async function again() {
    return retrieve(request());
  }
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    for (const name of ["question", "hops", "paths"]) asked[name] = form[name].value;
    asked.hidden = form.suppressed.checked;
    said.className = "";
    said.textContent = "Searching…";
    try {
      shown = await again();
      said.textContent = summary(shown);
      look(shown);
    } catch (err) {
      said.className = "error";
      said.textContent = err.message;
      leave();
      leave = () => {};
      fill(answer);
    }
  });
  fill(page, h("h2", {}, "Ask a question"), form, said, answer);
  if (shown) {
    said.textContent = summary(shown);
    look(shown);
  }
  return () => leave();
}

function request() {
  return { question: asked.question, hops: Number(asked.hops), paths: Number(asked.paths), explain: true, ...(asked.hidden && { hidden: true }) };
}

function summary(r) {
  const n = r.paths?.length ?? 0;
  return (n === 1 ? "One result" : n + " results") + ` in ${num(r.timings.total_ms, 1)} ms, ${r.timings.engine_round_trips} round trips to the engine` +
    (r.partial ? ". The search was cut (" + r.reason + "): these are the best found." : ".") +
    (r.left_out ? ` Feedback has put ${r.left_out} more far behind.` : "");
}

/** showRetrieval gives a function that frees what it has drawn. */
function showRetrieval(at, retrieval, again) {
  if (!retrieval.paths?.length) {
    fill(at, h("p", {}, "No path was found. Try more hops, or name a node of the graph in the question."));
    return () => {};
  }
  const canvas = h("div", { class: "graph", role: "img", "aria-label": "The best paths as a graph; the list of results says the same in words." });
  const edge = h("p", { class: "help", id: "edge-info" }, "Choose a result to see its paths. Click an edge for its score, twice for its history.");
  const rate = rateForm(retrieval, again);
  const results = resultList(retrieval, {
    choose: (n) => graph.choose(n),
    answer: (text) => rate.answer(text),
  });
  fill(at,
    linked(retrieval),
    h("div", { class: "split" },
      h("section", { class: "card", "aria-labelledby": "graph-title" },
        h("div", { class: "row between" }, h("h3", { id: "graph-title" }, "Paths"),
          h("div", { class: "row" },
            h("button", { type: "button", class: "quiet", "aria-label": "Zoom in", onclick: () => graph.zoom(1.3) }, "+"),
            h("button", { type: "button", class: "quiet", "aria-label": "Zoom out", onclick: () => graph.zoom(1 / 1.3) }, "−"),
            h("button", { type: "button", class: "quiet", onclick: () => graph.fit() }, "Fit"))),
        canvas, edge),
      h("section", { class: "card", "aria-labelledby": "results-title" }, h("h3", { id: "results-title" }, "Results"), results)),
    rate.element,
    h("details", { class: "card" }, h("summary", {}, "The text for a prompt"), h("pre", {}, retrieval.context)));
  const graph = drawPaths(canvas, retrieval, edge);
  return () => graph.leave();
}

function linked(retrieval) {
  const parts = [`α ${num(retrieval.alpha)}: the share of what was learned against relevance.`];
  const entities = (retrieval.entities ?? []).map((e) => h("li", { title: e.why }, h("b", {}, e.name ?? e.uid), " " + e.why));
  return h("details", { class: "card", id: "linked" },
    h("summary", {}, `Begins at ${(retrieval.entities ?? []).map((e) => e.name ?? e.uid).join(", ") || "the nodes given"}`),
    h("ul", {}, entities), h("p", {}, parts));
}
