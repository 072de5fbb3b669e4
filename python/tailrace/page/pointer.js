// Zoom and pan by mouse, touch and touch pad; the tooltip.

// Less than this share of the width is a tap.
const DRAG_FROM = 0.005;

function listen(stage, view, describeAt) {
  const selection = stage.querySelector(".selection");
  const tooltip = stage.querySelector(".tooltip");
  const placeOf = (event) => {
    const box = stage.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left - GUTTER) / (box.width - GUTTER)));
  };
  listenDrag(stage, view, placeOf, selection, tooltip);
  listenWheel(stage, view, placeOf);
  stage.addEventListener("dblclick", () => view.reset());
  listenTooltip(stage, tooltip, (event) => describeAt(event, placeOf(event)));
}

// A mouse shows what it is over; a finger what it tapped, until it taps elsewhere.
function listenTooltip(stage, tooltip, describe) {
  const marker = stage.querySelector(".marker");
  const show = (event) => {
    const lines = event.buttons === 0 ? describe(event) : null;
    if (marker) marker.hidden = true;
    tooltip.hidden = !lines;
    if (!lines) return;
    fillTooltip(tooltip, lines);
    const box = stage.getBoundingClientRect();
    placeTooltip(stage, tooltip, event.clientX - box.left, event.clientY - box.top);
  };
  stage.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") show(event);
  });
  stage.addEventListener("click", show);
  stage.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") tooltip.hidden = true;
  });
  document.addEventListener("pointerdown", (event) => {
    if (!stage.contains(event.target)) tooltip.hidden = true;
  });
}

// Dragging selects a stretch of time to zoom into; with Shift it moves the view.
function listenDrag(stage, view, placeOf, selection, tooltip) {
  let from = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = { place: placeOf(event), begin: view.begin, moving: event.shiftKey };
  });
  stage.addEventListener("pointermove", (event) => {
    if (!from) return;
    const place = placeOf(event);
    if (Math.abs(place - from.place) <= DRAG_FROM) return;
    stage.setPointerCapture(event.pointerId); // not before: a captured tap has no target
    tooltip.hidden = true;
    if (from.moving) {
      const begin = from.begin - (place - from.place) * view.length;
      view.show(begin, begin + view.length);
      return;
    }
    const [left, right] = [Math.min(place, from.place), Math.max(place, from.place)];
    const width = stage.clientWidth - GUTTER;
    selection.hidden = false;
    selection.style.left = `${GUTTER + left * width}px`;
    selection.style.width = `${(right - left) * width}px`;
  });
  const end = (event) => {
    if (from && !from.moving && Math.abs(placeOf(event) - from.place) > DRAG_FROM) {
      const [left, right] = [placeOf(event), from.place].sort((a, b) => a - b);
      view.show(view.begin + left * view.length, view.begin + right * view.length);
    }
    from = null;
    selection.hidden = true;
  };
  stage.addEventListener("pointerup", end);
  stage.addEventListener("pointercancel", () => {
    from = null;
    selection.hidden = true;
  });
}

// A plain wheel scrolls the page; with Ctrl (or a pinch, which browsers report as that) it zooms,
// sideways it pans.
function listenWheel(stage, view, placeOf) {
  stage.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      view.zoom(Math.exp(Math.max(-0.7, Math.min(0.7, event.deltaY * 0.004))), placeOf(event));
    } else if (view.zoomed && (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))) {
      event.preventDefault();
      view.pan((event.deltaX || event.deltaY) / 1000);
    }
  }, { passive: false });
}

function fillTooltip(tooltip, lines) {
  tooltip.hidden = false;
  tooltip.replaceChildren(...lines.map((line) => element("div", line)));
}

function placeTooltip(stage, tooltip, x, y) {
  const leftwards = x > stage.clientWidth / 2;
  tooltip.style.left = leftwards ? "auto" : `${x + 14}px`;
  tooltip.style.right = leftwards ? `${stage.clientWidth - x + 14}px` : "auto";
  tooltip.style.top = `${y + 14}px`;
}
