"use strict";
// Tables of the report sort by a click on a column and filter by what is typed; tables and pictures
// say when they go on to the right. Without this script they are plain, with a shade at that edge.
(function () {
  const EMPTY = new Set(["", "\u2013"]);
  const SMALL = 8; // lines that need no filter

  function value(row, column) {
    return row.cells[column] ? row.cells[column].textContent.trim() : "";
  }

  // The number that a cell begins with; not a number where it begins with a word.
  function number(text) {
    return /^[-+]?[0-9]/.test(text) ? parseFloat(text.replace(/,/g, "")) : NaN;
  }

  function order(a, b) {
    const x = number(a);
    const y = number(b);
    if (!isNaN(x) && !isNaN(y)) return x - y;
    if (!isNaN(x) || !isNaN(y)) return isNaN(x) ? 1 : -1;
    return a.localeCompare(b);
  }

  function sort(table, column, falling) {
    const rows = Array.from(table.tBodies[0].rows);
    const places = new Map(rows.map((row, at) => [row, at]));
    rows.sort(function (a, b) {
      const x = value(a, column);
      const y = value(b, column);
      if (EMPTY.has(x) || EMPTY.has(y)) return EMPTY.has(x) - EMPTY.has(y); // always last
      return (falling ? -1 : 1) * order(x, y) || places.get(a) - places.get(b);
    });
    rows.forEach((row) => table.tBodies[0].appendChild(row));
  }

  function makeSortable(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        const before = head.getAttribute("aria-sort");
        const first = table.tBodies[0].rows[0];
        const numeric = first && !isNaN(number(value(first, column)));
        const falling = before ? before === "ascending" : Boolean(numeric);
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        sort(table, column, falling);
      });
    });
  }

  function makeFilter(frame, table) {
    if (table.tBodies[0].rows.length <= SMALL) return;
    const label = document.createElement("label");
    const input = document.createElement("input");
    label.className = "filter";
    label.textContent = "Show lines with ";
    input.type = "search";
    label.appendChild(input);
    frame.before(label);
    input.addEventListener("input", function () {
      const words = input.value.toLowerCase().split(/\s+/);
      Array.from(table.tBodies[0].rows).forEach(function (row) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
    });
  }

  function makeHint(frame, what) {
    const hint = document.createElement("p");
    hint.className = "soft hint";
    hint.textContent = `This ${what} goes on: scroll it sideways \u2192`;
    frame.before(hint);
    const look = () => { hint.hidden = frame.scrollWidth <= frame.clientWidth + 1; };
    new ResizeObserver(look).observe(frame);
    look();
  }

  document.querySelectorAll(".wide").forEach(function (frame) {
    const table = frame.querySelector("table");
    makeSortable(table);
    makeFilter(frame, table);
    makeHint(frame, "table");
  });
  document.querySelectorAll(".picture").forEach((frame) => makeHint(frame, "picture"));
})();
