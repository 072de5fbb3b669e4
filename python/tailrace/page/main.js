// Brings each run's section to life when it is opened. The page is complete and readable without
// this.

const SERIES = 7;

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = [
    "useful",
    "io",
    "mpi",
    "read",
    "written",
    "other",
    "muted",
    "grid",
    "pale",
    "unknown",
  ];
  const css = Object.fromEntries(names.map((name) => [name, value(name)]));
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const numbers = Object.fromEntries(names.map((name) => [name, rgb(css[name])]));
  const states = { useful: numbers.useful, io: numbers.io, mpi: numbers.mpi };
  const series = Array.from({ length: SERIES }, (_, i) => value(`s${i}`));
  return { css, numbers, states, series, font: "system-ui, sans-serif" };
}

// A printer has more dots than a screen, and a page of paper is lower.
const PAPER_RATIO = 3;
const PAPER_HEIGHT = 0.65;

function onPaper() {
  return document.documentElement.dataset.paper === "yes";
}

function fitCanvas(canvas, screenHeight, rows) {
  const cssHeight = onPaper() ? Math.max(screenHeight * PAPER_HEIGHT, 26) : screenHeight;
  const wanted = onPaper() ? PAPER_RATIO : window.devicePixelRatio || 1;
  const most = onPaper() ? 8e6 : 2e6;
  const ratio = canvas.clientWidth * cssHeight * wanted * wanted > most ? 1 : wanted;
  canvas.style.height = `${cssHeight}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = rows
    ? Math.round((cssHeight / rows) * ratio) * rows
    : Math.round(cssHeight * ratio);
}

function lanesOf(data) {
  const perSecond = 1e9 / data.bin_ns;
  const scaled = (values) => values.map((value) => value * perSecond);
  const most = data.rates.ranks_in_io.reduce((a, b) => Math.max(a, b), 0);
  return {
    bytes: {
      curves: [
        { values: scaled(data.rates.bytes_written), colour: "written" },
        { values: scaled(data.rates.bytes_read), colour: "read" },
      ],
      label: (value) => (value ? `${byteCount(value)}/s` : "0"),
    },
    ranks: {
      curves: [{ values: data.rates.ranks_in_io, colour: "io" }],
      top: Math.max(1, Math.ceil(most)),
      label: (value) => (Number.isInteger(value) ? `${value}` : ""),
    },
  };
}

async function startRun(section, number) {
  if (section.dataset.started) return;
  section.dataset.started = "yes";
  const data = await dataOf(section);
  section.classList.add("live"); // the still picture gives way to the canvases, which now have a width
  const view = new View(data.runtime_ns);
  const painting = new Painting(data);
  const canvas = (name) => section.querySelector(`canvas.${name}`);
  const [timeline, bytes, ranks, axis] = ["ranks-by-time", "bytes", "ranks-in-io", "axis"].map(
    canvas,
  );
  const maps = [...section.querySelectorAll("canvas.file-map")];
  const lanes = lanesOf(data);
  const fit = () => {
    fitCanvas(timeline, rowHeight(data.rows) * data.rows, data.rows);
    fitCanvas(bytes, 110);
    fitCanvas(ranks, 70);
    fitCanvas(axis, 26);
    maps.forEach((map) => fitCanvas(map, MAP_HEIGHT));
  };
  const draw = () => {
    const palette = readPalette();
    const started = performance.now();
    drawTimeline(timeline, data, view, palette, painting);
    drawLane(bytes, data, view, palette, lanes.bytes);
    drawLane(ranks, data, view, palette, lanes.ranks);
    drawAxis(axis, view, palette);
    maps.forEach((map) => drawFileMap(map, data, view, palette));
    showLegend(section.querySelector(".timeline .states"), data, painting, palette);
    section.dataset.redrawMs = (performance.now() - started).toFixed(1);
    showStatistics(section.querySelector(".statistics"), data, view, painting);
    section.dataset.drawn = `${Number(section.dataset.drawn || 0) + 1}`;
  };
  const later = keepDrawn(section, view, draw, fit);
  const stage = section.querySelector(".timeline .stage");
  listen(
    stage,
    view,
    (event, place) => describeAt(event, place, { data, view, timeline, bytes, ranks }),
  );
  listenKeys(
    stage,
    view,
    makeWalk({ stage, timeline, data, view, painting, tooltip: stage.querySelector(".tooltip") }),
  );
  maps.forEach((map) =>
    listen(
      map.parentElement,
      view,
      (event, place) => describeOnMap(map, data, view, event, view.begin + place * view.length),
    )
  );
  listenPainting(section, painting, later);
  applyAddress(number, view, painting);
  const write = () => writeAddress(number, view, painting);
  view.listeners.push(write);
  painting.listeners.push(write);
  window.addEventListener("hashchange", () => applyAddress(number, view, painting));
}

// Colour by, and search.
function listenPainting(section, painting, later) {
  const choices = [...section.querySelectorAll("button[data-by]")];
  const search = section.querySelector("input[type=search]");
  choices.forEach((choice) =>
    choice.addEventListener("click", () => painting.set({ by: choice.dataset.by }))
  );
  search.addEventListener("input", () => painting.set({ find: search.value.trim() }));
  const show = () => {
    choices.forEach((choice) =>
      choice.setAttribute("aria-pressed", String(choice.dataset.by === painting.by))
    );
    if (document.activeElement !== search) search.value = painting.find;
    section.querySelector(".found").textContent = painting.find
      ? `${painting.found.toLocaleString("en")} calls`
      : "";
    later();
  };
  painting.listeners.push(show);
}

// One redraw per frame at most, and another palette and size where the surroundings change.
function keepDrawn(section, view, draw, fit) {
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      if (section.querySelector(".stage").clientWidth) draw();
    });
  };
  const label = section.querySelector(".view-label");
  view.listeners.push(later, () => {
    label.textContent = view.zoomed
      ? `${moment(view.begin, view.length / 100)} – ${moment(view.end, view.length / 100)}`
      : "";
  });
  const buttons = {
    in: () => view.zoom(0.5, 0.5),
    out: () => view.zoom(2, 0.5),
    reset: () => view.reset(),
  };
  for (const [name, action] of Object.entries(buttons)) {
    section.querySelector(`button.${name}`).addEventListener("click", action);
  }
  // at once, for fitting empties the canvases, and a print may come before the next frame
  const stage = section.querySelector(".stage");
  const refit = () => {
    if (!stage.clientWidth) return; // folded
    fit();
    draw();
  };
  new ResizeObserver(refit).observe(stage);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  window.addEventListener("beforeprint", refit);
  window.addEventListener("afterprint", refit);
  refit();
  return later;
}

function describeAt(event, place, { data, view, timeline, bytes, ranks }) {
  const at = view.begin + place * view.length;
  const width = timeline.clientWidth - GUTTER;
  const box = timeline.getBoundingClientRect();
  if (event.clientX - box.left < GUTTER) return null;
  const row = Math.floor(((event.clientY - box.top) / box.height) * data.rows);
  if (event.target === timeline && row >= 0 && row < data.rows) {
    return describe(data, view, row, at, width);
  }
  if (event.target !== bytes && event.target !== ranks) return null;
  const mean = (values) =>
    meansOf(values, data, {
      begin: Math.min(at, view.full * (1 - 1e-9)),
      length: view.length / width,
    }, 1)[0];
  const perSecond = (values) => `${byteCount((mean(values) * 1e9) / data.bin_ns)}/s`;
  return [
    `at ${moment(at, view.length / width)}`,
    `written ${perSecond(data.rates.bytes_written)}, read ${perSecond(data.rates.bytes_read)}`,
    `ranks in I/O: ${threeDigits(mean(data.rates.ranks_in_io))} of ${data.ranks}`,
  ];
}

// Paper is white and narrow: while printing, the light palette and the paper's width hold, and every
// section is open.
window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.paper = "yes";
  document.querySelectorAll("details.run").forEach((section) => {
    section.open = true;
  });
});
window.addEventListener("afterprint", () => {
  delete document.documentElement.dataset.paper;
});

function failed(section, error) {
  section.querySelector(".drawing-failed").hidden = false;
  throw error;
}

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("table[data-name]").forEach(makeSaved);
document.querySelectorAll("table.sortable").forEach(makeShort);
document.querySelectorAll(".scroll").forEach(makeScrolled);
document.querySelectorAll("section.knobs").forEach(startKnobs);
document.querySelectorAll("section.together").forEach((section) => {
  startTogether(section).catch((error) => failed(section, error));
});
document.querySelectorAll("details.run").forEach((section, number) => {
  const start = () => {
    if (section.open) startRun(section, number).catch((error) => failed(section, error));
  };
  section.addEventListener("toggle", start);
  if (readAddress().run === number) section.open = true;
  start();
});
