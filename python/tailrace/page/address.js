// The view in the page's address: what one looks at can be sent, and is there again after a reload.

function readAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  const number = (key) => (values.get(key) === null ? NaN : Number(values.get(key)));
  return {
    run: number("run"),
    begin: number("from") * 1e9,
    end: number("to") * 1e9,
    by: values.get("colour") || "state",
    find: values.get("find") || "",
  };
}

function writeAddress(run, view, painting) {
  const values = new URLSearchParams();
  if (run) values.set("run", run);
  if (view.zoomed) {
    values.set("from", (view.begin / 1e9).toFixed(9));
    values.set("to", (view.end / 1e9).toFixed(9));
  }
  if (painting.by !== "state") values.set("colour", painting.by);
  if (painting.find) values.set("find", painting.find);
  const address = values.size ? `#${values}` : location.pathname + location.search;
  try {
    history.replaceState(null, "", address);
  } catch {
    // a sandboxed frame, such as a notebook's, has no address to keep the view in
  }
}

// The run that the address names, or the first, looks as it says.
function applyAddress(run, view, painting) {
  const wanted = readAddress();
  if ((wanted.run || 0) !== run) return;
  const by = ["state", "file", "function"].includes(wanted.by) ? wanted.by : "state";
  painting.set({ by, find: wanted.find });
  if (wanted.end > wanted.begin) view.show(wanted.begin, wanted.end);
  else view.reset();
}
