// The page: one stream of frames from the server, and what is shown of it. The address keeps the filter, the
// search and the chosen instance.

import { connect } from "./calls.js";
import { detailParts, facts } from "./detail.js";
import { badge, byId, clock, copyable, duration, make, number, ticking, whole, write } from "./dom.js";

const MOMENTS = 60;
const state = {
  status: "", search: "", chosen: null,
  about: null, frame: null, detail: null,
  shown: new Map(), // id -> { row, cells, instance }
  ahead: 0, // milliseconds by which the server's clock is ahead of ours
};
let stream = null;
let heard = 0;

const now = () => Date.now() + state.ahead;

// -- the stream

function open() {
  if (stream) stream.close();
  const wanted = new URLSearchParams();
  if (state.status) wanted.set("status", state.status);
  if (state.search) wanted.set("search", state.search);
  if (state.chosen !== null) wanted.set("id", state.chosen);
  stream = new EventSource(`/page/feed?${wanted}`);
  const own = stream;
  own.onmessage = (message) => {
    if (own === stream) take(JSON.parse(message.data));
  };
  own.onerror = () => {
    if (own !== stream) return;
    link("lost");
    if (own.readyState === EventSource.CLOSED) setTimeout(() => own === stream && open(), 1000);
  };
}

function take(frame) {
  heard = Date.now();
  if (frame.about) {
    introduce(frame.about);
    for (const { row } of state.shown.values()) row.remove();
    state.shown.clear();
  }
  state.ahead = frame.now - Date.now();
  state.frame = frame;
  link(frame.closed ? "closed" : "live");
  filters(frame);
  list(frame);
  contexts(frame);
  moments(frame.moments, Boolean(frame.about));
  if ("detail" in frame) {
    state.detail = frame.detail;
    detail();
  }
  tick();
}

const LINKS = {
  connecting: ["connecting", ""],
  live: ["live", ""],
  lost: ["not connected", "Nothing is heard of the server: what stands here is old. When it is started again, this page goes on by itself."],
  closed: ["closed", "The Host is closed: it runs nothing any more. Start the server again."],
};

function link(name) {
  const [word, notice] = LINKS[name];
  byId("link").dataset.state = name;
  document.body.dataset.link = name;
  write(byId("link-text"), word);
  write(byId("lost"), notice);
  byId("lost").hidden = !notice;
}

function introduce(about) {
  state.about = about;
  write(byId("class"), about.class);
  write(byId("source"), `${about.source}, served by Fencepost ${about.version} on ${about.address}`);
  document.title = `${about.class} · Fencepost`;
}

// -- filters

function filters(frame) {
  const all = Object.values(frame.counts).reduce((sum, count) => sum + count, 0);
  const group = byId("filters");
  if (!group.children.length) {
    for (const status of ["", ...Object.keys(frame.counts)]) {
      group.append(make(
        "button", { type: "button", class: "chip", "data-status": status, onclick: () => filter(status) },
        status ? make("span", { class: `dot ${status}`, "aria-hidden": "true" }) : null, status || "all", make("b"),
      ));
    }
  }
  for (const chip of group.children) {
    const status = chip.dataset.status;
    write(chip.querySelector("b"), number(status ? frame.counts[status] : all));
    chip.setAttribute("aria-pressed", String(status === state.status));
    chip.classList.toggle("none", !(status ? frame.counts[status] : all));
  }
  const shown = frame.order.length;
  const cap = byId("cap");
  write(cap, frame.fitting > shown ? `The newest ${number(shown)} of ${number(frame.fitting)} are shown.` : "");
  cap.hidden = !cap.textContent;
}

function filter(status) {
  state.status = status;
  remember();
  open();
}

// -- the list

function list(frame) {
  const body = byId("rows");
  for (const instance of frame.changed) {
    const known = state.shown.get(instance.id);
    const line = known ?? newLine(instance.id);
    if (known && known.instance.status !== instance.status) flash(line.row);
    line.instance = instance;
    fillLine(line);
    state.shown.set(instance.id, line);
  }
  const wanted = new Set(frame.order);
  for (const [id, { row }] of state.shown) {
    if (!wanted.has(id)) {
      row.remove();
      state.shown.delete(id);
    }
  }
  let place = body.firstElementChild;
  for (const id of frame.order) {
    const { row } = state.shown.get(id);
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
  }
  byId("table").hidden = !frame.order.length;
  empty(frame);
}

function newLine(id) {
  const open = make("button", { type: "button", class: "open", title: id, onclick: () => choose(id) }, id);
  const cells = Object.fromEntries(["status", "now", "steps", "inbox", "age"].map((name) =>
    [name, make("td", { class: ["steps", "inbox", "age"].includes(name) ? "number" : name })]));
  const row = make("tr", { "data-id": id }, make("th", { scope: "row" }, open), Object.values(cells));
  cells.doing = make("span", { class: "doing" });
  cells.next = make("span", { class: "next" });
  cells.now.append(make("div", {}, cells.doing, cells.next));
  row.addEventListener("click", (event) => event.target.closest("button") ?? choose(id));
  return { row, cells };
}

function fillLine({ row, cells, instance }) {
  row.dataset.status = instance.status;
  row.classList.toggle("chosen", instance.id === state.chosen);
  cells.status.replaceChildren(badge(instance.status));
  cells.doing.replaceChildren(...doing(instance));
  write(cells.steps, instance.steps ? `${number(instance.finished)}/${number(instance.steps)}` : "");
  write(cells.inbox, instance.inbox ? number(instance.inbox) : "");
}

function doing(instance) {
  if (instance.reason) return [make("span", { class: "reason" }, instance.reason)];
  if (instance.endedAt !== null) {
    return instance.output ? [make("code", { class: "output", title: instance.output }, instance.output)] : [];
  }
  return instance.doing ? [step(instance.doing)] : [];
}

function step({ kind, name, type, failures }) {
  const more = type ? ` for ${type}` : failures ? `, failed ${failures} ×` : "";
  return make("span", { class: "step", title: name }, make("i", {}, kind), ` ${name}`, make("span", { class: "soft" }, more));
}

function flash(row) {
  row.classList.remove("changed");
  requestAnimationFrame(() => row.classList.add("changed"));
}

function empty(frame) {
  const place = byId("empty");
  const kind = frame.order.length ? "" : frame.fitting === 0 && (state.status || state.search) ? "filtered" : "start";
  place.hidden = !kind;
  if (!kind || place.dataset.kind === `${kind} ${state.status} ${state.search}`) return;
  place.dataset.kind = `${kind} ${state.status} ${state.search}`;
  if (kind === "filtered") {
    const words = [state.status ? `is ${state.status}` : "", state.search ? `has “${state.search}” in its id` : ""];
    place.replaceChildren(
      make("p", { class: "lead" }, `No instance ${words.filter(Boolean).join(" and ")}.`),
      make("button", { type: "button", onclick: () => { byId("search").value = state.search = ""; filter(""); } }, "Show all"),
    );
    return;
  }
  place.replaceChildren(
    make("p", { class: "lead" }, "No instance yet."),
    make("p", {}, "Create one from a terminal, or with the button above:"),
    ...state.about.lines.flatMap(({ what, line }) => [make("p", { class: "soft" }, what), copyable(line)]),
  );
}

// -- contexts

const cards = new Map(); // "id token" -> { card, clock, text }

function contexts(frame) {
  const strip = byId("contexts");
  const left = frame.running - frame.contexts.length;
  write(byId("running"), frame.running
    ? `${number(frame.running)} not stopped${left > 0 ? `, the newest ${frame.contexts.length} are shown` : ""}`
    : "none");
  const wanted = new Set();
  let place = strip.firstElementChild;
  for (const context of frame.contexts) {
    const key = `${context.token} ${context.id}`;
    wanted.add(key);
    const text = JSON.stringify(context);
    const known = cards.get(key);
    if (known?.text === text) {
      if (known.card === place) place = place.nextElementSibling;
      else strip.insertBefore(known.card, place);
      continue;
    }
    const elapsed = make("span", { class: "elapsed" });
    const card = make(
      "li", { class: context.owner ? "owner" : "fenced" },
      make("button", { type: "button", title: context.id, onclick: () => choose(context.id) }, context.id),
      make("span", { class: "about" }, `context ${context.token}${context.pid ? ` · pid ${context.pid}` : ""}`),
      make("span", { class: "doing" }, context.owner ? (context.doing ? step(context.doing) : "between steps") : "fenced, being stopped"),
      elapsed,
    );
    if (known?.card === place) place = place.nextElementSibling;
    known?.card.remove();
    strip.insertBefore(card, place);
    cards.set(key, { card, elapsed, since: context.since, text });
  }
  for (const [key, { card }] of cards) {
    if (!wanted.has(key)) {
      card.remove();
      cards.delete(key);
    }
  }
}

// -- moments

function moments(rows, anew) {
  const place = byId("moments");
  if (anew) place.replaceChildren();
  for (const row of rows) place.prepend(momentOf(row));
  while (place.children.length > MOMENTS) place.lastElementChild.remove();
  byId("moments-hint").hidden = place.children.length > 0;
}

function momentOf(row) {
  const known = row.instance !== "";
  return make(
    "li", { class: `${row.who}${row.refused ? " refused" : ""}`, title: row.clauses.length ? `by ${row.clauses.join(" ")}` : null },
    make("time", { datetime: whole(row.at) }, clock(row.at)),
    make("div", {},
      make("p", {},
        known ? make("button", { type: "button", class: "open", onclick: () => choose(row.instance) }, row.instance) : null,
        make("i", { class: "who" }, row.who), make("span", { class: "what", title: row.what }, row.what)),
      row.reply ? make("p", { class: "reply", title: row.reply }, row.reply) : null),
  );
}

// -- one instance

function choose(id) {
  if (id === state.chosen) return;
  state.chosen = id;
  state.detail = null;
  forms.forget();
  for (const line of state.shown.values()) line.row.classList.toggle("chosen", line.instance.id === id);
  byId("moments-section").hidden = id !== null;
  byId("detail").hidden = id === null;
  if (id !== null) {
    write(byId("detail-id"), id);
    byId("facts").replaceChildren();
    byId("parts").replaceChildren();
    byId("actions").hidden = true;
    if (matchMedia("(max-width: 79.9rem)").matches) byId("side").scrollIntoView();
    byId("side").scrollTop = 0;
  }
  remember();
  open();
}

function detail() {
  if (state.chosen === null) return;
  const place = byId("parts");
  if (state.detail === null) {
    place.replaceChildren(make("p", { class: "lead" }, "There is no instance with this id."));
    byId("actions").hidden = true;
    return;
  }
  byId("actions").hidden = state.detail.endedAt !== null;
  byId("facts").replaceChildren(facts(state.detail, doing(state.detail)));
  place.replaceChildren(...detailParts(state.detail, now()));
}

// -- what goes on without a frame

const NEXT = (deadline) => {
  const left = deadline.at - now();
  return left > 0 ? `${deadline.what} in ${ticking(left)}` : `${deadline.what} now`;
};

function tick() {
  for (const { cells, instance } of state.shown.values()) {
    write(cells.age, ticking((instance.endedAt ?? now()) - instance.createdAt));
    cells.age.title = `created ${whole(instance.createdAt)}${instance.endedAt === null ? "" : `, ended ${whole(instance.endedAt)}`}`;
    write(cells.next, instance.deadline ? NEXT(instance.deadline) : "");
    cells.next.title = instance.deadline ? whole(instance.deadline.at) : "";
  }
  for (const { elapsed, since } of cards.values()) {
    write(elapsed, since === null ? "" : ticking(now() - since));
  }
  for (const each of document.querySelectorAll("[data-until]")) {
    const deadline = { at: Number(each.dataset.until), what: each.dataset.what };
    write(each, NEXT(deadline));
  }
  for (const each of document.querySelectorAll("[data-since]")) write(each, ticking(now() - Number(each.dataset.since)));
  if (stream && heard && Date.now() - heard > 20_000) link("lost");
}

function remember() {
  const kept = new URLSearchParams();
  if (state.status) kept.set("status", state.status);
  if (state.search) kept.set("search", state.search);
  if (state.chosen !== null) kept.set("id", state.chosen);
  history.replaceState(null, "", [...kept].length ? `#${kept}` : location.pathname);
}

function recall() {
  const kept = new URLSearchParams(location.hash.slice(1));
  state.status = kept.get("status") ?? "";
  state.search = byId("search").value = kept.get("search") ?? "";
  const chosen = kept.get("id");
  if (chosen === state.chosen) open();
  else choose(chosen);
}

const forms = connect({ chosen: () => state.chosen, choose });
byId("close").addEventListener("click", () => choose(null));
let typed = 0;
byId("search").addEventListener("input", (event) => {
  clearTimeout(typed);
  typed = setTimeout(() => {
    state.search = event.target.value;
    remember();
    open();
  }, 200);
});
addEventListener("hashchange", recall);
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) choose(null);
});
document.addEventListener("visibilitychange", () => {
  // A hidden page holds no connection: browsers open only a few to one server.
  if (document.hidden) {
    stream?.close();
    stream = null;
  } else if (!stream) open();
});
setInterval(tick, 500);
recall();
