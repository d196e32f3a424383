// The picture of one instance's life: a row for each moment, and lanes beside them. Rows and spans come from
// the server; all that is done here is to place them.

import { draw, duration, make, whole } from "./dom.js";

const ROW = 44;
const GAP = 24; // a row that only says that time went by
const IDLE = 400; // milliseconds from which on it is said
const STATUS = 82;
const CONTEXT = 96;

export function picture(detail, now) {
  const { rows, spans, lanes, left_out: leftOut } = detail.life;
  const ended = detail.endedAt !== null;
  const width = STATUS + lanes * CONTEXT + 8;
  const items = [];
  const middles = [];
  let y = 0;
  let before = null;
  for (const row of rows) {
    if (before !== null && row.at - before >= IDLE) {
      items.push(gap(row.at - before));
      y += GAP;
    }
    items.push(moment(row, detail.createdAt));
    middles.push(y + ROW / 2);
    y += ROW;
    before = row.at;
  }
  if (!ended && rows.length) {
    items.push(make("li", { class: "now" }, make("span", { class: "at" }, "now"), make("span")));
    y += GAP;
  }
  const lanesDrawing = draw("svg", {
    class: "lanes", width, height: y, viewBox: `0 0 ${width} ${y}`, "aria-hidden": "true",
  });
  lanesDrawing.append(hatch());
  for (const span of spans) lanesDrawing.append(block(span, middles, y));
  rows.forEach((row, index) => {
    const mark = row.mark && marks[row.mark](middles[index], laneOf(row, spans, index));
    if (mark) lanesDrawing.append(mark);
  });
  const list = make("ol", { class: "life-rows" }, items);
  list.style.setProperty("--lanes", `${width}px`);
  return make(
    "figure", { class: "life" },
    leftOut ? make("p", { class: "soft" }, `${leftOut} earlier moments are not drawn.`) : null,
    heads(lanes, width),
    make("div", { class: "life-body" }, lanesDrawing, list),
    legend(),
  );
}

function heads(lanes, width) {
  const head = make(
    "div", { class: "life-heads", "aria-hidden": "true" },
    make("span", {}, "since start"), make("span", {}, "status"),
    make("span", {}, lanes > 1 ? "contexts" : "context"), make("span", {}, "what happened"),
  );
  head.style.setProperty("--lanes", `${width}px`);
  head.style.setProperty("--status", `${STATUS}px`);
  return head;
}

function moment(row, start) {
  const clauses = row.clauses.join(" ");
  return make(
    "li", { class: `moment ${row.who}${row.refused ? " refused" : ""}`, title: clauses && `by ${clauses}` },
    make("time", { class: "at", datetime: whole(row.at), title: whole(row.at) }, since(row.at - start)),
    make("span"),
    make(
      "div", { class: "said" },
      make("p", { title: row.what }, make("i", { class: "who" }, row.who), row.what),
      row.reply ? make("p", { class: "reply", title: row.reply }, row.reply) : null,
    ),
  );
}

const since = (milliseconds) =>
  milliseconds < 60_000 ? `${(milliseconds / 1000).toFixed(3)} s` : duration(milliseconds);

const gap = (milliseconds) =>
  make("li", { class: "gap" }, make("span", { class: "at" }), make("span"), make("span", { class: "idle" }, `${duration(milliseconds)} pass`));

const leftOf = (span) => (span.lane === "status" ? 0 : STATUS + span.of * CONTEXT);

function block(span, middles, bottom) {
  const slim = span.lane === "effect";
  const left = leftOf(span) + (slim ? 14 : 4);
  const width = (span.lane === "status" ? STATUS : CONTEXT) - (slim ? 28 : 8);
  const top = middles[span.begin] - (slim ? 6 : 9);
  const end = span.end === null ? bottom : middles[span.end] - (slim ? 12 : 10);
  const height = Math.max(end - top, 6);
  const words = span.label ?? (span.kind === "owner" ? `context ${span.token}` : span.kind);
  const shape = draw("rect", {
    class: `span ${span.lane} ${span.kind}`, x: left, y: top, width, height, rx: slim ? 4 : 6,
    fill: span.kind === "fenced" ? "url(#hatch)" : null,
  });
  const text = height >= 13
    ? draw("text", { class: `label ${span.lane} ${span.kind}`, x: left + width / 2, y: top + Math.min(height / 2, 9) + 4, "text-anchor": "middle" }, short(words, width))
    : "";
  return draw("g", {}, draw("title", {}, words), shape, text);
}

const short = (words, width) => {
  const room = Math.floor((width - 4) / 6.3);
  return words.length <= room ? words : `${words.slice(0, Math.max(room - 1, 1))}…`;
};

// The middle of the lane that a moment is about: its context's, or the status.
function laneOf(row, spans, index) {
  const own = spans.find((span) =>
    span.lane === "context" && span.token === row.token && span.begin <= index && (span.end === null || span.end >= index));
  return own ? leftOf(own) + CONTEXT / 2 : STATUS / 2;
}

const marks = {
  stopped: (y, x) => draw("rect", { class: "mark stopped", x: x - 5, y: y - 5, width: 10, height: 10, rx: 1 }),
  died: (y, x) => draw("path", { class: "mark died", d: `M${x - 6} ${y - 6}l12 12m0 -12l-12 12` }),
  deadline: (y) => draw("path", { class: "mark deadline", d: `M4 ${y - 12}h${STATUS - 8}m0 -4v8m${8 - STATUS} -8v8` }),
  refused: () => null,
};

const hatch = () =>
  draw("defs", {}, draw(
    "pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    draw("line", { class: "hatch", x1: 0, y1: 0, x2: 0, y2: 6 }),
  ));

const LEGEND = [
  ["owner", "owns the instance"], ["fenced", "fenced, not yet stopped"], ["effect", "an effect runs"],
  ["stopped", "stopped and reaped"], ["died", "died"], ["deadline", "a deadline has passed"],
];

const legend = () =>
  make("ul", { class: "legend" }, LEGEND.map(([key, words]) =>
    make("li", {}, make("span", { class: `key ${key}`, "aria-hidden": "true" }, key === "died" ? "✕" : null), words)));
