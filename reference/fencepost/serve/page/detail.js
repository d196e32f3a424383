// Everything about one instance: facts, the picture of its life, its record, its inbox, its documents.

import { badge, duration, make, number, whole } from "./dom.js";
import { picture } from "./life.js";

export function facts(detail, doing) {
  const ended = detail.endedAt !== null;
  const rows = [
    ["Status", [badge(detail.status), " ", ...(ended && detail.output ? [] : doing)]],
    ["Created", [make("time", { datetime: whole(detail.createdAt), title: whole(detail.createdAt) }, new Date(detail.createdAt).toLocaleString()), ended ? ` and ended after ${duration(detail.endedAt - detail.createdAt)}` : ""]],
  ];
  if (detail.deadline) {
    rows.push(["Next", [make("span", { "data-until": detail.deadline.at, "data-what": detail.deadline.what, title: whole(detail.deadline.at) })]]);
  }
  if (!ended) rows.push(["Lifetime", [make("span", { "data-until": detail.lifetimeEndsAt, "data-what": "ends", title: whole(detail.lifetimeEndsAt) })]]);
  if (detail.params) rows.push(["Params", [make("code", {}, detail.params)]]);
  if (detail.output) rows.push(["Output", [make("code", {}, detail.output)]]);
  return make("dl", { class: "facts" }, rows.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

export function detailParts(detail, now) {
  const parts = [];
  parts.push(make("h3", {}, "Record ", make("small", {}, `${number(detail.steps)} ${detail.steps === 1 ? "step" : "steps"}`)));
  parts.push(detail.history.length ? record(detail) : make("p", { class: "soft" }, "No step was begun."));
  if (detail.inbox) {
    const size = `${number(detail.inbox)} unconsumed, ${number(detail.inboxBytes)} bytes`;
    parts.push(make("h3", {}, "Inbox ", make("small", {}, size)), inbox(detail));
  }
  parts.push(make("h3", {}, "Life"), picture(detail, now));
  return parts;
}

function record(detail) {
  const rows = detail.history.map((step) => make(
    "tr", {},
    make("th", { scope: "row" }, make("i", { class: "kind" }, step.kind), " ", step.name, step.type !== null ? make("span", { class: "soft" }, ` for ${step.type}`) : null),
    make("td", { class: "number" }, step.kind === "do" ? `${step.attempts} of ${step.most ?? "?"}` : ""),
    make("td", { class: `outcome ${step.outcome}` }, step.outcome,
      step.outcome === "pending" && step.deadline !== null ? make("span", { class: "soft" }, ` until ${new Date(step.deadline).toLocaleTimeString()}`) : null),
    make("td", { class: "document" }, step.document ? make("code", { title: step.document }, step.document) : ""),
  ));
  return make(
    "div", { class: "scroll" },
    detail.earlierSteps ? make("p", { class: "soft" }, `${number(detail.earlierSteps)} earlier steps are not shown.`) : null,
    make("table", { class: "record" },
      make("thead", {}, make("tr", {}, ["Step", "Attempts", "Outcome", "Document"].map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows)),
  );
}

function inbox(detail) {
  const rows = detail.events.map((event) => make(
    "tr", {},
    make("td", { class: "number" }, String(event.number)),
    make("th", { scope: "row" }, event.type),
    make("td", { class: "document" }, event.payload ? make("code", { title: event.payload }, event.payload) : ""),
    make("td", {}, make("time", { datetime: whole(event.acceptedAt), title: whole(event.acceptedAt) }, new Date(event.acceptedAt).toLocaleTimeString())),
  ));
  return make(
    "div", { class: "scroll" },
    make("table", { class: "record" },
      make("thead", {}, make("tr", {}, ["#", "Type", "Payload", "Accepted"].map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, rows)),
    detail.laterEvents ? make("p", { class: "soft" }, `${number(detail.laterEvents)} later events are not shown.`) : null,
  );
}
