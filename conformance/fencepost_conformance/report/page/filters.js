
"use strict";
(() => {
  const form = document.getElementById("filters");
  const text = document.getElementById("text");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const rows = Array.from(document.querySelectorAll("tr[data-verdict]"), (row) => ({
    row,
    words: row.textContent.toLowerCase(),
  }));
  const chapters = Array.from(document.querySelectorAll("section.chapter"));

  const chosen = (group) =>
    Array.from(form.querySelectorAll(`input[name=${group}]:checked`), (input) => input.value);

  function apply() {
    const verdicts = chosen("verdict");
    const strengths = chosen("strength");
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const { row, words: own } of rows) {
      const fits =
        (!verdicts.length || verdicts.includes(row.dataset.verdict)) &&
        (!strengths.length || strengths.includes(row.dataset.strength)) &&
        words.every((word) => own.includes(word));
      row.hidden = !fits;
      count += fits;
    }
    for (const chapter of chapters) {
      chapter.hidden = !chapter.querySelector("tr[data-verdict]:not([hidden])");
    }
    shown.textContent = `${count} of ${rows.length} clauses`;
    nothing.hidden = count > 0;
    return { verdict: verdicts.join(","), strength: strengths.join(","), text: text.value };
  }

  function changed() {
    const filters = Object.entries(apply()).filter(([, value]) => value);
    const hash = filters.length ? "#" + new URLSearchParams(filters) : "#clauses";
    history.replaceState(null, "", hash);
  }

  function fromAddress() {
    if (!location.hash.includes("=")) {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target || !target.closest("[hidden]")) return;
      form.reset();
      apply();
      target.scrollIntoView();
      return;
    }
    const filters = new URLSearchParams(location.hash.slice(1));
    text.value = filters.get("text") || "";
    for (const input of form.querySelectorAll("input[type=checkbox]")) {
      input.checked = (filters.get(input.name) || "").split(",").includes(input.value);
    }
    apply();
    document.getElementById("clauses").scrollIntoView();
  }

  const unfolded = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.figure:not([open])")) {
      details.open = true;
      unfolded.push(details);
    }
  });
  addEventListener("afterprint", () => {
    for (const details of unfolded.splice(0)) details.open = false;
  });

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  form.querySelector("[type=reset]").addEventListener("click", () => setTimeout(changed));
  form.addEventListener("input", changed);
  addEventListener("hashchange", fromAddress);
  apply();
  fromAddress();
})();
