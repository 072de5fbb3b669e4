// The keyboard: arrows walk from call to call and from rank to rank, others zoom.

class Cursor {
  constructor(data, painting) {
    Object.assign(this, { data, painting, rank: 0, call: -1 });
  }

  // The next or last call of the rank that is drawn in colour; from nowhere, the first in the view.
  step(by, view) {
    const { calls, firstCall } = this.data;
    const [first, end] = [firstCall[this.rank], firstCall[this.rank + 1]];
    let at = this.call >= first && this.call < end ? this.call + by : this.nearest(view.begin, by);
    while (at >= first && at < end && this.painting.colour[at] === DIM) at += by;
    if (at >= first && at < end && calls.count) this.call = at;
    return this.call;
  }

  nearest(moment, by) {
    const { calls, firstCall } = this.data;
    let at = firstCall[this.rank];
    while (at < firstCall[this.rank + 1] && calls.begin[at] < moment) at++;
    return by > 0 ? at : at - 1;
  }

  // To another rank, at the call nearest in time.
  move(by, view) {
    const from = this.call >= 0 ? this.data.calls.begin[this.call] : view.begin;
    this.rank = Math.min(Math.max(this.rank + by, 0), this.data.ranks - 1);
    this.call = -1;
    const at = this.nearest(from, 1);
    if (at < this.data.firstCall[this.rank + 1]) this.call = at;
    return this.step(0, view);
  }
}

function listenKeys(stage, view, walk) {
  const actions = {
    "+": () => view.zoom(0.5, 0.5),
    "=": () => view.zoom(0.5, 0.5),
    "-": () => view.zoom(2, 0.5),
    0: () => view.reset(),
    Escape: () => (walk.hide() ? undefined : view.reset()),
    ArrowLeft: (shift) => (shift ? view.pan(-0.2) : walk.step(-1)),
    ArrowRight: (shift) => (shift ? view.pan(0.2) : walk.step(1)),
    ArrowUp: () => walk.move(-1),
    ArrowDown: () => walk.move(1),
    Enter: () => walk.enter(),
  };
  stage.addEventListener("keydown", (event) => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key](event.shiftKey);
  });
}

// Marks the call that the keys are at, and says what it is.
function makeWalk({ stage, timeline, data, view, painting, tooltip }) {
  const cursor = new Cursor(data, painting);
  const [marker, spoken] = [stage.querySelector(".marker"), stage.querySelector(".spoken")];
  const place = () => {
    if (cursor.call < 0 || tooltip.hidden) {
      marker.hidden = true;
      return;
    }
    const box = boxOfCall(timeline, data, view, cursor.call);
    marker.hidden = false;
    Object.assign(marker.style, {
      left: `${box.left}px`,
      top: `${box.top}px`,
      width: `${box.width}px`,
      height: `${box.height}px`,
    });
    placeTooltip(stage, tooltip, box.left + box.width, box.top + box.height);
  };
  const show = (call) => {
    if (call < 0) return;
    const { begin, end } = data.calls;
    if (begin[call] < view.begin || begin[call] > view.end) {
      view.show(begin[call] - view.length / 2, begin[call] + view.length / 2);
    }
    const lines = [
      `rank ${data.calls.rank[call]}, at ${moment(begin[call], (end[call] - begin[call]) / 10)}`,
      ...describeCall(data, call),
    ];
    fillTooltip(tooltip, lines);
    spoken.textContent = lines.join(", ");
    place();
  };
  view.listeners.push(place);
  return {
    step: (by) => show(cursor.step(by, view)),
    move: (by) => show(cursor.move(by, view)),
    enter: () => {
      if (cursor.call < 0) return;
      const [begin, end] = [data.calls.begin[cursor.call], data.calls.end[cursor.call]];
      view.show(begin - (end - begin), end + (end - begin));
    },
    hide: () => {
      const shown = !tooltip.hidden;
      tooltip.hidden = marker.hidden = true;
      return shown;
    },
  };
}

function boxOfCall(timeline, data, view, call) {
  const { begin, end, rank } = data.calls;
  const width = timeline.clientWidth - GUTTER;
  const height = timeline.clientHeight / data.rows;
  const place = (moment) =>
    (Math.min(Math.max(moment, view.begin), view.end) - view.begin) / view.length;
  const left = place(begin[call]) * width;
  return {
    left: GUTTER + left,
    top: Math.floor(rank[call] / data.row_ranks) * height,
    width: Math.max(place(end[call]) * width - left, 3),
    height,
  };
}
