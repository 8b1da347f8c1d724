// Rate an answer, and watch what it does to the scores.
import { rate, rating } from "./api.js";
import { edgeLink, fill, h, num, scoreBar, signed, table } from "./dom.js";

const words = ["wrong", "poor", "so-so", "good", "right"];

/** rateForm rates a retrieval; again() retrieves the same question once more. */
export function rateForm(retrieval, again) {
  const said = h("p", { role: "status", id: "rate-status" });
  const changes = h("div", { id: "changes" });
  const response = h("textarea", { name: "response", rows: 2, required: true, placeholder: "What was answered. The rating goes to the paths that say so." });
  const form = h("form", { id: "rate-form", class: "card" },
    h("h3", {}, "Rate the answer"),
    h("label", { class: "wide" }, "Answer", response),
    h("fieldset", { class: "row" },
      h("legend", {}, "Was it right?"),
      h("button", { type: "submit", value: "up", class: "quiet" }, "Thumb up"),
      h("button", { type: "submit", value: "down", class: "quiet" }, "Thumb down"),
      h("span", { class: "help" }, "or"),
      words.map((w, i) => h("label", { class: "check" }, h("input", { type: "radio", name: "score", value: i + 1 }), `${i + 1} ${w}`))),
    h("div", { class: "row" },
      h("label", {}, "Your name", h("input", { name: "rater", autocomplete: "nickname", maxlength: 100, value: localStorage.getItem("evorag.rater") ?? "" })),
      h("label", { class: "grow" }, "Comment", h("input", { name: "comment", autocomplete: "off" })),
      h("button", { type: "submit", value: "score" }, "Rate")));

  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    const chosen = e.submitter?.value ?? "score";
    if (chosen === "score" && !form.score.value) {
      tell("Choose a number from 1 to 5, or a thumb.", true);
      form.querySelector("[name=score]").focus();
      return;
    }
    localStorage.setItem("evorag.rater", form.rater.value);
    const event = { id: newID(), retrieval: retrieval.retrieval, response: response.value };
    if (chosen === "score") event.score = Number(form.score.value);
    else event.thumb = chosen;
    for (const name of ["rater", "comment"]) if (form[name].value) event[name] = form[name].value;
    const buttons = [...form.querySelectorAll("button")];
    buttons.forEach((b) => (b.disabled = true));
    try {
      await rate(event);
      tell("Stored. Waiting for it to be applied…");
      const end = await outcome(event.id);
      tell(end.text, !end.applied);
      if (end.applied) fill(changes, compared(retrieval, await again()));
    } catch (err) {
      tell(err.message, true);
    } finally {
      buttons.forEach((b) => (b.disabled = false));
    }
  });

  function tell(text, wrong) {
    said.className = wrong ? "error" : "";
    said.textContent = text;
  }
  return {
    element: h("div", {}, form, said, changes),
    answer: (text) => {
      response.value = text;
      form.scrollIntoView({ block: "nearest" });
      response.focus();
    },
  };
}

function newID() { // crypto.randomUUID is for encrypted pages only
  return "console:" + [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/** outcome waits until a rating has been applied, or has turned out to have no effect. */
async function outcome(id) {
  for (let tries = 0; tries < 60; tries++) {
    let now;
    try {
      now = await rating(id);
    } catch (err) {
      if (err.status === 403) return { applied: false, text: "Stored. Only administrators see what becomes of it: " + err.message };
      throw err;
    }
    if (now.status === "applied") return { applied: true, text: `Applied in batch ${now.batch}.` };
    if (now.status === "held") return { applied: false, text: "Kept to check evolution with; nothing is learned from it." };
    if (now.status === "void" || now.status === "superseded") return { applied: false, text: `It has no effect (${now.status}): ${now.reason ?? "a newer one counts"}` };
    await new Promise((wake) => setTimeout(wake, 500));
  }
  return { applied: false, text: "Stored; it is still waiting to be applied. The inbox shows when it is." };
}

const key = (t) => `${t.head} ${t.predicate} ${t.object}`;
const bundle = (r) => r.start.uid + " " + r.metapath.join(" ");

/** compared shows the same question before and after a rating. */
function compared(before, after) {
  const edges = new Map();
  const put = (retrieval, side) => {
    for (const i of retrieval.paths.flatMap((r) => r.instances)) {
      i.triplets.forEach((t, n) => {
        const row = edges.get(key(t)) ?? { triplet: t, text: `${name(i.nodes[n])} ${t.inverse ? "←" : "→"} ${t.label} ${t.inverse ? "←" : "→"} ${name(i.nodes[n + 1])}` };
        row[side] = t;
        edges.set(key(t), row);
      });
    }
  };
  put(before, "before");
  put(after, "after");
  const moved = [...edges.values()].filter((e) => e.before && e.after && e.before.score !== e.after.score)
    .sort((a, b) => Math.abs(b.after.score - b.before.score) - Math.abs(a.after.score - a.before.score));
  const was = new Map(before.paths.map((r) => [bundle(r), r]));
  const gone = new Set(was.keys());
  const results = after.paths.map((r) => {
    const old = was.get(bundle(r));
    gone.delete(bundle(r));
    return [String(r.n), old ? (old.n === r.n ? "same" : `was ${old.n}`) : "new", r.metapath.join(", "), name(r.start), old ? num(old.p, 3) : "", num(r.p, 3)];
  });
  return h("section", { class: "card", "aria-labelledby": "changes-title" },
    h("h3", { id: "changes-title" }, "What it did"),
    moved.length === 0 ? h("p", {}, "No score of an edge that is shown has moved.")
      : table("Scores that moved", ["Edge", "Before", "After", "Change", ""],
        moved.map((e) => [e.text, scoreBar(e.before.score), scoreBar(e.after.score), signed(e.after.score - e.before.score), edgeLink(e.triplet, "History")])),
    table("The same question now", ["Rank", "Before", "Relations", "From", "p before", "p now"], results),
    gone.size > 0 && h("p", {}, `${gone.size} of the results before are not among the best any more.`),
    h("p", {}, `α was ${num(before.alpha, 4)}, is ${num(after.alpha, 4)}.`));
}

function name(node) {
  return node.name || node.uid;
}
