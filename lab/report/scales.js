// Maps figures to pixels, and places the ticks.

function extent(values) {
  const real = values.filter(exists);
  return real.length ? [Math.min(...real), Math.max(...real)] : [0, 1];
}

/** `room`: the number of labels that fit. */
function niceStep(span, room) {
  const least = span / Math.max(1, room), power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= least * (1 - 1e-9));
}

function linearScale(low, high, from, to, room, {zero = true, tight = false} = {}) {
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) high = low + (Math.abs(low) || 1);
  const step = niceStep(high - low, room);
  if (!tight) [low, high] = [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    ticks.push(Number((i * step).toPrecision(12)));
  return {
    at: value => from + (to - from) * (value - low) / (high - low),
    ticks,
    minor: [],
    low,
    high,
    base: Math.max(low, Math.min(0, high))
  };
}

/** Multiples of `steps` in each power of `base`, from `low` to `high`. */
function powers(base, steps, low, high) {
  const out = [];
  for (let p = Math.floor(Math.log(low) / Math.log(base) - 1e-9); base ** p <= high * (1 + 1e-9); ++p) {
    for (const step of steps) {
      const value = Number((step * base ** p).toPrecision(12));
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) out.push(value);
    }
  }
  return out;
}

const every = (values, n) => values.filter((_, i) => i % n === 0);

/** `binary`: ticks at powers of two. The range is extended to whole ticks unless `tight`. */
function logScale(low, high, from, to, room, {binary = false, tight = false} = {}) {
  if (!(low > 0)) low = high > 0 ? high / 10 : 0.1;
  if (!(high > low)) [low, high] = binary ? [low / 2, low * 2] : [low / 3, low * 3];
  if (!tight) {
    low = Math.max(...powers(10, [1, 2, 5], low / 10, low * 0.9));
    high = Math.min(...powers(10, [1, 2, 5], high, high * 10));
  }
  let ticks, minor = [];
  if (binary) {
    ticks = powers(2, [1], low, high);
    minor = ticks;
    ticks = every(ticks, Math.max(1, Math.ceil(ticks.length / room)));
  } else {
    ticks = [[1, 2, 5], [1, 3], [1]].map(steps => powers(10, steps, low, high)).find(found => found.length <= room) ||
      powers(10, [1], low, high);
    ticks = every(ticks, Math.max(1, Math.ceil(ticks.length / room)));
    if (ticks.length < 2) ticks = linearScale(low, high, 0, 1, room, {zero: false, tight: true}).ticks;
    if (high / low < 1e7) minor = powers(10, [1, 2, 3, 4, 5, 6, 7, 8, 9], low, high);
  }
  const [a, b] = [Math.log(low), Math.log(high)];
  return {at: value => from + (to - from) * (Math.log(value) - a) / (b - a), ticks, minor, low, high, base: low};
}

/** The scale of an axis that carries results, from pixel `from` to pixel `to`. */
function resultScale(axis, values, from, to, room) {
  if (axis.scale === "log") {
    const [low, high] = extent(values.filter(value => value > 0));
    return logScale(low, high, from, to, room);
  }
  return linearScale(...extent(values), from, to, room);
}

/** The scale of an axis with its own positions: position i is at `.place(i)`. */
function placeScale(axis, from, to, room) {
  const places = placesOf(axis);
  if (isCategory(axis)) {
    const place = i => from + (to - from) * (i + 0.5) / places.length;
    return {place, ticks: places.map((_, i) => i), at: place, label: i => places[i], minor: []};
  }
  const [low, high] = extent(places);
  let scale;
  if (axis.scale === "log" && low > 0) {
    const binary = axis.unit === "B" || places.every(value => Number.isInteger(Math.log2(value)));
    scale = logScale(low, high, from, to, room, {binary, tight: true});
  } else {
    scale = linearScale(low, high, from, to, room, {zero: false, tight: true});
  }
  return {...scale, place: i => scale.at(places[i]), label: value => onAxis(axis, value)};
}
