// Evolution: what each run changed, a run on request, and back.
import * as api from "./api.js";
import { edgeLink, fill, h, num, signed, table, when } from "./dom.js";

const most = 500; // changes that a page shows

export function runs(page, query) {
  let left = false;
  const said = h("p", { role: "status", id: "runs-status" });
  const list = h("div", { id: "runs" }), detail = h("div", { id: "run" });
  const buttons = [
    h("button", { type: "button", class: "quiet", onclick: () => evolve(true) }, "Dry run"),
    h("button", { type: "button", onclick: () => evolve(false) }, "Evolve now"),
  ];
  const dialog = undoDialog(take);

  function tell(text, wrong) {
    said.className = wrong ? "error" : "";
    said.textContent = text;
  }
  async function work(text, do_) {
    tell(text);
    buttons.forEach((b) => (b.disabled = true));
    try {
      const done = await do_();
      if (!left) tell("");
      return done;
    } catch (err) {
      tell(err.message, true);
    } finally {
      buttons.forEach((b) => (b.disabled = false));
    }
  }
  async function look() {
    const got = await work("Reading…", api.runs);
    if (!got || left) return;
    fill(list, got.runs.length === 0 ? h("p", {}, "No run yet. A dry run shows what one would do.")
      : table("Runs, the newest first", ["Run", "State", "Began", "Shortcuts", "Suppressed", "Shown again", "Note", ""], got.runs.map((r) => [
        h("a", { href: "#/runs?" + new URLSearchParams({ id: r.id }) }, r.id),
        h("span", { class: "status " + r.state }, r.state), when(r.began),
        signed(r.counts.shortcuts, 0) + (r.counts.removed ? " −" + r.counts.removed : ""), String(r.counts.hidden), String(r.counts.shown), r.note ?? "",
        r.state === "done" && h("button", { type: "button", class: "quiet undo", "aria-label": "Undo run " + r.id, onclick: () => dialog.ask(r.id) }, "Undo"),
      ])));
  }
  async function evolve(dry) {
    const run = await work(dry ? "Deciding…" : "Evolving…", () => api.evolve(dry));
    if (!run || left) return;
    if (!dry) await look();
    fill(detail, showRun(run));
    tell(dry ? "Nothing was written." : `Run ${run.id} is ${run.state}.`);
  }
  async function take(id, keep) {
    const run = await work("Undoing…", () => api.undo(id, keep));
    if (!run || left) return;
    await look();
    fill(detail, showRun(run));
    tell(`Run ${run.id} is ${run.state}.`);
  }
  async function open(id) {
    const run = await work("Reading…", () => api.run(id));
    if (run && !left) fill(detail, showRun(run));
  }
  fill(page, h("h2", {}, "Evolution"), h("div", { class: "row" }, buttons), said, list, detail, dialog.element);
  look().then(() => query.get("id") && open(query.get("id")));
  return () => { left = true; };
}

/** undoDialog asks before a run is undone; yes(id, keep) is called then. */
function undoDialog(yes) {
  let id = "";
  const text = h("p", {});
  const keep = h("input", { type: "checkbox", name: "keep" });
  const element = h("dialog", { id: "undo-dialog", "aria-labelledby": "undo-title" },
    h("form", { method: "dialog" },
      h("h2", { id: "undo-title" }, "Undo this run?"), text,
      h("label", { class: "check" }, keep, "also where feedback came since; that feedback is kept"),
      h("div", { class: "row end" },
        h("button", { type: "button", class: "quiet", onclick: () => element.close() }, "Leave it"),
        h("button", { type: "button", id: "undo-yes", onclick: () => { element.close(); yes(id, keep.checked); } }, "Undo"))));
  return {
    element,
    ask: (run) => {
      id = run;
      keep.checked = false;
      text.textContent = `Everything that ${run} changed goes back to what it was before.`;
      element.showModal();
    },
  };
}

/** showRun shows a run's thresholds and its diff. */
function showRun(run) {
  const t = run.thresholds;
  const called = (uid) => run.names?.[uid] || uid;
  const relation = (p) => run.labels?.[p] || p;
  const path = (via) => via.split(" ").map((w, i) => (i % 2 === 0 ? called(w) : w.startsWith("~") ? `← ${relation(w.slice(1))} ←` : `→ ${relation(w)} →`)).join(" ");
  const text = (c) => `${called(c.head)} → ${c.label || relation(c.predicate)} → ${called(c.object)}`;
  const all = run.changes ?? [];
  const rows = all.slice(0, most).map((c) => [
    h("td", { class: "sign " + sign(c).class }, sign(c).text),
    [text(c), c.via && h("p", { class: "help" }, path(c.via)), c.note && h("p", { class: "help" }, "not done: " + c.note)],
    facets(c.before), facets(c.after), c.why ?? c.kind, edgeLink(c, "History"),
  ]);
  return h("section", { class: "card", "aria-labelledby": "run-title" },
    h("h3", { id: "run-title" }, `${run.state === "planned" ? "Dry run" : "Run " + run.id}: ${run.state}`),
    run.note && h("p", {}, run.note),
    h("dl", { class: "facts" }, [["Touched edges", t.touched], ["μ", num(t.mu)], ["σ", num(t.sigma)], ["τ high", num(t.tau_high)], ["τ low", num(t.tau_low)]]
      .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value))))),
    rows.length === 0 ? h("p", {}, "It changes nothing.") : table("Changes", ["", "Edge", "Before", "After", "Why", ""], rows),
    all.length > most && h("p", {}, `These are the first ${most} of ${all.length}; dgraph-evorag ${run.state === "planned" ? "evolve --dry-run" : "runs show " + run.id} lists all.`));
}

function sign(c) {
  if (c.kind === "shortcut") return { text: "+", class: "good" };
  if (c.kind === "shortcut removed") return { text: "−", class: "bad" };
  if (c.after?.hidden && !c.before?.hidden) return { text: "hide", class: "bad" };
  if (c.before?.hidden && !c.after?.hidden) return { text: "show", class: "good" };
  return { text: "~", class: "" };
}

function facets(c) {
  if (!c) return "";
  return `score ${num(c.score, 1)}` + (c.low ? `, low runs ${c.low}` : "") + (c.hidden ? ", suppressed" : "");
}
