// Several runs under each other on one axis of time, from each one's begin.

async function startTogether(section) {
  const runs = [...document.querySelectorAll("details.run")];
  const canvases = [...section.querySelectorAll("canvas.ranks-by-time")];
  const shown = await Promise.all(
    canvases.map((canvas) => dataOf(runs[Number(canvas.dataset.run)])),
  );
  section.classList.add("live");
  const paintings = shown.map((data) => new Painting(data));
  const view = new View(Math.max(...shown.map((data) => data.runtime_ns)));
  const axis = section.querySelector("canvas.axis");
  const fit = () => {
    canvases.forEach((canvas, i) =>
      fitCanvas(
        canvas,
        Math.min(rowHeight(shown[i].rows), TOGETHER_ROW) * shown[i].rows,
        shown[i].rows,
      )
    );
    fitCanvas(axis, 26);
  };
  const draw = () => {
    const palette = readPalette();
    canvases.forEach((canvas, i) => drawTimeline(canvas, shown[i], view, palette, paintings[i]));
    drawAxis(axis, view, palette);
    section.dataset.drawn = `${Number(section.dataset.drawn || 0) + 1}`;
  };
  keepDrawn(section, view, draw, fit);
  const stage = section.querySelector(".stage");
  listen(stage, view, (event, place) => {
    const at = view.begin + place * view.length;
    const i = canvases.indexOf(event.target);
    if (i < 0 || at > shown[i].runtime_ns) return null;
    const box = canvases[i].getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * shown[i].rows);
    const inside = event.clientX - box.left >= GUTTER && row >= 0 && row < shown[i].rows;
    return inside ? describe(shown[i], view, row, at, box.width - GUTTER) : null;
  });
}

const TOGETHER_ROW = 18;
