// Small helpers: elements, and how times and lengths of time are written. Text is only ever set as text.

export const byId = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

export const make = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const badge = (status) => make("span", { class: `badge ${status}` }, status);

// Sets text without touching the document when nothing has changed.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const number = (value) => value.toLocaleString("en");

const UNITS = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]];

// A length of time in its two largest units; tenths of a second while it is short.
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  let rest = milliseconds;
  const parts = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count || parts.length) parts.push(count ? `${number(count)} ${unit}` : null);
    if (parts.length === 2) break;
  }
  return parts.filter(Boolean).join(" ");
}

// The same in whole units, for what ticks: no more of them than a glance can take in.
export function ticking(milliseconds) {
  if (milliseconds < 60_000) return `${Math.max(0, Math.floor(milliseconds / 1000))} s`;
  return milliseconds < 600_000 ? duration(milliseconds) : duration(milliseconds).split(" ").slice(0, 2).join(" ");
}

export function clock(at) {
  const date = new Date(at);
  const two = (value, width = 2) => String(value).padStart(width, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${two(date.getMilliseconds(), 3)}`;
}

export const whole = (at) => new Date(at).toISOString();

export function copyable(line) {
  const button = make("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(line);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return make("div", { class: "line" }, make("code", {}, line), button);
}
