"use strict";
// Sorts a table by the column whose heading is pressed, and hides the rows that do not have what is typed.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return isNaN(a) || isNaN(b) ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
  };
  for (const button of table.querySelectorAll("thead button")) {
    const heading = button.closest("th");
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort ?? "none"];
      for (const other of table.tHead.rows[0].cells) other.ariaSort = other === heading ? next : "none";
      const sign = next === "descending" ? -1 : 1;
      const keyed = original.map((row) => [key(row, heading.cellIndex), row]);
      if (next !== "none") keyed.sort(([a], [b]) => (a === "" || b === "" ? 1 : sign) * compare(a, b));
      body.append(...keyed.map(([, row]) => row));
    });
  }
}
for (const field of document.querySelectorAll("input[data-filters]")) {
  const rows = [...document.getElementById(field.dataset.filters).tBodies[0].rows];
  const shown = document.getElementById(field.dataset.filters + "-shown");
  field.closest("form").hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    shown.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length + " rows";
  });
}
