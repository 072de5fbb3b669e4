// What the run would take if something were faster: from a table that the page holds.

function startKnobs(section) {
  const table = JSON.parse(section.dataset.table);
  const sliders = [...section.querySelectorAll("input")];
  const of = (name) => section.querySelector(`.${name}`);
  const show = () => {
    const notches = sliders.map((slider) => Number(slider.value));
    const factors = table.knobs.map((knob, i) => knob.factors[notches[i]]);
    const place = table.knobs.reduce((at, knob, i) => at * knob.factors.length + notches[i], 0);
    const [measured, found, worst] = [
      table.runtime_ns[0],
      table.runtime_ns[place],
      table.worst_ns[place],
    ];
    sliders.forEach((slider, i) => {
      slider.setAttribute("aria-valuetext", timesAsFast(factors[i]));
      slider.parentElement.querySelector("output").textContent = timesAsFast(factors[i]);
    });
    of("answer").textContent = answerOf(place, measured, found, worst);
    of("taken").style.width = `${(100 * found) / measured}%`;
    of("unsure").style.width = `${(100 * (worst - found)) / measured}%`;
    const options = table.knobs.map((knob, i) =>
      factors[i] > 1 ? ` ${knob.option} ${factors[i]}x` : ""
    );
    of("command").textContent = `tailrace whatif ${section.dataset.trace}${options.join("")}`;
  };
  sliders.forEach((slider) => slider.addEventListener("input", show));
  section.hidden = false;
  show();
}

function timesAsFast(factor) {
  return factor > 1 ? `${factor} times as fast` : "as measured";
}

function answerOf(place, measured, found, worst) {
  if (place === 0) return `${duration(measured)}, as measured`;
  const [before, after, most] = [measured, found, worst].map(duration);
  if (after === before) return `${before}, as now: nothing waits for that`;
  return `${after} instead of ${before}${most === after ? "" : `, at worst ${most}`}`;
}
