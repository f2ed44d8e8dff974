// Sort the table of networks by a chosen score; the page's data map score -> network name -> rank.
const ranks = JSON.parse(document.getElementById("data").textContent);
const tables = [...document.querySelectorAll("table")];
const table = tables.find(table => table.caption && / networks? by /.test(table.caption.textContent));
const choice = document.createElement("select");
choice.ariaLabel = "sort by";
for (const score of Object.keys(ranks)) choice.add(new Option(score));
choice.onchange = () => {
  const rank = row => ranks[choice.value][row.cells[1].textContent];
  const rows = [...table.tBodies[0].rows].sort((a, b) => rank(a) - rank(b));
  for (const row of rows) row.cells[0].textContent = rank(row);
  table.tBodies[0].append(...rows);
};
table.caption.textContent = table.caption.textContent.replace(/ by .*/, " by ");
table.caption.append(choice);
