// The grid of all cells: search, filters, arrow keys.
"use strict";

{
  const form = document.getElementById("filters");
  const resets = [...document.querySelectorAll("table.grid")].map((table) => taboo.rove(table, "a.square"));

  const apply = () => {
    const { words, study, task } = Object.fromEntries(new FormData(form));
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const cell of document.querySelectorAll("table.grid [data-task]")) {
      cell.hidden = task !== "" && cell.dataset.task !== task;
    }
    for (const section of document.querySelectorAll("section.study")) {
      let rows = 0;
      for (const row of section.querySelectorAll("tr[data-words]")) {
        row.hidden = !wanted.every((word) => row.dataset.words.includes(word));
        const squares = row.hidden ? 0 : row.querySelectorAll("td:not([hidden]) a.square").length;
        rows += squares;
      }
      section.hidden = (study !== "" && section.dataset.study !== study) || rows === 0;
      shown += section.hidden ? 0 : rows;
    }
    document.getElementById("shown").textContent = `${shown} ${shown === 1 ? "cell" : "cells"}`;
    for (const reset of resets) reset();
  };

  if (form) {
    taboo.filter(form, apply);
  }
}
