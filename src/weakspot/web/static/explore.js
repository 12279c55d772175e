"use strict";
// Parts of a page that grow are asked for again; filters apply as they are chosen; pages turn by keys.

const typing = () => /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");

for (const part of document.querySelectorAll("[data-live]")) {
  const every = Number(part.dataset.every) || 2000;
  const running = () => part.querySelector("[data-state]")?.dataset.state === "running";
  const ask = async () => {
    if (!document.hidden && running() && !part.contains(document.activeElement)) {
      try {
        const answer = await fetch(part.dataset.live, { headers: { accept: "text/html" } });
        if (answer.ok) {
          const page = new DOMParser().parseFromString(await answer.text(), "text/html");
          part.replaceChildren(...page.body.childNodes);
        }
      } catch { /* the server is gone for the moment; the next question will tell */ }
    }
    if (running()) setTimeout(ask, every);
  };
  setTimeout(ask, every);
}

for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", () => form.requestSubmit());
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && field.value === "") field.disabled = true;
  });
}

// A page that looked through many trials and found none goes on by itself.
const on = document.querySelector("a[data-go-on]");
if (on) setTimeout(() => on.click(), 50);

const KEYS = { n: 'a[rel="next"]', p: 'a[rel="prev"]', u: "a[data-up]", "/": "form select, form textarea" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing()) return;
  const found = KEYS[event.key] && document.querySelector(KEYS[event.key]);
  if (found) {
    event.preventDefault();
    found.tagName === "A" ? found.click() : found.focus();
    return;
  }
  const tile = document.activeElement?.closest?.(".tiles a");
  if (!tile || !event.key.startsWith("Arrow")) return;
  const tiles = [...document.querySelectorAll(".tiles a")];
  const across = tiles.filter((one) => one.offsetTop === tiles[0].offsetTop).length || 1;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
  const next = tiles[tiles.indexOf(tile) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});
