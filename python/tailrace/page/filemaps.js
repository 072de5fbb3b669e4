// Ranks × time for one file each: who reads and writes it, and when.

const MAP_HEIGHT = 54;

// From here on bins are wide enough to see the calls in them.
const CALLS_FROM_PX = 8;
const USE_KINDS = ["read", "written", "other"];

function drawFileMap(canvas, data, view, palette) {
  const ratio = canvas.width / canvas.clientWidth;
  const left = GUTTER * ratio;
  const context = canvas.getContext("2d");
  const area = {
    context,
    left,
    ratio,
    width: canvas.width - left,
    rank: canvas.height / data.ranks,
  };
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = palette.css.grid;
  context.fillRect(left, 0, area.width, canvas.height);
  const use = data.uses.maps[canvas.dataset.use];
  if (use && !data.calls.complete) drawUse(area, use, data, view, palette);
  const narrow = (data.uses.bin_ns / view.length) * area.width < CALLS_FROM_PX * ratio;
  if (!use || data.calls.complete || !narrow) {
    drawCallsOn(area, Number(canvas.dataset.file), data, view, palette);
  }
  drawMapScale(context, canvas, data, palette, ratio);
}

// Every bin with the kinds of call that fill it, stacked by their shares.
function drawUse({ context, left, width, rank, ratio }, use, data, view, palette) {
  const { bins, bin_ns: length } = data.uses;
  const scale = width / view.length;
  const first = Math.max(0, Math.floor(view.begin / length));
  const last = Math.min(bins, Math.ceil(view.end / length));
  const height = rank * data.row_ranks;
  const high = height >= STACKED_FROM_PX * ratio;
  for (let row = 0; row < data.rows; row++) {
    for (let bin = first; bin < last; bin++) {
      const x = Math.max(0, (bin * length - view.begin) * scale);
      const wide = Math.min(width, ((bin + 1) * length - view.begin) * scale) - x;
      let bottom = (row + 1) * height - (high ? 1 : 0);
      for (let kind = 0; kind < USE_KINDS.length; kind++) {
        const share = use[(kind * data.rows + row) * bins + bin] / 15;
        if (!share) continue;
        context.fillStyle = palette.css[USE_KINDS[kind]];
        context.globalAlpha = high ? 1 : 0.3 + 0.7 * share;
        const tall = high ? share * (height - 1) : height;
        context.fillRect(left + x, bottom - tall, wide, tall);
        bottom -= high ? tall : 0;
      }
    }
  }
  context.globalAlpha = 1;
}

function drawCallsOn({ context, left, width, rank, ratio }, file, data, view, palette) {
  const { calls } = data;
  const scale = width / view.length;
  const height = Math.max(rank - (rank > 6 ? 1 : 0), 1);
  for (let i = 0; i < calls.count; i++) {
    if (calls.file[i] !== file || calls.state[i] !== 1) continue;
    if (calls.end[i] < view.begin || calls.begin[i] > view.end) continue;
    const from = Math.max(0, (calls.begin[i] - view.begin) * scale);
    const to = Math.min(width, (calls.end[i] - view.begin) * scale);
    context.fillStyle = palette.css[calls.kinds[calls.function[i]]];
    context.fillRect(left + from, calls.rank[i] * rank, Math.max(to - from, ratio), height);
  }
}

function drawMapScale(context, canvas, data, palette, ratio) {
  context.fillStyle = palette.css.muted;
  context.font = `${11 * ratio}px ${palette.font}`;
  context.textAlign = "right";
  context.textBaseline = "top";
  context.fillText(data.ranks > 1 ? "rank 0" : "", (GUTTER - 8) * ratio, 0);
  context.textBaseline = "bottom";
  context.fillText(`rank ${data.ranks - 1}`, (GUTTER - 8) * ratio, canvas.height);
}

function describeOnMap(canvas, data, view, event, at) {
  const box = canvas.getBoundingClientRect();
  const rank = Math.min(
    data.ranks - 1,
    Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * data.ranks)),
  );
  const slack = (2 * view.length) / (box.width - GUTTER);
  const place = `at ${moment(at, slack)}`;
  const call = callAt(data, rank, at, slack, Number(canvas.dataset.file));
  if (call >= 0) return [`rank ${rank}, ${place}`, ...describeCall(data, call)];
  const use = data.uses.maps[canvas.dataset.use];
  if (data.calls.complete || !use) {
    return [
      `rank ${rank}, ${place}`,
      data.calls.complete ? "no call on this file" : "none of the longest calls",
    ];
  }
  const row = Math.floor(rank / data.row_ranks);
  const ranks = data.row_ranks === 1 ? `rank ${rank}` : rangeOfRanks(data, row);
  return [`${ranks}, ${duration(data.uses.bin_ns)} ${place}`, describeUse(use, data, row, at)];
}

function describeUse(use, data, row, at) {
  const { bins, bin_ns: length } = data.uses;
  const bin = Math.min(bins - 1, Math.floor(at / length));
  const shares = ["reading", "writing", "other calls"].map((name, kind) => {
    const fifteenths = use[(kind * data.rows + row) * bins + bin];
    return fifteenths ? `${name} ${Math.round((100 * fifteenths) / 15)} %` : "";
  });
  return shares.filter(Boolean).join(", ") || "no call on this file";
}
