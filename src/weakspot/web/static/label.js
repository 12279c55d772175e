"use strict";
// Keys answer as the buttons do: 1 … 9 for the choices, u or Backspace to take the last answer back. The next
// question takes this one's place on the same page, so that somebody always listens: a key that comes before a
// question is on the screen answers nothing, and that is said.

const SETTLE = 200; // ms that a question is on the screen before a key can be meant for it
const main = document.getElementById("main");
const told = document.getElementById("told");
let ready = false;
let turn = 0;
let early = 0;

const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const settled = () => new Promise((done) => setTimeout(done, SETTLE));

async function shown() {
  const mine = ++turn;
  ready = false;
  document.body.removeAttribute("data-ready");
  const loaded = [...main.querySelectorAll("img")].map((image) => image.decode().then(() => true, () => false));
  const fine = (await Promise.all(loaded)).every(Boolean);
  await painted(); // never comes in a tab that nobody sees
  await settled();
  if (mine !== turn) return;
  ready = true;
  document.body.setAttribute("data-ready", "");
  if (!fine) told.textContent = "A picture of this question cannot be shown.";
}

function tooEarly() {
  early += 1;
  told.textContent = `${early === 1 ? "A key" : `${early} keys`} came before the question was on the screen and ` +
    "answered nothing. Press again.";
}

async function send(form, button) {
  ready = false;
  document.body.removeAttribute("data-ready");
  const said = new URLSearchParams(new FormData(form, button));
  try {
    const answer = await fetch(form.action, { method: "POST", body: said });
    if (!answer.ok) throw new Error(await answer.text());
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!page.querySelector(".labelling")) throw new Error("");
    document.title = page.title;
    history.replaceState(null, "", answer.url);
    main.replaceChildren(...page.getElementById("main").childNodes);
    scrollTo(0, 0);
  } catch (problem) {
    told.textContent = `That was not saved${problem.message ? `: ${problem.message.slice(0, 200)}` : ""}. Is ` +
      "weakspot label still running? Answer again, or reload the page.";
  }
  shown();
}

document.addEventListener("submit", (event) => {
  if (!event.submitter?.dataset.key) return; // a name, not an answer
  event.preventDefault();
  if (!ready) return tooEarly();
  told.textContent = "";
  early = 0;
  send(event.target, event.submitter);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) return;
  const key = event.key === "Backspace" ? "u" : event.key.toLowerCase();
  if (!/^[0-9u]$/.test(key)) return;
  const button = main.querySelector(`button[data-key="${CSS.escape(key)}"]`);
  if (!ready && main.querySelector("button[data-key]")) {
    event.preventDefault();
    tooEarly();
  } else if (button && !button.disabled) {
    event.preventDefault();
    button.click();
  }
});

addEventListener("pageshow", shown);
