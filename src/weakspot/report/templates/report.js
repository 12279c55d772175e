// Saves figures as files. Without it the page shows the same.
"use strict";
(() => {
  const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity",
    "font-family", "font-size", "font-weight", "text-anchor", "font-variant-numeric"];

  const download = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  // The picture by itself: what the page's style says of it is written into it.
  const alone = (svg) => {
    const box = svg.getBoundingClientRect(), copy = svg.cloneNode(true);
    const seen = [svg, ...svg.querySelectorAll("*")], own = [copy, ...copy.querySelectorAll("*")];
    seen.forEach((element, i) => {
      const style = getComputedStyle(element);
      own[i].removeAttribute("class");
      own[i].removeAttribute("style");
      if (!(element instanceof SVGElement)) return;
      for (const name of KEPT) {
        const value = style.getPropertyValue(name);
        if (value) own[i].setAttribute(name, value);
      }
    });
    const [wide, high] = svg.viewBox.baseVal && svg.viewBox.baseVal.width
      ? [svg.viewBox.baseVal.width, svg.viewBox.baseVal.height] : [box.width, box.height];
    copy.setAttribute("width", wide);
    copy.setAttribute("height", high);
    const paper = document.createElementNS(svg.namespaceURI, "rect");
    const card = svg.closest(".card") || document.body;
    for (const [name, value] of Object.entries({x: -8, y: -8, width: wide + 16, height: high + 16,
      fill: getComputedStyle(card).backgroundColor})) paper.setAttribute(name, value);
    copy.prepend(paper);
    copy.setAttribute("viewBox", `-8 -8 ${wide + 16} ${high + 16}`);
    return {text: new XMLSerializer().serializeToString(copy), wide: wide + 16, high: high + 16};
  };

  const saves = {
    SVG: (figure, name) => {
      const {text} = alone(figure.querySelector("svg"));
      download(new Blob([text], {type: "image/svg+xml"}), `${name}.svg`);
    },
    PNG: (figure, name) => {
      const {text, wide, high} = alone(figure.querySelector("svg")), image = new Image(), times = 3;
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = Math.round(wide * times);
        canvas.height = Math.round(high * times);
        canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob((blob) => download(blob, `${name}.png`), "image/png");
      };
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
    },
    CSV: (figure, name) => {
      const text = figure.querySelector(".csv").textContent.replace(/\n/g, "\r\n");
      download(new Blob(["\ufeff", text], {type: "text/csv"}), `${name}.csv`);
    },
  };

  for (const figure of document.querySelectorAll("figure.plot")) {
    const tools = document.createElement("span"), title = figure.dataset.title;
    tools.className = "save";
    tools.append("save ");
    for (const kind of Object.keys(saves)) {
      if (kind === "CSV" && !figure.querySelector(".csv")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `Save ${title} as ${kind}`);
      button.addEventListener("click", () => saves[kind](figure, figure.dataset.name));
      tools.append(button);
    }
    figure.querySelector("figcaption").append(tools);
  }
})();
