// Zoom and pan, by mouse, touch pad, keyboard and buttons; the tooltip.

function listen(stage, view, describeAt) {
  const selection = stage.querySelector(".selection");
  const tooltip = stage.querySelector(".tooltip");
  const placeOf = (event) => {
    const box = stage.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left - GUTTER) / (box.width - GUTTER)));
  };
  listenDrag(stage, view, placeOf, selection, tooltip);
  listenWheel(stage, view, placeOf);
  listenKeys(stage, view);
  stage.addEventListener("dblclick", () => view.reset());
  stage.addEventListener("pointermove", (event) => showTooltip(stage, tooltip, event, describeAt(event, placeOf(event))));
  stage.addEventListener("pointerleave", () => { tooltip.hidden = true; });
}

// Dragging selects a stretch of time to zoom into; with Shift it moves the view.
function listenDrag(stage, view, placeOf, selection, tooltip) {
  let from = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    from = { place: placeOf(event), begin: view.begin, moving: event.shiftKey };
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!from) return;
    const place = placeOf(event);
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
    if (from && !from.moving && Math.abs(placeOf(event) - from.place) > 0.005) {
      const [left, right] = [placeOf(event), from.place].sort((a, b) => a - b);
      view.show(view.begin + left * view.length, view.begin + right * view.length);
    }
    from = null;
    selection.hidden = true;
  };
  stage.addEventListener("pointerup", end);
  stage.addEventListener("pointercancel", () => { from = null; selection.hidden = true; });
}

// A plain wheel scrolls the page; with Ctrl (or a pinch, which browsers tell as that) it zooms, sideways it pans.
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

function listenKeys(stage, view) {
  const actions = {
    "+": () => view.zoom(0.5, 0.5), "=": () => view.zoom(0.5, 0.5), "-": () => view.zoom(2, 0.5),
    ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), 0: () => view.reset(), Escape: () => view.reset(),
  };
  stage.addEventListener("keydown", (event) => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  });
}

function showTooltip(stage, tooltip, event, lines) {
  tooltip.hidden = !lines || event.buttons !== 0;
  if (tooltip.hidden) return;
  tooltip.replaceChildren(...lines.map((line) => {
    const element = document.createElement("div");
    element.textContent = line; // names are foreign: never as HTML
    return element;
  }));
  const box = stage.getBoundingClientRect();
  const x = event.clientX - box.left;
  const leftwards = x > box.width / 2;
  tooltip.style.left = leftwards ? "auto" : `${x + 14}px`;
  tooltip.style.right = leftwards ? `${box.width - x + 14}px` : "auto";
  tooltip.style.top = `${event.clientY - box.top + 14}px`;
}
