// Uses the page as a reader would, and leaves what it saw in an element at the end.
function whenDrawn(action) {
  if (document.querySelector("details.run").dataset.drawn) action();
  else setTimeout(() => whenDrawn(action), 20);
}

window.addEventListener("load", () => whenDrawn(() => {
  const answer = {};
  const stage = document.querySelector(".stage");
  const label = () => document.querySelector(".view-label").textContent;
  const canvas = document.querySelector("canvas.ranks-by-time");
  const box = canvas.getBoundingClientRect();
  const pixel = (x, y) => [...canvas.getContext("2d").getImageData(x, y, 1, 1).data.slice(0, 3)];
  const width = canvas.width - 64;
  answer.useful = pixel(64 + Math.round(width * 0.25 / 17.5), 5);
  answer.io = pixel(64 + Math.round(width * 1.4 / 17.5), 5);
  answer.mpi = pixel(64 + Math.round(width * 1.4 / 17.5), Math.round(canvas.height * 0.9));
  const move = (type, x) => stage.dispatchEvent(
    new PointerEvent(type, { clientX: x, clientY: box.top + 5, bubbles: true, pointerId: 1, button: 0 }),
  );
  stage.setPointerCapture = () => {};
  move("pointerdown", box.left + 64 + (box.width - 64) * 1 / 17.5);
  move("pointerup", box.left + 64 + (box.width - 64) * 3 / 17.5);
  answer.zoomed = label();
  const wheel = { deltaY: -200, ctrlKey: true, clientX: box.left + 200, bubbles: true, cancelable: true };
  stage.dispatchEvent(new WheelEvent("wheel", wheel));
  answer.closer = label();
  const hover = { clientX: box.left + 70, clientY: box.top + 5, bubbles: true };
  canvas.dispatchEvent(new PointerEvent("pointermove", hover));
  answer.tooltip = document.querySelector(".tooltip").innerText;
  stage.dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
  answer.reset = label();
  const tables = [...document.querySelectorAll("table.sortable")];
  const ranks = tables.find((table) => table.tHead.innerText.includes("events"));
  ranks.tHead.querySelector("button").click();
  answer.sorted = ranks.tBodies[0].rows[0].cells[0].textContent;
  const done = document.createElement("pre");
  done.id = "answer";
  done.textContent = JSON.stringify(answer);
  document.body.append(done);
}));
