// The figures of every plot as a table, so that every figure is visible outside the plot and its tooltips.

/** An element with text; attributes that are null are omitted. */
function html(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
  return element;
}

/** Text of the record, with a number and its unit kept on one line. */
function prose(text) {
  return text.replace(/(\d) (?=%|×|((?:[kKMGT]i?)?B|GB\/s|Gbit\/s|n?s|[mµ]s|[MG]Hz|bits?)\b)/g, "$1\u00a0");
}

const hasSpread = series => series.spread.some(Boolean);

function quartiles(format, spread) { return spread ? `${format(spread[0])} to ${format(spread[1])}` : ""; }

/** A box that scrolls a wide table, also by keyboard. */
function scrolling(label, table) {
  return html("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label}, table);
}

const nameWithRole = series => series.name.toLowerCase().includes(series.role) ?
  series.name :
  [series.name, html("span", {class: "role"}, series.role)];

const rowHead = (axis, i) => html("th", {scope: "row", class: isCategory(axis) ? null : "number"}, placeName(axis, i));

/** What a paper published, in its own unit. */
function inGbit({role}, {unit}, value) {
  return role === "published" && unit === "GB/s" && exists(value) ?
    html("span", {class: "under"}, `${figure(8 * value)} Gbit/s`) :
    null;
}

function seriesTable(panel) {
  const {x, y, series} = panel, spreads = series.some(hasSpread);
  const formats = series.map(one => columnFormat([...one.values, ...one.spread.flat()]));
  const head = [html("tr", null,
    html("th", {scope: "col", rowspan: spreads ? 2 : null}, isCategory(x) || x.unit === "B" ? x.name : axisName(x)),
    series.map(
      one => html("th",
        {scope: "colgroup", colspan: hasSpread(one) ? 2 : null, rowspan: spreads && !hasSpread(one) ? 2 : null},
        nameWithRole(one))))];
  if (spreads) {
    head.push(html("tr", null,
      series.filter(hasSpread).map(() => [html("th", {scope: "col", class: "sub"}, "median"),
                                     html("th", {scope: "col", class: "sub"}, "quartiles")])));
  }
  const rows = placesOf(x).map(
    (_, i) => html("tr", null, rowHead(x, i),
      series.map((one, s) => [html("td", null, formats[s](one.values[i]), inGbit(one, y, one.values[i])),
                   hasSpread(one) ? html("td", {class: "quartiles"}, quartiles(formats[s], one.spread[i])) : null])));
  return scrolling(`Figures: ${panel.title}`,
    html("table", null, html("caption", null, axisName(y)), html("thead", null, head), html("tbody", null, rows)));
}

function surfaceTable(panel, one) {
  const {x, y, z} = panel, columns = placesOf(x).length, format = columnFormat(one.values);
  const head = html("tr", null, html("th", {scope: "col"}, `${axisName(y)} \\ ${axisName(x)}`),
    placesOf(x).map((_, c) => html("th", {scope: "col"}, placeName(x, c))));
  const rows = placesOf(y).map((_, r) => html("tr", null, rowHead(y, r), placesOf(x).map((_, c) => {
    const i = r * columns + c, spread = one.spread[i];
    return html(
      "td", null, format(one.values[i]), spread ? html("span", {class: "under"}, quartiles(format, spread)) : null);
  })));
  const under = hasSpread(one) ? "; below, the quartiles" : "";
  return scrolling(`Figures: ${panel.title}, ${one.name}`,
    html("table", null, html("caption", null, `${one.name} (${one.role}): ${axisName(z)}${under}`),
      html("thead", null, head), html("tbody", null, rows)));
}

function tablesOf(panel) {
  const tables = panel.kind === "surface" ? panel.series.map(one => surfaceTable(panel, one)) : [seriesTable(panel)];
  return html("details", {class: "figures"},
    html("summary", null, tables.length > 1 ? "Figures in tables" : "Figures in a table"), ...tables,
    html("p", {class: "key"}, `${NONE} no figure`));
}

function factFigure({unit}, value) {
  if (unit === "B") return bytes(value);
  return Number.isInteger(value) && Math.abs(value) < 1e7 ? grouped(String(value)) : figure(value);
}

function factsTable(facts) {
  const published = facts.some(fact => exists(fact.published));
  return scrolling("Facts",
    html("table", {class: "facts"},
      html("thead", null,
        html("tr", null, html("th", {scope: "col"}, "Also"), published ? html("th", {scope: "col"}, "published") : null,
          html("th", {scope: "col"}, published ? "measured" : "figure"),
          html("th", {scope: "col", class: "unit"}, "unit"))),
      html("tbody", null,
        facts.map(fact => html("tr", null, html("th", {scope: "row"}, fact.name),
                    published ? html("td", null, factFigure(fact, fact.published)) : null,
                    html("td", null, factFigure(fact, fact.value)),
                    html("td", {class: "unit"}, fact.unit === "B" ? "" : fact.unit))))));
}
