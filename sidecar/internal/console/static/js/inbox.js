// What was rated, and what became of it.
import { inbox as read } from "./api.js";
import { fill, h, num, table, when } from "./dom.js";

const statuses = ["", "pending", "waiting", "applied", "superseded", "held", "void"];
const first = 20;

export function inbox(page, query) {
  let offset = 0, left = false;
  const said = h("p", { role: "status", id: "inbox-status" });
  const list = h("div", { id: "inbox" });
  const status = h("select", { name: "status" }, statuses.map((s) => h("option", { value: s, selected: s === query.get("status") }, s || "all")));
  const newer = h("button", { type: "button", class: "quiet", onclick: () => turn(-first) }, "Newer");
  const older = h("button", { type: "button", class: "quiet", onclick: () => turn(first) }, "Older");

  async function look() {
    try {
      const got = await read({ status: status.value, first, offset: offset || "" });
      if (left) return;
      said.className = "";
      said.textContent = Object.entries(got.counts).map(([name, n]) => `${n} ${name}`).join(", ");
      fill(list, got.ratings.length === 0 ? h("p", {}, "Nothing here.")
        : table("Ratings, the newest first", ["Received", "Status", "Rating", "By", "Question", "Answer", "Comment"], got.ratings.map((r) => [
          when(r.received),
          [h("span", { class: "status " + r.status }, r.status), r.batch ? ` in batch ${r.batch}` : "", r.reason && h("p", { class: "help" }, r.reason)],
          r.rating ? num(r.rating, r.rating % 1 ? 2 : 0) : "reference answers",
          [r.rater || "somebody", r.source !== "human" ? ` (${r.source.replace("_", " ")})` : ""],
          r.question ? h("a", { href: "#/ask?" + new URLSearchParams({ q: r.question }) }, r.question) : h("span", { class: "help" }, "forgotten"),
          h("span", { class: "clip", title: r.response ?? "" }, r.response ?? ""), r.comment ?? "",
        ])));
      newer.disabled = offset === 0;
      older.disabled = got.ratings.length < first;
    } catch (err) {
      said.className = "error";
      said.textContent = err.message;
    }
  }
  function turn(by) {
    offset = Math.max(0, offset + by);
    look();
  }
  status.addEventListener("change", () => {
    offset = 0;
    look();
  });
  fill(page, h("h2", {}, "Feedback inbox"),
    h("div", { class: "row" }, h("label", {}, "Status", status), h("button", { type: "button", onclick: look }, "Refresh"), newer, older),
    said, list);
  look();
  return () => { left = true; };
}
