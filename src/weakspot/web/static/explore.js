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

const KEYS = {
  n: 'a[rel="next"]', p: 'a[rel="prev"]', u: "a[data-up]", "/": "form input[type=search], form select, form textarea",
};
// Arrows lead from trial to trial as n and p do, unless they move something that scrolls.
const TURNS = { ArrowLeft: KEYS.p, ArrowRight: KEYS.n };

document.querySelector("[data-here]")?.focus(); // where a reader comes back to

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing()) return;
  const found = KEYS[event.key] && document.querySelector(KEYS[event.key]);
  if (found) {
    event.preventDefault();
    found.tagName === "A" ? found.click() : found.focus();
    return;
  }
  if (!event.key.startsWith("Arrow") || document.activeElement?.closest?.("[tabindex='0'], .links")) return;
  const tiles = [...document.querySelectorAll(".tiles a")];
  if (!tiles.length) {
    const turn = TURNS[event.key] && document.querySelector(TURNS[event.key]);
    if (turn) {
      event.preventDefault();
      turn.click();
    }
    return;
  }
  const tile = document.activeElement?.closest?.(".tiles a");
  if (!tile) { // the first arrow goes to the first picture, wherever one is
    event.preventDefault();
    tiles[0].focus();
    return;
  }
  const across = tiles.filter((one) => one.offsetTop === tiles[0].offsetTop).length || 1;
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across, ArrowDown: across }[event.key];
  const next = tiles[tiles.indexOf(tile) + step];
  if (next) {
    event.preventDefault();
    next.focus();
  }
});
