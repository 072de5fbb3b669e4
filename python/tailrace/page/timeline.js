// Ranks × time by state. Far out, each pixel shows the shares of the states in its stretch of time;
// far in, the longest calls are drawn exactly on top of what the shorter ones leave.

const GUTTER = 64;
const STACKED_FROM_PX = 6;
const EXACT_FROM_PX = 2;

function rowHeight(rows) {
  return Math.min(30, Math.max(2, Math.floor(460 / rows)));
}

// Where each pixel of the view begins and ends in the bins: the bin, and how far into it. The same
// for all rows.
function placesOf(data, view, width) {
  const bin = new Int32Array(width + 1);
  const part = new Float32Array(width + 1);
  const perPixel = view.length / width / data.bin_ns;
  const begin = view.begin / data.bin_ns;
  for (let x = 0; x <= width; x++) {
    const place = Math.min(begin + x * perPixel, data.bins);
    bin[x] = Math.min(place | 0, data.bins - 1);
    part[x] = place - bin[x];
  }
  return { bin, part, perPixel, width, io: new Float32Array(width), mpi: new Float32Array(width) };
}

// Shares of I/O and MPI in each pixel of a row; the arrays are used again for the next.
function sharesOf(sums, data, row, places) {
  differences(sums.io, row * (data.bins + 1), places, places.io);
  differences(sums.mpi, row * (data.bins + 1), places, places.mpi);
  return places;
}

function differences(sum, base, { bin, part, perPixel, width }, result) {
  let before = 0;
  for (let x = 0; x <= width; x++) {
    const at = base + bin[x];
    const here = sum[at] + part[x] * (sum[at + 1] - sum[at]);
    if (x) result[x - 1] = (here - before) / perPixel;
    before = here;
  }
}

function pixel([red, green, blue]) {
  return (255 << 24) | (blue << 16) | (green << 8) | red;
}

// Every mixture of the states in steps of 1/31, so that a pixel costs one look-up.
function mixtures(colours) {
  const table = new Uint32Array(32 * 32);
  for (let io = 0; io < 32; io++) {
    for (let mpi = 0; mpi < 32; mpi++) {
      const useful = Math.max(0, 31 - io - mpi);
      const mixed = [0, 1, 2].map((i) =>
        colours.useful[i] * useful + colours.io[i] * io + colours.mpi[i] * mpi
      );
      table[io * 32 + mpi] = pixel(
        mixed.map((value) => Math.min(255, Math.round(value / Math.max(31, io + mpi)))),
      );
    }
  }
  return table;
}

// A high row: the states of a pixel column stacked by their shares, I/O at the bottom.
function fillStacked(pixels, width, top, height, shares, colours) {
  const [useful, io, mpi] = ["useful", "io", "mpi"].map((state) => pixel(colours[state]));
  for (let x = 0; x < width; x++) {
    const ioHeight = shares.io[x] > 0.004 ? Math.max(1, Math.round(shares.io[x] * height)) : 0;
    const mpiHeight = shares.mpi[x] > 0.004 ? Math.max(1, Math.round(shares.mpi[x] * height)) : 0;
    const ioFrom = height - ioHeight;
    const mpiFrom = Math.max(0, ioFrom - mpiHeight);
    for (let y = 0; y < height; y++) {
      pixels[(top + y) * width + x] = y >= ioFrom ? io : y >= mpiFrom ? mpi : useful;
    }
  }
}

// A low row: the colours of the states mixed by their shares.
function fillMixed(pixels, width, top, height, { io, mpi }, _colours, table) {
  const from = top * width;
  for (let x = 0; x < width; x++) {
    pixels[from + x] = table[((io[x] * 31 + 0.5) | 0) * 32 + ((mpi[x] * 31 + 0.5) | 0)];
  }
  for (let y = 1; y < height; y++) pixels.copyWithin(from + y * width, from, from + width);
}

function showsExactCalls(data, view, width) {
  return data.row_ranks === 1 && (data.bin_ns / view.length) * width >= EXACT_FROM_PX;
}

// `canvas` is sized by its lane; the gutter at the left is for the ranks' numbers. A view may reach
// beyond the end of the run, where another run beside it goes on.
function drawTimeline(canvas, data, view, palette, painting) {
  const ratio = canvas.width / canvas.clientWidth;
  const left = Math.round(GUTTER * ratio);
  const lane = canvas.width - left;
  if (lane < 1) return;
  const context = canvas.getContext("2d");
  const height = Math.floor(canvas.height / data.rows);
  context.clearRect(0, 0, canvas.width, canvas.height);
  drawRankNumbers(context, data, palette, ratio, height);
  const shown = clipped(view, data.runtime_ns);
  const width = Math.round((lane * shown.length) / view.length);
  if (width < 1) return;
  const gap = height >= 8 * ratio ? Math.max(1, Math.round(ratio)) : 0;
  const image = context.createImageData(width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const exact = showsExactCalls(data, shown, width) || !painting.plain;
  const sums = exact ? data.rest : data.mix;
  const states = backgroundStates(painting, palette);
  const fill = height >= STACKED_FROM_PX * ratio ? fillStacked : fillMixed;
  const table = mixtures(states);
  const places = placesOf(data, shown, width);
  for (let row = 0; row < data.rows; row++) {
    fill(
      pixels,
      width,
      row * height,
      height - gap,
      sharesOf(sums, data, row, places),
      states,
      table,
    );
  }
  context.putImageData(image, left, 0);
  if (exact) {
    drawCalls(context, data, shown, palette, painting, { left, width, height, gap, ratio });
  }
  drawUnknown(context, data, shown, palette, { left, width, height });
}

// Over all else: what nobody knows of ranks that were killed.
function drawUnknown(context, data, view, palette, { left, width, height }) {
  context.fillStyle = palette.css.unknown;
  data.unknown_ns.forEach((length, row) => {
    const from = data.runtime_ns - length;
    if (!length || from >= view.end) return;
    const begin = Math.max(0, ((from - view.begin) / view.length) * width);
    context.fillRect(left + begin, row * height, width - begin, height);
  });
}

function clipped(view, end) {
  const [begin, last] = [Math.min(view.begin, end), Math.min(view.end, end)];
  return { begin, end: last, length: last - begin };
}

// Calls are nested at most a few deep: MPI first, so that the file calls inside it stay visible;
// what is searched for last of all.
function drawCalls(context, data, view, palette, painting, { left, width, height, gap, ratio }) {
  const { calls } = data;
  const scale = width / view.length;
  const thinnest = painting.plain ? 0.5 : ratio;
  let last = null;
  const draw = (i) => {
    if (calls.end[i] < view.begin || calls.begin[i] > view.end) return;
    const from = Math.max(0, (calls.begin[i] - view.begin) * scale);
    const to = Math.min(width, (calls.end[i] - view.begin) * scale);
    const top = Math.floor(calls.rank[i] / data.row_ranks) * height;
    const colour = colourOf(painting, palette, i);
    if (colour !== last) context.fillStyle = last = colour; // setting it costs more than the rectangle
    context.fillRect(left + from, top, Math.max(to - from, thinnest), height - gap);
  };
  for (const [state, dim] of [[2, true], [1, true], [2, false], [1, false]]) {
    for (let i = 0; i < calls.count; i++) {
      if (calls.state[i] === state && (painting.colour[i] === DIM) === dim) draw(i);
    }
  }
}

function drawRankNumbers(context, data, palette, ratio, height) {
  const every = Math.ceil((14 * ratio) / height);
  context.fillStyle = palette.css.muted;
  context.font = `${11 * ratio}px ${palette.font}`;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (let row = 0; row < data.rows; row += every) {
    const name = every === 1 && data.row_ranks === 1 ? `rank ${row}` : `${row * data.row_ranks}`;
    context.fillText(name, (GUTTER - 8) * ratio, Math.max(row * height + height / 2, 6 * ratio));
  }
}

// What lies at a moment of a row: the innermost of the longest calls, or the shares of its bin.
function describe(data, view, row, at, width) {
  const ranks = data.row_ranks === 1 ? `rank ${row}` : rangeOfRanks(data, row);
  const lines = [`${ranks}, at ${moment(at, view.length / width)}`];
  if (at > data.runtime_ns - (data.unknown_ns[row] || 0)) {
    return lines.concat("not known: the rank was killed, or ended otherwise");
  }
  const call = data.row_ranks === 1 ? callAt(data, row, at, (2 * view.length) / width) : -1;
  if (call >= 0) return lines.concat(describeCall(data, call));
  const { io, mpi } = sharesOf(
    data.mix,
    data,
    row,
    placesOf(data, { begin: at, length: view.length / width }, 1),
  );
  const percent = (share) => `${Math.round(100 * share)} %`;
  return lines.concat(
    `useful ${percent(1 - io[0] - mpi[0])}, MPI ${percent(mpi[0])}, I/O ${percent(io[0])}`,
  );
}

function rangeOfRanks(data, row) {
  const first = row * data.row_ranks;
  return `ranks ${first}–${Math.min(first + data.row_ranks, data.ranks) - 1}`;
}

function describeCall(data, call) {
  const calls = data.calls;
  const lines = [calls.functions[calls.function[call]] || "call"];
  const file = calls.files[calls.file[call]];
  if (file) lines.push(file);
  const size = calls.bytes[call] ? `, ${byteCount(calls.bytes[call])}` : "";
  return lines.concat(duration(calls.end[call] - calls.begin[call]) + size);
}

// The shortest of the calls around a moment; one narrower than a pixel counts as that wide.
function callAt(data, rank, at, slack, file = null) {
  let best = -1;
  let bestLength = Infinity;
  for (let i = data.firstCall[rank]; i < data.firstCall[rank + 1]; i++) {
    if (file !== null && data.calls.file[i] !== file) continue;
    const length = data.calls.end[i] - data.calls.begin[i];
    const margin = length < slack ? slack / 2 : 0;
    if (
      data.calls.begin[i] - margin <= at && at <= data.calls.end[i] + margin && length < bestLength
    ) {
      best = i;
      bestLength = length;
    }
  }
  return best;
}
