// Tables whose columns sort by a click, and that can be saved as CSV; a cell's `data-value` is what
// it is sorted by, its text where there is none.

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

// Numbers are written in full, in the unit that the heading's `data-unit` names.
function asCsv(table) {
  const headings = [...table.tHead.rows[0].cells].map((cell) => {
    const unit = cell.dataset.unit;
    return unit ? `${cell.textContent} (${unit})` : cell.textContent;
  });
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const cells = rows.map((row) =>
    [...row.cells].map((cell) => cell.dataset.value ?? plainText(cell))
  );
  return [headings, ...cells].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

// A foreign name that a spreadsheet would take for a formula stays text.
function plainText(cell) {
  const text = cell.title || cell.textContent;
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function makeSaved(table) {
  const button = element("button", "CSV", "save");
  button.type = "button";
  button.title = "save this table as CSV";
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([asCsv(table)], { type: "text/csv" }));
    const link = document.createElement("a");
    Object.assign(link, { href: address, download: `${table.dataset.name}.csv` }).click();
    URL.revokeObjectURL(address);
  });
  table.closest(".scroll").after(button);
}

// Of a long table the first rows; sorting decides which those are. Paper has all of them.
const SHORT = 20;

function makeShort(table) {
  const rows = table.tBodies[0].rows.length;
  if (rows <= SHORT + 4) return;
  const button = element("button", "", "all");
  button.type = "button";
  const show = (short) => {
    table.classList.toggle("short", short);
    button.textContent = short
      ? `show all ${rows.toLocaleString("en")} rows`
      : `show the first ${SHORT} rows`;
    button.setAttribute("aria-expanded", String(!short));
  };
  button.addEventListener("click", () => show(!table.classList.contains("short")));
  show(true);
  table.closest(".scroll").after(button);
}

// A table that is wider than its place says so, and scrolls by the keyboard, too.
function makeScrolled(place) {
  const update = () => {
    const more = place.scrollWidth - place.clientWidth - place.scrollLeft > 2;
    place.classList.toggle("more", more);
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  };
  new ResizeObserver(update).observe(place);
  place.addEventListener("scroll", update);
  update();
}
