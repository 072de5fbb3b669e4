// The curves under the timeline, on its time axis: bytes per second, and ranks in I/O.

// Means of `values` (one per bin) over each pixel, in units per bin.
function meansOf(values, data, view, width) {
  const means = new Float64Array(width);
  const perPixel = view.length / width / data.bin_ns;
  let from = view.begin / data.bin_ns;
  for (let x = 0; x < width; x++) {
    const to = Math.min(from + perPixel, data.bins);
    let sum = 0;
    for (let bin = Math.floor(from); bin < to; bin++) {
      sum += values[bin] * (Math.min(to, bin + 1) - Math.max(from, bin));
    }
    means[x] = to > from ? sum / (to - from) : 0;
    from = to;
  }
  return means;
}

function drawLane(canvas, data, view, palette, lane) {
  const ratio = canvas.width / canvas.clientWidth;
  const left = Math.round(GUTTER * ratio);
  const [width, height] = [canvas.width - left, canvas.height];
  if (width < 1) return;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, height);
  const curves = lane.curves.map((curve) => ({
    ...curve,
    means: meansOf(curve.values, data, view, width),
  }));
  const top = lane.top ||
    Math.max(1e-9, ...curves.map((curve) => curve.means.reduce((a, b) => Math.max(a, b), 0)));
  drawTicks(context, { left, width, height, ratio }, top, palette, lane.label);
  for (const curve of curves) {
    drawCurve(context, { left, width, height }, curve, top, palette, ratio);
  }
}

function drawTicks(context, { left, width, height, ratio }, top, palette, label) {
  context.font = `${11 * ratio}px ${palette.font}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const room = height - 8 * ratio;
  for (const value of ticks(0, top, 3).places) {
    const y = height - 1 - (value / top) * room;
    context.fillStyle = palette.css.grid;
    context.fillRect(left, Math.round(y), width, Math.max(1, Math.round(ratio)));
    context.fillStyle = palette.css.muted;
    context.fillText(
      label(value),
      left - 8 * ratio,
      Math.min(Math.max(y, 6 * ratio), height - 6 * ratio),
    );
  }
}

function drawCurve(context, { left, width, height }, curve, top, palette, ratio) {
  const room = height - 8 * ratio;
  context.fillStyle = palette.css[curve.colour];
  context.globalAlpha = curve.alpha || 0.75;
  for (let x = 0; x < width; x++) {
    if (!curve.means[x]) continue;
    const y = Math.max((curve.means[x] / top) * room, ratio);
    context.fillRect(left + x, height - y, 1, y);
  }
  context.globalAlpha = 1;
}

function drawAxis(canvas, view, palette) {
  const ratio = canvas.width / canvas.clientWidth;
  const left = GUTTER * ratio;
  const width = canvas.width - left;
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = palette.css.muted;
  context.font = `${11 * ratio}px ${palette.font}`;
  context.textBaseline = "top";
  const { step, places } = ticks(
    view.begin,
    view.end,
    Math.max(2, Math.floor(width / (110 * ratio))),
  );
  for (const place of places) {
    const x = left + ((place - view.begin) / view.length) * width;
    context.fillRect(Math.round(x), 0, Math.max(1, Math.round(ratio)), 5 * ratio);
    const text = moment(place, step);
    const half = context.measureText(text).width / 2;
    context.textAlign = "center";
    context.fillText(text, Math.min(Math.max(x, left + half), left + width - half), 8 * ratio);
  }
}
