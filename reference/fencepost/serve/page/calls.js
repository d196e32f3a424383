// The forms: each sends one call of the binding, and shows what it is answered with.

import { byId, write } from "./dom.js";

async function call(path, body) {
  let response;
  try {
    response = await fetch(path, { method: "POST", body });
  } catch {
    return { error: { name: "not connected", message: "the server does not answer" } };
  }
  return response.json();
}

// Texts of documents are sent as they were typed, so that the server judges them and nothing is lost on the way.
function member(name, text) {
  if (!text.trim()) return "";
  JSON.parse(text); // it must be a value of its own, or it could be more than one member
  return `,${JSON.stringify(name)}:${text}`;
}

function show(place, answer, good) {
  const { error } = answer;
  write(place, error ? `${error.name}: ${error.message}` : good);
  place.classList.toggle("bad", Boolean(error));
  place.hidden = !place.textContent;
}

const inPath = (id) => `/instances/${encodeURIComponent(id)}`;

const misread = (what, error) => ({ error: { name: `the ${what} is no JSON`, message: error.message } });

export function connect({ chosen, choose }) {
  const dialog = byId("create-dialog");
  const create = byId("create");
  const event = byId("event");
  const answer = byId("answer");
  const terminate = byId("terminate");
  let sure = 0;

  byId("new").addEventListener("click", () => {
    byId("create-answer").hidden = true;
    dialog.showModal();
  });
  byId("cancel").addEventListener("click", () => dialog.close());

  create.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    const { id, params } = create.elements;
    let body;
    try {
      body = `${id.value ? `,"id":${JSON.stringify(id.value)}` : ""}${member("params", params.value)}`;
    } catch (error) {
      show(byId("create-answer"), misread("params", error));
      return;
    }
    const made = await call("/instances", `{${body.slice(1)}}`);
    show(byId("create-answer"), made, "");
    if (made.error) return;
    id.value = "";
    dialog.close();
    choose(made.id);
  });

  event.addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    const { type, payload } = event.elements;
    let body;
    try {
      body = `{"type":${JSON.stringify(type.value)}${member("payload", payload.value)}}`;
    } catch (error) {
      show(answer, misread("payload", error));
      return;
    }
    show(answer, await call(`${inPath(chosen())}/events`, body), `${type.value} was accepted.`);
  });

  function calm() {
    sure = 0;
    write(terminate, "Terminate");
  }

  terminate.addEventListener("click", async () => {
    if (!sure) {
      write(terminate, "Really terminate?");
      sure = setTimeout(calm, 4000);
      return;
    }
    clearTimeout(sure);
    calm();
    show(answer, await call(`${inPath(chosen())}/terminate`, ""), "Terminated: nothing of it runs any more.");
  });

  return {
    forget() {
      clearTimeout(sure);
      calm();
      answer.hidden = true;
    },
  };
}
