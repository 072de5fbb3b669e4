// Brings each run's section to life when it is opened. The page is complete and readable without this.

function readPalette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["useful", "io", "mpi", "read", "written", "muted", "grid"];
  const css = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  const numbers = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const states = { useful: numbers(css.useful), io: numbers(css.io), mpi: numbers(css.mpi) };
  return { css, states, font: "system-ui, sans-serif" };
}

function fitCanvas(canvas, cssHeight, rows) {
  const wanted = window.devicePixelRatio || 1;
  const ratio = canvas.clientWidth * cssHeight * wanted * wanted > 2e6 ? 1 : wanted;
  canvas.style.height = `${cssHeight}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = rows ? Math.round((cssHeight / rows) * ratio) * rows : Math.round(cssHeight * ratio);
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

async function startRun(section) {
  if (section.dataset.started) return;
  section.dataset.started = "yes";
  const data = await decodeRun(JSON.parse(section.querySelector("script[type='application/json']").textContent));
  const view = new View(data.runtime_ns);
  const canvas = (name) => section.querySelector(`canvas.${name}`);
  const [timeline, bytes, ranks, axis] = ["ranks-by-time", "bytes", "ranks-in-io", "axis"].map(canvas);
  const lanes = lanesOf(data);
  const fit = () => {
    fitCanvas(timeline, rowHeight(data.rows) * data.rows, data.rows);
    fitCanvas(bytes, 110);
    fitCanvas(ranks, 70);
    fitCanvas(axis, 26);
  };
  const draw = () => {
    const palette = readPalette();
    const started = performance.now();
    drawTimeline(timeline, data, view, palette);
    drawLane(bytes, data, view, palette, lanes.bytes);
    drawLane(ranks, data, view, palette, lanes.ranks);
    drawAxis(axis, view, palette);
    section.dataset.redrawMs = (performance.now() - started).toFixed(1);
    section.dataset.drawn = `${Number(section.dataset.drawn || 0) + 1}`;
  };
  keepDrawn(section, view, draw, fit);
  listen(section.querySelector(".stage"), view, (event, place) => describeAt(event, place, { data, view, timeline, bytes, ranks }));
}

// One redraw per frame at most, and another palette and size where the surroundings change.
function keepDrawn(section, view, draw, fit) {
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  };
  const label = section.querySelector(".view-label");
  view.listeners.push(later, () => {
    label.textContent = view.zoomed ? `${moment(view.begin, view.length / 100)} – ${moment(view.end, view.length / 100)}` : "";
  });
  const buttons = { in: () => view.zoom(0.5, 0.5), out: () => view.zoom(2, 0.5), reset: () => view.reset() };
  for (const [name, action] of Object.entries(buttons)) section.querySelector(`button.${name}`).addEventListener("click", action);
  new ResizeObserver(() => { fit(); later(); }).observe(section.querySelector(".stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  window.addEventListener("beforeprint", () => { fit(); draw(); });
  window.addEventListener("afterprint", () => { fit(); draw(); });
  fit();
  draw();
}

function describeAt(event, place, { data, view, timeline, bytes, ranks }) {
  const at = view.begin + place * view.length;
  const width = timeline.clientWidth - GUTTER;
  const box = timeline.getBoundingClientRect();
  if (event.clientX - box.left < GUTTER) return null;
  const row = Math.floor(((event.clientY - box.top) / box.height) * data.rows);
  if (event.target === timeline && row >= 0 && row < data.rows) return describe(data, view, row, at, width);
  if (event.target !== bytes && event.target !== ranks) return null;
  const mean = (values) => meansOf(values, data, { begin: Math.min(at, view.full * (1 - 1e-9)), length: view.length / width }, 1)[0];
  const perSecond = (values) => `${byteCount((mean(values) * 1e9) / data.bin_ns)}/s`;
  return [
    `at ${moment(at, view.length / width)}`,
    `written ${perSecond(data.rates.bytes_written)}, read ${perSecond(data.rates.bytes_read)}`,
    `ranks in I/O: ${threeDigits(mean(data.rates.ranks_in_io))} of ${data.ranks}`,
  ];
}

// Paper is white: while printing, the light palette holds and every section is open.
window.addEventListener("beforeprint", () => {
  document.documentElement.dataset.paper = "yes";
  document.querySelectorAll("details.run").forEach((section) => { section.open = true; });
});
window.addEventListener("afterprint", () => { delete document.documentElement.dataset.paper; });

document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("details.run").forEach((section) => {
  const start = () => {
    if (section.open) startRun(section).catch((error) => { section.querySelector(".drawing-failed").hidden = false; throw error; });
  };
  section.addEventListener("toggle", start);
  start();
});
