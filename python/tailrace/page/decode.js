// Arrays of the page: base64 of deflated little-endian numbers.

async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const inflater = new DecompressionStream("deflate");
  const writer = inflater.writable.getWriter();
  const written = writer.write(packed).then(() => writer.close());
  const [buffer] = await Promise.all([new Response(inflater.readable).arrayBuffer(), written]);
  return buffer;
}

const decoded = new WeakMap();

// Each run once, for its own section and for the one where runs stand side by side.
function dataOf(section) {
  if (!decoded.has(section)) {
    const text = section.querySelector("script[type='application/json']").textContent;
    decoded.set(section, decodeRun(JSON.parse(text)));
  }
  return decoded.get(section);
}

async function decodeRun(data) {
  const array = async (text, Kind) => new Kind(await inflate(text));
  const kinds = {
    rank: Uint32Array,
    begin: Float64Array,
    end: Float64Array,
    bytes: Float64Array,
    state: Uint8Array,
    function: Uint32Array,
    file: Uint32Array,
  };
  const calls = { ...data.calls };
  for (const [name, Kind] of Object.entries(kinds)) {
    calls[name] = await array(data.calls[name], Kind);
  }
  const rates = {};
  for (const [name, text] of Object.entries(data.rates)) {
    rates[name] = await array(text, Float32Array);
  }
  const sums = async (text) => prefixSums(await array(text, Uint8Array), data.rows, data.bins);
  const mix = await sums(data.mix);
  const maps = {};
  for (const [use, text] of Object.entries(data.uses.maps)) {
    maps[use] = await array(text, Uint8Array);
  }
  return {
    ...data,
    calls,
    rates,
    uses: { ...data.uses, maps },
    mix,
    rest: data.rest ? await sums(data.rest) : mix,
    firstCall: firstCalls(calls, data.ranks),
  };
}

// Sums of the shares up to each bin, per row: any stretch of time then costs two look-ups, however
// far one zooms out.
function prefixSums(mix, rows, bins) {
  const io = new Float32Array(rows * (bins + 1));
  const mpi = new Float32Array(rows * (bins + 1));
  for (let row = 0; row < rows; row++) {
    let at = row * (bins + 1);
    for (let bin = 0; bin < bins; bin++, at++) {
      const byte = mix[row * bins + bin];
      io[at + 1] = io[at] + (byte >> 4) / 15;
      mpi[at + 1] = mpi[at] + (byte & 15) / 15;
    }
  }
  return { io, mpi };
}

// Calls are sorted by rank, then begin: where each rank's start. Ranks + 1 entries.
function firstCalls(calls, ranks) {
  const first = new Uint32Array(ranks + 1);
  for (let i = 0; i < calls.count; i++) first[calls.rank[i] + 1]++;
  for (let rank = 0; rank < ranks; rank++) first[rank + 1] += first[rank];
  return first;
}
