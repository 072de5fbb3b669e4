// Tables whose columns sort by a click; a cell's `data-value` is what it is sorted by, its text where there is none.

function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(table, headings, column));
  });
}

function sortBy(table, headings, column) {
  const numbers = headings[column].classList.contains("number");
  const now = headings[column].getAttribute("aria-sort");
  const descending = now ? now === "ascending" : numbers;
  headings.forEach((heading) => heading.removeAttribute("aria-sort"));
  headings[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
  const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const compare = numbers ? (a, b) => key(a) - key(b) : (a, b) => key(a).localeCompare(key(b));
  const rows = [...table.tBodies[0].rows].sort(compare);
  table.tBodies[0].append(...(descending ? rows.reverse() : rows));
}
