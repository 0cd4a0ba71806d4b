"use strict";
// Adds what a page can be read without: search, order and zoom.
(() => {
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // Tables: a button in each title sorts by its column.
  const value = (row, column) => {
    const text = row.cells[column] ? row.cells[column].textContent : "";
    const number = parseFloat(text);
    return Number.isNaN(number) || text.startsWith("0x") ? text : number;
  };
  const order = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return 1;
    if (typeof b === "number") return -1;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  for (const table of document.querySelectorAll("table.sorts")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") !== "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => [value(row, column), row]);
        rows.sort((a, b) => (falls ? order(b[0], a[0]) : order(a[0], b[0])));
        body.append(...rows.map((pair) => pair[1]));
      });
    });
    if (body.rows.length < 16) continue;
    const found = make("output", {});
    const input = make("input", { type: "search", placeholder: "Search rows" });
    input.setAttribute("aria-label", "Search rows of: " + table.caption.textContent);
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      let shown = 0;
      for (const row of body.rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += row.hidden ? 0 : 1;
      }
      found.textContent = wanted ? shown + " of " + body.rows.length + " rows" : "";
    });
    table.parentElement.before(make("div", { className: "tools" }, input, found));
  }

  // Icicles: a box fills the width when it is chosen.
  for (const figure of document.querySelectorAll("figure.icicle")) {
    const svg = figure.querySelector("svg");
    const width = svg.viewBox.baseVal.width;
    const boxes = [...svg.querySelectorAll("g.f")].map((group) => {
      const rect = group.querySelector("rect");
      const name = group.querySelector("title").textContent;
      const at = (key) => parseFloat(rect.getAttribute(key));
      const routine = name.replace(/, \d+ samples, [^;]*; \d+ in itself$/, "");
      return { group, rect, name, routine, x: at("x"), y: at("y"), w: at("width") };
    });
    let chosen = null;
    const show = () => {
      const [from, span] = chosen ? [chosen.x, chosen.w] : [0, width];
      for (const box of boxes) {
        const covers = chosen && box.y < chosen.y && box.x <= from + 0.01 && box.x + box.w >= from + span - 0.01;
        const x = covers ? 0 : ((box.x - from) / span) * width;
        const w = covers ? width : (box.w / span) * width;
        const hidden = x + w < 0.01 || x > width - 0.01;
        box.group.classList.toggle("gone", hidden);
        box.group.classList.toggle("above", Boolean(covers));
        box.group.setAttribute("tabindex", hidden ? "-1" : "0");
        if (hidden) continue;
        box.rect.setAttribute("x", x);
        box.rect.setAttribute("width", Math.max(w, 0.1));
        let text = box.group.querySelector("text");
        const room = Math.floor((w - 8) / 6.6);
        if (room < 3) {
          if (text) text.textContent = "";
          continue;
        }
        if (!text) {
          text = document.createElementNS(svg.namespaceURI, "text");
          text.setAttribute("y", box.y + 14);
          box.group.append(text);
        }
        text.setAttribute("x", Math.max(x, 0) + 4);
        const letters = [...box.routine];
        text.textContent = letters.length > room ? letters.slice(0, room - 1).join("") + "\u2026" : box.routine;
      }
      whole.disabled = !chosen;
    };
    const choose = (box) => {
      chosen = box === chosen ? null : box;
      show();
    };
    const whole = make("button", { type: "button", disabled: true }, "Whole picture");
    whole.addEventListener("click", () => choose(null));
    const found = make("output", {});
    const input = make("input", { type: "search", placeholder: "Search routines" });
    input.setAttribute("aria-label", "Search routines of this picture");
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase();
      let hits = 0;
      for (const box of boxes) {
        const hit = wanted !== "" && box.routine.toLowerCase().includes(wanted);
        box.group.classList.toggle("hit", hit);
        hits += hit ? 1 : 0;
      }
      svg.classList.toggle("searched", wanted !== "");
      found.textContent = wanted ? hits + " of " + boxes.length + " boxes" : "";
    });
    svg.setAttribute("role", "group");
    for (const box of boxes) {
      box.group.setAttribute("role", "button");
      box.group.setAttribute("aria-label", box.name);
      box.group.addEventListener("click", () => choose(box));
      box.group.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(box);
      });
    }
    figure.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && event.target !== input) choose(null);
    });
    figure.querySelector("figcaption").after(make("div", { className: "tools" }, input, whole, found));
    show();
  }

  // On paper nothing can be opened.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
})();
