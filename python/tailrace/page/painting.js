// What calls are coloured by (their state, file or function), and which of them are searched for.

const COLOURED = 7; // names with a colour of their own; the others share one
const OTHERS = COLOURED;
const NAMELESS = COLOURED + 1;
const DIM = COLOURED + 2;

class Painting {
  constructor(data) {
    this.data = data;
    this.by = "state";
    this.find = "";
    this.listeners = [];
    this.update();
  }

  set(changes) {
    Object.assign(this, changes);
    this.update();
    this.listeners.forEach((listener) => listener());
  }

  get plain() {
    return this.by === "state" && !this.find;
  }

  // For every call the number of its colour; `names` are those that have one, most time first.
  update() {
    const { calls } = this.data;
    const matches = matching(calls, this.find);
    const indices = { file: calls.file, function: calls.function }[this.by];
    const all = { file: calls.files, function: calls.functions }[this.by];
    const order = indices ? byTime(calls, indices, all, matches) : [];
    const slots = new Map(order.slice(0, COLOURED).map((name, place) => [name, place]));
    this.names = [...slots.keys()].map((name) => all[name]);
    this.others = order.length > COLOURED;
    this.colour = new Uint8Array(calls.count);
    this.found = 0;
    for (let i = 0; i < calls.count; i++) {
      if (matches && !matches[i]) this.colour[i] = DIM;
      else if (!indices || !all[indices[i]]) this.colour[i] = NAMELESS;
      else this.colour[i] = slots.get(indices[i]) ?? OTHERS;
      if (this.colour[i] !== DIM) this.found++;
    }
  }
}

// Numbers of names in order of the time in their calls; calls without a name are left out, and those
// that are not searched for.
function byTime(calls, indices, names, matches) {
  const time = new Float64Array(names.length);
  for (let i = 0; i < calls.count; i++) {
    if (!matches || matches[i]) time[indices[i]] += calls.end[i] - calls.begin[i];
  }
  return [...time.keys()].filter((name) => names[name] && time[name] > 0).sort((a, b) =>
    time[b] - time[a]
  );
}

// Which calls have a file or function whose name contains the text; null where all are meant.
function matching(calls, text) {
  if (!text) return null;
  const wanted = text.toLowerCase();
  const contains = (name) => name.toLowerCase().includes(wanted);
  const [functions, files] = [calls.functions.map(contains), calls.files.map(contains)];
  return Uint8Array.from(
    { length: calls.count },
    (_, i) => functions[calls.function[i]] || files[calls.file[i]],
  );
}

// CSS of a call: its state's colour where no name has given it one.
function colourOf(painting, palette, call) {
  const colour = painting.colour[call];
  if (colour === NAMELESS) {
    return painting.data.calls.state[call] === 1 ? palette.css.io : palette.css.mpi;
  }
  return colour === DIM
    ? palette.css.grid
    : colour === OTHERS
    ? palette.css.muted
    : palette.series[colour];
}

// What a stretch without exact calls is drawn in: pale where names have the colours.
function backgroundStates(painting, palette) {
  if (painting.plain) return palette.states;
  const { numbers } = palette;
  const pale = {
    useful: numbers.pale,
    mpi: numbers.grid,
    io: painting.find ? numbers.grid : numbers.muted,
  };
  return pale;
}

function showLegend(list, data, painting, palette) {
  const entries = painting.by === "state"
    ? [["useful", palette.css.useful], ["MPI", palette.css.mpi], ["I/O", palette.css.io]]
    : painting.names.map((name, place) => [name, palette.series[place]]);
  if (painting.others) entries.push([`other ${painting.by}s`, palette.css.muted]);
  if (data.unknown_ns.length) entries.push(["not known", palette.css.unknown]);
  list.replaceChildren(...entries.map(([name, colour]) => {
    const [item, key] = [document.createElement("li"), document.createElement("i")];
    key.className = "key";
    key.style.background = colour;
    item.title = name;
    item.append(key, shortened(name));
    return item;
  }));
}

// The end of a path says most.
function shortened(name, most = 36) {
  return name.length > most ? `…${name.slice(1 - most)}` : name;
}
