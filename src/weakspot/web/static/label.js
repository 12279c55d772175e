"use strict";
// Keys answer as the buttons do: 1 … 9 for the choices, u or Backspace to take the last answer back.
let sent = false;

for (const form of document.forms) {
  form.addEventListener("submit", (event) => {
    if (sent) event.preventDefault(); // one answer per page, however fast the keys are
    sent = true;
  });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "")) return;
  const key = event.key === "Backspace" ? "u" : event.key.toLowerCase();
  const button = document.querySelector(`button[data-key="${CSS.escape(key)}"]`);
  if (button) {
    event.preventDefault();
    button.click();
  }
});

addEventListener("pageshow", () => { sent = false; });
