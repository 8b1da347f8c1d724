// The frame: which page is shown, in which colours, and who asks.
import { access, login, status } from "./api.js";
import { fill, h } from "./dom.js";
import { ask } from "./ask.js";
import { edge } from "./edge.js";
import { inbox } from "./inbox.js";
import { runs } from "./runs.js";
import { scores } from "./scores.js";

const pages = { ask, scores, inbox, runs, edge };
const byId = (id) => document.getElementById(id);

let leave = () => {};

/** A page fills the element with what it shows, by the parameters behind its address, and
 *  may give a function that is called when it is left. */
function show() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  const page = pages[name] ? name : "ask";
  for (const a of byId("nav").querySelectorAll("a")) {
    if (a.hash === "#/" + page) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  leave();
  leave = () => {};
  const at = byId("page");
  fill(at);
  document.title = byId("nav").querySelector("[aria-current]").textContent + " · dgraph-evorag";
  const left = pages[page](at, new URLSearchParams(query ?? ""));
  if (left) leave = left;
}

addEventListener("hashchange", () => {
  show();
  byId("page").focus({ preventScroll: true });
});
byId("skip").addEventListener("click", (e) => {
  e.preventDefault(); // the address says which page is shown
  byId("page").focus();
});

// Colours: as the system has them, unless chosen.
const themes = ["auto", "light", "dark"];
const media = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  const chosen = localStorage.getItem("evorag.theme") ?? "auto";
  const dark = chosen === "dark" || (chosen === "auto" && media.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = "Colours: " + chosen;
  dispatchEvent(new Event("themed"));
}

byId("theme").addEventListener("click", () => {
  const now = themes.indexOf(localStorage.getItem("evorag.theme") ?? "auto");
  localStorage.setItem("evorag.theme", themes[(now + 1) % themes.length]);
  paint();
});
media.addEventListener("change", paint);

// Access.
const dialog = byId("access-dialog"), form = byId("access-form");

byId("access").addEventListener("click", () => {
  form.reset();
  form.admin.value = access.admin;
  byId("access-error").textContent = "";
  byId("login-state").textContent = access.user ? "Logged in as " + access.user + "." : "Not logged in.";
  dialog.showModal();
});
byId("access-cancel").addEventListener("click", () => dialog.close());
byId("forget").addEventListener("click", () => {
  access.forget();
  dialog.close();
  show();
});
form.addEventListener("submit", async (e) => {
  e.preventDefault();
  access.admin = form.admin.value.trim();
  try {
    if (form.user.value) await login(form.user.value, form.password.value, Number(form.namespace.value) || 0);
  } catch (err) {
    byId("access-error").textContent = err.message;
    return;
  }
  dialog.close();
  show();
});

async function server() {
  try {
    const s = await status();
    fill(byId("server"), "Version " + s.version + ", in front of " + s.cluster.http);
  } catch (err) {
    fill(byId("server"), h("span", { class: "error" }, err.message));
  }
}

paint();
show();
server();
