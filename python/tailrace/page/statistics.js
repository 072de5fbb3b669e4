// Where the time of the stretch shown goes: by state, function and file.

const MOST_NAMED = 6;

// Sums over a stretch of values that stand for one bin each.
function sumOver(values, data, begin, end) {
  let sum = 0;
  const [from, to] = [begin / data.bin_ns, Math.min(end / data.bin_ns, data.bins)];
  for (let bin = Math.floor(from); bin < to; bin++) {
    sum += values[bin] * (Math.min(to, bin + 1) - Math.max(from, bin));
  }
  return sum;
}

function statisticsOf(data, view, painting) {
  const [begin, end] = [view.begin, Math.min(view.end, data.runtime_ns)];
  const total = Math.max(end - begin, 1) * data.ranks;
  const inState = (values) => sumOver(values, data, begin, end) * data.bin_ns;
  const [io, mpi] = [inState(data.rates.ranks_in_io), inState(data.rates.ranks_in_mpi)];
  return {
    length: end - begin,
    states: { useful: Math.max(0, total - io - mpi) / total, mpi: mpi / total, io: io / total },
    written: sumOver(data.rates.bytes_written, data, begin, end),
    read: sumOver(data.rates.bytes_read, data, begin, end),
    functions: named(data.calls, "function", data.calls.functions, begin, end, painting),
    files: named(data.calls, "file", data.calls.files, begin, end, painting),
  };
}

// Calls of the stretch by name: how many, and their time inside it, over all ranks.
function named(calls, key, names, begin, end, painting) {
  const rows = names.map((name) => ({ name, calls: 0, time: 0, bytes: 0 }));
  for (let i = 0; i < calls.count; i++) {
    if (calls.end[i] <= begin || calls.begin[i] >= end || painting.colour[i] === DIM) continue;
    if (key === "file" && calls.state[i] !== 1) continue; // MPI-IO's bytes are those of the calls inside it
    const row = rows[calls[key][i]];
    row.calls++;
    row.bytes += calls.bytes[i];
    row.time += Math.min(calls.end[i], end) - Math.max(calls.begin[i], begin);
  }
  return rows.filter((row) => row.calls && row.name).sort((a, b) => b.time - a.time).slice(
    0,
    MOST_NAMED,
  );
}

function element(tag, text, className = "") {
  const result = document.createElement(tag);
  result.textContent = text; // names are foreign: never as HTML
  if (className) result.className = className;
  return result;
}

function showStatistics(panel, data, view, painting) {
  const found = statisticsOf(data, view, painting);
  const resolution = view.length / 1000;
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const rate = (bytes) =>
    `${byteCount(bytes)} (${byteCount((bytes * 1e9) / Math.max(found.length, 1))}/s)`;
  const stretch = view.zoomed
    ? `${moment(view.begin, resolution)} – ${moment(view.end, resolution)} (${
      duration(found.length)
    })`
    : `The whole run (${duration(found.length)})`;
  panel.querySelector(".stretch").textContent = stretch;
  const { states } = found;
  const moved = [["written", found.written], ["read", found.read]].filter(([, bytes]) => bytes);
  panel.querySelector(".shares").textContent = [
    `useful ${percent(states.useful)}`,
    `MPI ${percent(states.mpi)}`,
    `I/O ${percent(states.io)} of the ranks' time`,
    ...moved.map(([word, bytes]) => `${word} ${rate(bytes)}`),
  ].join(" · ");
  fillNamed(panel.querySelector(".functions"), found.functions);
  fillNamed(panel.querySelector(".files"), found.files);
  panel.querySelector(".only").hidden = data.calls.complete;
}

function fillNamed(table, rows) {
  table.hidden = !rows.length;
  table.tBodies[0].replaceChildren(...rows.map((row) => {
    const line = document.createElement("tr");
    const name = element("td", shortened(row.name, 48), "name");
    name.title = row.name;
    line.append(
      name,
      ...[row.calls.toLocaleString("en"), duration(row.time), byteCount(row.bytes)]
        .map((text) => element("td", text, "number")),
    );
    return line;
  }));
}
