/** A ranking: the headings sort the networks, and the chosen score shows its scatter. */

import { drawAll } from "./plots.js";
import { sortable, sortBy } from "./tables.js";

const table = document.getElementById("networks");
const choice = document.getElementById("score");

function show(score) {
  choice.value = score;
  for (const scatter of document.querySelectorAll(".one-score")) scatter.hidden = scatter.dataset.score !== score;
  drawAll();
}

choice.addEventListener("input", () => {
  show(choice.value);
  const head = [...table.tHead.rows[0].cells].find((one) => one.dataset.score === choice.value);
  sortBy(table, head.cellIndex, "descending");
});
sortable(table, (head) => head.dataset.score && show(head.dataset.score));
