// The services of the sidecar, and what is sent along to prove who asks.

const store = sessionStorage; // of this tab, until it is closed
const ADMIN = "evorag.admin", JWT = "evorag.jwt", USER = "evorag.user";

export const access = {
  get admin() { return store.getItem(ADMIN) ?? ""; },
  set admin(token) { if (token) store.setItem(ADMIN, token); else store.removeItem(ADMIN); },
  get user() { return store.getItem(USER) ?? ""; },
  forget() { for (const key of [ADMIN, JWT, USER]) store.removeItem(key); },
};

/** Refusal is an answer that is an error; its message says what to do. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function headers(more) {
  const out = { ...more };
  if (access.admin) out["Authorization"] = "Bearer " + access.admin;
  const jwt = store.getItem(JWT);
  if (jwt) out["X-Dgraph-AccessToken"] = jwt;
  return out;
}

async function call(method, path, body) {
  let resp;
  try {
    resp = await fetch(path, {
      method, cache: "no-store",
      headers: headers(body === undefined ? {} : { "Content-Type": "application/json" }),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, "The sidecar does not answer.");
  }
  let answer;
  try {
    answer = await resp.json();
  } catch {
    throw new Refusal(resp.status, "The sidecar's answer is not readable (status " + resp.status + ").");
  }
  const wrong = answer?.error?.message ?? answer?.errors?.[0]?.message;
  if (!resp.ok || wrong) throw new Refusal(resp.status, wrong ?? "The sidecar answered with status " + resp.status + ".");
  return answer;
}

const get = (path, query = {}) => {
  const q = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== "" && v !== undefined));
  return call("GET", q.size ? path + "?" + q : path);
};

export const status = () => get("/evorag/v1/status");
export const retrieve = (request) => call("POST", "/evorag/v1/retrieve", request);
export const rate = (rating) => call("POST", "/evorag/v1/feedback", rating);
export const rating = (id) => get("/evorag/v1/feedback/status", { id });
export const inbox = (query) => get("/evorag/v1/feedback/inbox", query);
export const scores = () => get("/evorag/v1/scores");
export const explain = (edge) => get("/evorag/v1/edges/explain", edge);
export const runs = () => get("/evorag/v1/runs");
export const run = (id) => get("/evorag/v1/runs/" + encodeURIComponent(id));
export const evolve = (dry) => call("POST", "/evorag/v1/runs", dry ? { dry_run: true } : {});
export const undo = (id, keep) => call("POST", "/evorag/v1/runs/" + encodeURIComponent(id) + "/undo", keep ? { keep_feedback: true } : {});

/** login takes a token of a cluster with access control. */
export async function login(user, password, namespace) {
  const answer = await call("POST", "/login", { userid: user, password, namespace });
  store.setItem(JWT, answer.data.accessJWT);
  store.setItem(USER, user);
}
