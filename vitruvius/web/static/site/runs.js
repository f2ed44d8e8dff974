/** The table of runs: filter, sort, and choose trainings that are compared. */

import { sortable } from "./tables.js";

const table = document.getElementById("runs");
if (table) {
  const [filter, verb, state] = ["filter", "verb", "state"].map((id) => document.getElementById(id));
  const button = document.getElementById("compare");
  const chosen = document.getElementById("chosen");
  const rows = [...table.tBodies[0].rows];

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = (!verb.value || row.dataset.verb === verb.value) && (!state.value || row.dataset.state === state.value);
      row.hidden = !fits || !words.every((word) => text.includes(word));
    }
    document.getElementById("none").hidden = rows.some((row) => !row.hidden);
  };
  const count = () => {
    const number = table.querySelectorAll("input:checked").length;
    button.disabled = number < 2;
    chosen.textContent = number < 2 ? "Choose two or more trainings." : `${number} are chosen.`;
  };
  for (const control of [filter, verb, state]) control.addEventListener("input", show);
  table.addEventListener("change", count);
  sortable(table);
  show(); // a browser may have kept what was typed before
  count();
}
