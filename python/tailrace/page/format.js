// How numbers, times and places on an axis are written.

function threeDigits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return value.toLocaleString("en", {
    maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : 2,
  });
}

function duration(ns) {
  for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (Math.abs(ns) >= scale) return `${threeDigits(ns / scale)} ${unit}`;
  }
  return `${threeDigits(ns)} ns`;
}

function byteCount(bytes) {
  for (const [scale, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (bytes >= scale) return `${threeDigits(bytes / scale)} ${unit}`;
  }
  return `${threeDigits(bytes)} B`;
}

// A moment of the run in seconds, with as many decimals as the view can tell apart.
function moment(ns, resolutionNs) {
  const decimals = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(resolutionNs, 1)))));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

// Round steps (1, 2, 5 × 10^n) that divide the view into at most `most` parts.
function ticks(begin, end, most) {
  const rough = (end - begin) / Math.max(most, 1);
  const scale = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * scale >= rough) * scale;
  const places = [];
  for (let n = Math.ceil(begin / step); n * step <= end; n++) places.push(n * step);
  return { step, places };
}
