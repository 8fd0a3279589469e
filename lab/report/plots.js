// The plots. Each function takes a panel and a width in pixels and returns SVG of that width, so text has the same size
// on a phone.

const FONT = 12, SMALL = 11;
const measureContext = document.createElement("canvas").getContext("2d");
const FAMILY = getComputedStyle(document.body).fontFamily;

function textWidth(text, size = FONT) {
  measureContext.font = `${size}px ${FAMILY}`;
  return measureContext.measureText(text).width;
}

/** Breaks a text into lines of at most `width` pixels; a longer word is split. */
function wrapped(text, width, size = FONT) {
  const lines = [];
  for (let word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && textWidth(longer, size) <= width) {
      lines[lines.length - 1] = longer;
      continue;
    }
    while (textWidth(word, size) > width && word.length > 1) {
      const whole = [...word],
            room = Math.max(1, whole.findIndex((_, i) => textWidth(whole.slice(0, i + 1).join(""), size) > width));
      lines.push(whole.slice(0, room).join(""));
      word = whole.slice(room).join("");
    }
    lines.push(word);
  }
  return lines;
}

/** The part of a name that fits into `width`; the table shows the full name. */
function shortened(name, width, size) {
  const [first, ...rest] = wrapped(name, width, size);
  return rest.length ? `${wrapped(name, width - textWidth("…", size), size)[0]}…` : first;
}

function text(x, y, content, {anchor = "start", cls = "", size = FONT} = {}) {
  return svg("text", {x, y, "text-anchor": anchor === "start" ? "" : anchor, class: cls, "font-size": size}, content);
}

function drawing(panel, width, height, children, label = describe(panel)) {
  return svg("svg",
    {viewBox: `0 0 ${Math.round(width)} ${Math.round(height)}`, width: "100%", role: "img", "aria-label": label},
    ...children);
}

const KINDS = {
  bars: "Bar chart",
  lines: "Line chart",
  stacked: "Shares of a whole",
  surface: "Heat map"
};

/** The description for screen readers. */
function describe(panel, series = panel.series) {
  const axis = panel.kind === "surface" ? panel.z : panel.y;
  const parts = series.map(one => {
    const real = one.values.filter(exists), [low, high] = extent(real);
    const range = real.length ? `${figure(low)} to ${withUnit(figure(high), axis.unit)}` : "no figures";
    return `${one.name} (${one.role}): ${range}`;
  });
  const over = panel.kind === "surface" ? `${panel.x.name} and ${panel.y.name}` : panel.x.name;
  return `${KINDS[panel.kind]}: ${panel.title}. ${axis.name} by ${over}. ${
    parts.join("; ")}. The table has all figures.`;
}

/** The tooltip of a figure's mark. */
function hint(panel, series, i, place) {
  const axis = panel.kind === "surface" ? panel.z : panel.y, spread = series.spread[i];
  const quartiles = spread ? `, quartiles ${figure(spread[0])} to ${figure(spread[1])}` : "";
  return `${series.name} (${series.role}), ${place}: ${withUnit(figure(series.values[i]), axis.unit)}${quartiles}`;
}

function placeWithUnit(axis, i) {
  const name = placeName(axis, i);
  return isCategory(axis) || axis.unit === "B" ? name : withUnit(name, axis.unit);
}

// Bars and shares: a group of rows for each position on x. The name is beside the rows or, on a narrow page, above.

function layOut(names, rows, width, rowHeight) {
  const widest = Math.max(...names.map(name => textWidth(name)));
  const beside = width >= 520 || widest < width * 0.2;
  const column = beside ? Math.min(widest, width * 0.32) + 12 : 10;  // at least half the width of a tick's label
  const groups = [];
  let y = 4;
  names.forEach((name, i) => {
    const lines = wrapped(name, beside ? column - 10 : width - 4);
    const tall = rows(i).length * rowHeight, words = lines.length * (FONT + 3);
    const top = beside ? y + Math.max(0, (words - tall) / 2) : y + words + 3;
    const baseline = beside ? y + Math.max(0, (tall - words) / 2) + FONT - 0.5 : y + FONT;
    groups.push({
      y: top,
      label: lines.map((line, n) => text(beside ? column - 10 : 0, baseline + n * (FONT + 3), line,
                         {anchor: beside ? "end" : "start", cls: "name"}))
    });
    y = top + tall + (beside ? Math.max(0, (words - tall) / 2) : 0) + (rows(i).length > 1 ? 12 : 7);
  });
  return {groups, left: column, bottom: y};
}

function valueAxis(scale, axis, left, bottom, width, top = 0) {
  return [
    ...scale.ticks.map(
      value => svg("line", {x1: scale.at(value), x2: scale.at(value), y1: top, y2: bottom, class: "grid"})),
    ...scale.ticks.map(
      value => text(scale.at(value), bottom + 15, onAxis(axis, value), {anchor: "middle", cls: "tick", size: SMALL})),
    text(width, bottom + 33, axisName(axis) + (axis.scale === "log" ? " (logarithmic)" : ""),
      {anchor: "end", cls: "axis-name"}),
  ];
}

const bestOf = some => Math.max(0, ...some.flatMap(one => one.values.filter(exists)));

/**
 * If published and other figures differ by a factor of 20 or more, the shorter bars would be invisible. In that case,
 * the length of a bar is its share of the best published figure, or of the best of the other figures. Returns null
 * otherwise.
 */
function sharesOf({y, series}) {
  const published = series.filter(one => one.role === "published"),
        others = series.filter(one => one.role !== "published");
  const then = bestOf(published), now = bestOf(others);
  if (y.scale === "log" || y.unit === "%" || !then || !now || Math.max(then, now) < 20 * Math.min(then, now))
    return null;
  return one => 100 / (one.role === "published" ? then : now);
}

function drawBars(panel, styles, width) {
  const rowHeight = 17, {x, series} = panel;
  const shares = sharesOf(panel), long = one => shares ? shares(one) : 1;
  const y = shares ? {...panel.y, name: `share of the best (figures: ${panel.y.unit})`, unit: "%"} : panel.y;
  const places = placesOf(x).map((_, i) => i), names = places.map(i => placeWithUnit(x, i));
  // A series with few figures, such as a single reference bar, takes no space at positions without figures.
  const sparse = one => one.values.filter(exists).length < places.length / 2;
  const rows = i => series.filter(one => exists(one.values[i]) || !sparse(one));
  const {groups, left, bottom} = layOut(names, rows, width, rowHeight);
  const all = series.flatMap(
    one => [...one.values, ...one.spread.flat()].map(value => exists(value) ? value * long(one) : value));
  const widest = Math.max(...series.flatMap(one => one.values.map(value => textWidth(figure(value), SMALL))));
  const right = width - widest - 12, log = y.scale === "log";
  const scale = resultScale(y, all, left + 1, right, Math.max(2, (right - left) / 70));
  const out = valueAxis(scale, y, left, bottom, width);
  out.push(svg("line", {x1: scale.at(scale.base), x2: scale.at(scale.base), y1: 0, y2: bottom, class: "axis"}));
  groups.forEach((group, i) => {
    out.push(...group.label);
    rows(i).forEach((one, s) => {
      const value = one.values[i], style = styles[series.indexOf(one)], top = group.y + s * rowHeight,
            middle = top + rowHeight / 2;
      if (!exists(value) || (log && value <= 0)) {
        out.push(text(scale.at(scale.base) + 5, middle + 4, "no figure", {cls: "tick", size: SMALL}));
        return;
      }
      const spread = one.spread[i], from = scale.at(scale.base), to = scale.at(value * long(one)),
            title = hint(panel, one, i, names[i]);
      if (log) {  // a bar has no meaningful length on a logarithmic axis
        out.push(stroke(style, {d: `M${from} ${middle}H${to}`, opacity: 0.55, "stroke-width": 1.5}),
          mark(style, to, middle, title, 4.4));
      } else {
        out.push(area(style, Math.min(from, to), top + 2, Math.max(0.5, Math.abs(to - from)), rowHeight - 4, title));
      }
      let end = Math.max(to, from);
      if (spread) {
        const [low, high] = [scale.at(Math.max(spread[0] * long(one), scale.low)), scale.at(spread[1] * long(one))];
        end = Math.max(end, high);
        if (high - low > (log ? 12 : 3))
          out.push(svg(
            "path", {d: `M${low} ${middle}H${high}M${low} ${middle - 3}v6M${high} ${middle - 3}v6`, class: "whisker"}));
      }
      out.push(text(end + (log ? 9 : 5), middle + 4, figure(value), {cls: "value", size: SMALL}));
    });
  });
  return drawing(panel, width, bottom + 40, out);
}

function drawStacked(panel, styles, width) {
  const rowHeight = 22, {x, y, series} = panel;
  const roles = ROLES.filter(role => series.some(one => one.role === role)), several = roles.length > 1;
  const names = placesOf(x).map((_, i) => placeWithUnit(x, i));
  const {groups, left, bottom} = layOut(names, () => roles, width, rowHeight);
  const aside = several ? Math.max(...roles.map(role => textWidth(role, SMALL))) + 8 : 0;
  const totals = names.flatMap(
    (_, i) =>
      roles.map(role => series.filter(one => one.role === role).reduce((sum, one) => sum + (one.values[i] || 0), 0)));
  const scale = linearScale(
    0, Math.max(100, ...totals.map(total => total > 100.5 ? total : 100)), left + aside, width - 14, 5, {tight: true});
  const out = valueAxis(scale, y, left, bottom, width);
  groups.forEach((group, i) => {
    out.push(...group.label);
    roles.forEach((role, r) => {
      const top = group.y + r * rowHeight,
            shares = series.map((one, s) => [one, styles[s]]).filter(([one]) => one.role === role);
      let sum = 0;
      if (several)
        out.push(text(left + aside - 6, top + rowHeight / 2 + 4, role, {anchor: "end", cls: "tick", size: SMALL}));
      if (!shares.some(([one]) => exists(one.values[i]))) {
        out.push(text(scale.at(0) + 5, top + rowHeight / 2 + 4, "no figure", {cls: "tick", size: SMALL}));
      }
      for (const [one, style] of shares) {
        const value = one.values[i];
        if (!exists(value)) continue;
        const from = scale.at(sum), to = scale.at(sum += value), label = figure(Number(value.toPrecision(2)), true);
        out.push(area(style, from, top + 2, Math.max(0, to - from), rowHeight - 4, hint(panel, one, i, names[i])));
        if (to - from > textWidth(label, SMALL) + 10) {
          out.push(
            text((from + to) / 2, top + rowHeight / 2 + 4, label, {anchor: "middle", cls: "inside", size: SMALL}));
        }
      }
    });
  });
  return drawing(panel, width, bottom + 40, out);
}

// Lines

/** Runs of neighbouring positions that have figures: [[index, ...], ...]. */
function runsOf(places) {
  const runs = [];
  for (const i of places) {
    const last = runs[runs.length - 1];
    if (last && last[last.length - 1] === i - 1)
      last.push(i);
    else
      runs.push([i]);
  }
  return runs;
}

function drawLines(panel, styles, width) {
  const {x, y, series} = panel, top = 24, height = width < 520 ? 250 : 330, bottom = top + height;
  const all = series.flatMap(one => [...one.values, ...one.spread.flat()]);
  const vertical = resultScale(y, all, bottom, top, Math.max(3, height / 45));
  const left = Math.max(...vertical.ticks.map(value => textWidth(onAxis(y, value), SMALL))) + 10;
  const widest = Math.max(...placesOf(x).map((_, i) => textWidth(placeName(x, i), SMALL)), 20);
  const inset = 8, right = width - Math.max(12, widest / 2);
  const horizontal = placeScale(x, left + inset, right, Math.max(2, Math.floor((right - left) / (widest + 14))));
  const out = [
    text(0, 12, axisName(y) + (y.scale === "log" ? " (logarithmic)" : ""), {cls: "axis-name"}),
    text(
      width, bottom + 35, axisName(x) + (x.scale === "log" ? " (logarithmic)" : ""), {anchor: "end", cls: "axis-name"}),
    ...vertical.ticks.map(
      value => svg("line", {x1: left, x2: width, y1: vertical.at(value), y2: vertical.at(value), class: "grid"})),
    ...vertical.ticks.map(
      value => text(left - 6, vertical.at(value) + 4, onAxis(y, value), {anchor: "end", cls: "tick", size: SMALL})),
    svg("line", {x1: left, x2: width, y1: vertical.at(vertical.base), y2: vertical.at(vertical.base), class: "axis"}),
    ...horizontal.minor.map(
      value =>
        svg("line", {x1: horizontal.at(value), x2: horizontal.at(value), y1: bottom, y2: bottom + 3, class: "axis"})),
    ...horizontal.ticks.map(
      value =>
        svg("line", {x1: horizontal.at(value), x2: horizontal.at(value), y1: bottom, y2: bottom + 6, class: "axis"})),
    ...horizontal.ticks.map(value => text(horizontal.at(value), bottom + 19, horizontal.label(value),
                              {anchor: "middle", cls: "tick", size: SMALL})),
  ];
  const marks = [];
  series.forEach((one, s) => {
    const style = styles[s], shown = value => exists(value) && (y.scale !== "log" || value > 0);
    const at = (i, value) => `${horizontal.place(i).toFixed(2)} ${vertical.at(value).toFixed(2)}`;
    const places = one.values.map((_, i) => i).filter(i => shown(one.values[i]));
    const banded = places.filter(i => one.spread[i] && one.spread[i].every(shown));
    for (const run of runsOf(banded)) {
      const high = run.map(i => at(i, one.spread[i][1])), low = run.map(i => at(i, one.spread[i][0])).reverse();
      out.push(svg("path",
        run.length > 1 ?
          {d: `M${high.join("L")}L${low.join("L")}z`, class: "band", style: `fill:var(--hue-${style.hue})`} :
          {d: `M${low[0]}L${high[0]}`, class: "whisker"}));
    }
    for (const run of runsOf(places)) {
      if (run.length > 1) out.push(stroke(style, {d: `M${run.map(i => at(i, one.values[i])).join("L")}`}));
    }
    const dense = places.length > (right - left) / 12;
    for (const i of places) {
      if (!dense || places.length === 1 || i === places[places.length - 1]) {
        marks.push(
          mark(style, horizontal.place(i), vertical.at(one.values[i]), hint(panel, one, i, placeWithUnit(x, i))));
      }
    }
  });
  if (!marks.length)
    out.push(text((left + width) / 2, (top + bottom) / 2, "no figures", {anchor: "middle", cls: "tick"}));
  for (const {series: name, over, from} of panel.crossings || []) {
    const one = series.find(other => other.name === name), i = placesOf(x).indexOf(from);
    if (!one || i < 0 || !exists(one.values[i])) continue;
    const attributes = {cx: horizontal.place(i), cy: vertical.at(one.values[i]), r: 9, class: "crossing"};
    marks.push(svg("circle", attributes, svg("title", {}, `${name}: ahead of ${over} from ${placeName(x, i)} on`)));
  }
  return drawing(panel, width, bottom + 42, [...out, ...marks]);
}

// Surfaces: a heat map for each series, all with the same colour scale.

// Lightness increases monotonically, so the map is readable in greyscale and for the colour-blind (after cividis).
const HEAT =
  [[0, 34, 78], [42, 63, 110], [87, 93, 109], [125, 124, 120], [166, 157, 117], [211, 193, 100], [254, 232, 56]];

// For ratios: one colour below 1, another above, and a pale one at 1.
const RATIO = [[20, 66, 128], [96, 145, 196], [240, 240, 238], [233, 150, 80], [150, 62, 6]];

function heat(share, colours = HEAT) {
  const at = Math.max(0, Math.min(1, share)) * (colours.length - 1), i = Math.min(colours.length - 2, Math.floor(at));
  return colours[i].map((low, c) => Math.round(low + (colours[i + 1][c] - low) * (at - i)));
}

/** Black or white, whichever has more contrast on a colour. */
function inkOn(colour) {
  const [r, g, b] = colour.map(c => (c / 255) ** 2.2);
  return r * 0.2126 + g * 0.7152 + b * 0.0722 < 0.18 ? "#fff" : "#000";
}

/** The colour scale that all heat maps of a panel share. `ratio`: the figures are ratios, with a line at 1. */
function heatScale(panel) {
  const {z} = panel,
        all =
          panel.series.flatMap(one => one.values).filter(value => exists(value) && (z.scale !== "log" || value > 0));
  const [low, high] = extent(all);
  const scale = z.scale === "log" ? logScale(low, high, 0, 1, 6, {tight: true}) :
                                    linearScale(low, high, 0, 1, 6, {zero: false, tight: true});
  const ratio = z.scale === "log" && ["", "×", "x", "times"].includes(z.unit) && low < 1 && high > 1;
  if (ratio) {  // symmetric around 1
    const far = Math.max(high, 1 / low);
    const around = logScale(1 / far, far, 0, 1, 6, {tight: true});
    return {...around, ratio, colours: RATIO, shown: value => exists(value) && value > 0};
  }
  return {...scale, ratio, colours: HEAT, shown: value => exists(value) && (z.scale !== "log" || value > 0)};
}

function drawSurface(panel, one, scale, width) {
  const {x, y, z} = panel, columns = placesOf(x).length, rows = placesOf(y).length;
  const yNames = placesOf(y).map((_, i) => placeName(y, i)), xNames = placesOf(x).map((_, i) => placeName(x, i));
  const left = Math.min(width * 0.32, Math.max(...yNames.map(name => textWidth(name, SMALL)))) + 8, top = 22;
  const yLines = yNames.map(name => wrapped(name, left - 7, SMALL)),
        most = Math.max(...yLines.map(lines => lines.length));
  const cell = (width - left - 1) / columns,
        tall = Math.max(Math.min(34, Math.max(20, cell * 0.7)), most * (SMALL + 3) + 4);
  const short = value => Math.abs(value) < 1e-3 && value !== 0 ? "< .001" :
    cell < 34                                                  ? figure(Number(value.toPrecision(2)), true) :
                                                                 figure(value);
  const size = cell < 34 ? 9.5 : SMALL;
  const fits = one.values.every(value => !scale.shown(value) || textWidth(short(value), size) < cell - 2);
  const stand = Math.max(...xNames.map(name => textWidth(name, SMALL))) + 6 > cell;  // column names are vertical
  const bottom = top + rows * tall, out = [text(0, 12, axisName(y), {cls: "axis-name"})];
  const columnNames = stand ? xNames.map(name => shortened(name, 150, SMALL)) : xNames;
  const foot = stand ? Math.max(...columnNames.map(name => textWidth(name, SMALL))) + 10 : 18;
  yLines.forEach((lines, r) => lines.forEach((line, n) => out.push(text(left - 6,
                                               top + (r + 0.5) * tall + 4 + (n - (lines.length - 1) / 2) * (SMALL + 3),
                                               line, {anchor: "end", cls: "tick", size: SMALL}))));
  columnNames.forEach((name, c) => {
    const at = left + (c + 0.5) * cell;
    if (c % Math.ceil(14 / cell) !== 0) return;  // too narrow for every name
    const label =
      text(stand ? 0 : at, stand ? 0 : bottom + 14, name, {anchor: stand ? "end" : "middle", cls: "tick", size: SMALL});
    if (stand) label.setAttribute("transform", `translate(${at + 4} ${bottom + 6}) rotate(-90)`);
    out.push(label);
  });
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < columns; ++c) {
      const i = r * columns + c, value = one.values[i],
            here = {x: left + c * cell, y: top + r * tall, width: cell, height: tall};
      const middle = [here.x + cell / 2, here.y + tall / 2 + 4];
      if (!scale.shown(value)) {
        out.push(svg("rect", {...here, class: "empty"}),
          cell < 8 ? "" : text(...middle, NONE, {anchor: "middle", cls: "tick", size: SMALL}));
        continue;
      }
      const colour = heat(scale.at(value), scale.colours), ink = inkOn(colour);
      out.push(svg("rect", {...here, class: "mark cell", style: `fill:rgb(${colour})`},
        svg("title", {}, hint(panel, one, i, `${x.name} ${placeWithUnit(x, c)}, ${y.name} ${placeWithUnit(y, r)}`))));
      if (scale.ratio && value > 1) {
        out.push(svg("path", {d: `M${here.x + 2} ${here.y + 2}h6l-6 6z`, fill: ink}));
      }
      if (fits)
        out.push(
          svg("text", {x: middle[0], y: middle[1], "text-anchor": "middle", "font-size": size, style: `fill:${ink}`},
            short(value)));
    }
  }
  out.push(text(width, bottom + foot + 14, axisName(x), {anchor: "end", cls: "axis-name"}));
  if (!fits) out.push(text(0, bottom + foot + 14, "figures: in the table", {cls: "tick", size: SMALL}));
  return drawing(panel, width, bottom + foot + 20, out, `${one.name}. ${describe(panel, [one])}`);
}

function drawHeatLegend(panel, scale, width) {
  const long = Math.min(width, 420), steps = 48, left = 14, right = long - 24,
        at = share => left + (right - left) * share;
  const out = [text(0, 12, axisName(panel.z) + (panel.z.scale === "log" ? " (logarithmic)" : ""), {cls: "axis-name"})];
  for (let i = 0; i < steps; ++i) {
    out.push(svg("rect", {
      x: at(i / steps),
      y: 20,
      width: (right - left) / steps + 0.6,
      height: 12,
      style: `fill:rgb(${heat((i + 0.5) / steps, scale.colours)})`
    }));
  }
  for (const value of scale.ticks) {
    out.push(svg("line", {x1: at(scale.at(value)), x2: at(scale.at(value)), y1: 32, y2: 37, class: "axis"}),
      text(at(scale.at(value)), 49, figure(value, true), {anchor: "middle", cls: "tick", size: SMALL}));
  }
  if (scale.ratio) {
    out.push(svg("path", {d: "M1 60h8l-8 8z", class: "ink"}),
      text(14, 68, "in a corner: more than 1", {cls: "tick", size: SMALL}));
  }
  const legend = svg("svg",
    {viewBox: `0 0 ${long} ${scale.ratio ? 74 : 54}`, width: long, "aria-hidden": "true", class: "heat-legend"},
    ...out);
  return legend;
}
