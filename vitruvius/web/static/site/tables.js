/** Tables that are sorted by the heading a person chooses: numbers by size, texts by letter, empty cells last. */

/** What a cell is sorted by. */
function key(row, index) {
  const cell = row.cells[index];
  const text = cell.dataset.value ?? cell.textContent.trim();
  return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
}

/** Compare two keys; numbers come before texts, empty ones last whichever way is sorted. */
function compare(a, b, sign) {
  if (a === "" || b === "") return (a === "") - (b === "");
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
}

/** Sort the rows by a column. */
export function sortBy(table, index, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(key(a, index), key(b, index), sign));
  table.tBodies[0].append(...rows);
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[index].setAttribute("aria-sort", direction);
}

/** Let the headings sort; `chosen` is told which one was used. */
export function sortable(table, chosen = () => {}) {
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const second = first === "ascending" ? "descending" : "ascending";
      sortBy(table, head.cellIndex, head.getAttribute("aria-sort") === first ? second : first);
      chosen(head);
    });
  }
}
