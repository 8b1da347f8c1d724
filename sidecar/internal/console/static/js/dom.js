// What pages are made of. Text is always set as text, never as HTML: names and questions come
// from other people.

/** h("p", {class: "x", onclick: f}, "text", child): an element. false, null and undefined are left out. */
export function h(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else e.setAttribute(name, value === true ? "" : String(value));
  }
  append(e, children);
  return e;
}

function append(e, children) {
  for (const c of children.flat(Infinity)) {
    if (c !== false && c !== null && c !== undefined) e.append(c);
  }
}

/** fill replaces what an element holds. */
export function fill(e, ...children) {
  e.replaceChildren();
  append(e, children);
}

/** table(["Head"], [[cell, ...], ...]) scrolls sideways where it is too wide; on a phone each row
 *  becomes a block, with the heads before the cells. */
export function table(caption, heads, rows) {
  const row = (cells) => h("tr", {}, cells.map((c, i) => {
    const cell = c instanceof HTMLTableCellElement ? c : h("td", {}, h("div", {}, c));
    if (heads[i]) cell.dataset.head = heads[i];
    return cell;
  }));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, rows.map(row))));
}

/** num shows a number with a few digits, the minus sign as one. */
export function num(x, digits = 2) {
  return x === undefined || x === null ? "" : x.toFixed(digits).replace("-", "−");
}

/** signed is num with its sign. */
export function signed(x, digits = 2) {
  const text = num(x, digits);
  return /[1-9]/.test(text) && x > 0 ? "+" + text : text;
}

/** when shows a time of the server's. */
export function when(text) {
  return text ? h("time", { datetime: text }, new Date(text).toLocaleString()) : "";
}

/** edgeLink leads to the history of an edge. */
export function edgeLink(edge, ...children) {
  const q = new URLSearchParams({ head: edge.head, predicate: edge.predicate, object: edge.object });
  return h("a", { href: "#/edge?" + q }, ...children);
}

/** level is "bad", "good" or "": on which side of neutral a raw score stands. */
export function level(score) {
  return score < 99.5 ? "bad" : score > 100.5 ? "good" : "";
}

/** scoreBar draws a raw score on its range of 0 to 200, 100 in the middle. */
export function scoreBar(score) {
  const bar = h("span", { class: "score " + level(score) }, h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "fill" })), num(score, 1));
  const part = bar.querySelector(".fill").style; // not an attribute: the page's policy refuses those
  part.left = Math.min(score, 100) / 2 + "%";
  part.width = Math.abs(score - 100) / 2 + "%";
  return bar;
}
