// The style of a series: hue and, for greyscale and for colour-blind readers, also shape, dash and hatching. Each role
// has its own style: measured is filled, published is hollow or hatched and dashed, baseline is barred, model is
// dotted.

const ROLES = ["measured", "published", "baseline", "model"];
const SHAPES = ["circle", "square", "triangle", "diamond", "wedge", "cross", "plus", "star"];
const HUES = 8;
const DASHES = {
  measured: "",
  published: "7 4",
  baseline: "12 3 2 3",
  model: "1 4"
};
const GROUNDS = {
  measured: 1,
  published: 0.14,
  baseline: 0.4,
  model: 0,
  share: 0.28
};
const TEXTURES = {
  measured: ["", "dots", "upright", "level", "rising", "net"],
  published: ["rising", "falling", "net", "upright", "level", "dots"],
  baseline: ["level", "upright", "net", "dots", "falling", "rising"],
  model: ["dots", "net", "level", "rising", "upright", "falling"],
  share: ["", "rising", "dots", "level", "net", "falling", "upright"],
};

/** The subject of a series, regardless of its role: "constant, published" and "constant" are a pair. */
function subjectOf(series) {
  const subject = series.name.toLowerCase().replace(/\b(published|measured|the paper|paper|here|this machine)\b/g, "");
  return subject.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/** For each series of a panel: {hue, shape, texture, dash, hollow}. */
function stylesOf(panel) {
  const shares = panel.kind === "stacked";
  const count = role => panel.series.filter(series => series.role === role).length;
  const byRole = !shares && ROLES.every(role => count(role) <= 1);
  const greys = count("baseline") === 1 && !shares;
  const subjects = [];
  return panel.series.map(series => {
    const {role} = series, dash = DASHES[role], hollow = role === "published" || role === "model";
    if (byRole) {
      const index = ROLES.indexOf(role);
      return {
        role,
        hue: ["0", "1", "grey", "3"][index],
        shape: SHAPES[index],
        texture: TEXTURES[role][0],
        dash,
        hollow
      };
    }
    if (role === "model" && count(role) === 1 && !shares)
      return {role, hue: "7", shape: "diamond", texture: "dots", dash, hollow};
    if (role === "baseline" && greys) return {role, hue: "grey", shape: "triangle", texture: "level", dash, hollow};
    const subject = subjectOf(series);
    if (!subjects.includes(subject)) subjects.push(subject);
    const index = subjects.indexOf(subject), textures = TEXTURES[shares ? "share" : role];
    return {
      role: shares ? "share" : role,
      hue: String(index % HUES),
      shape: SHAPES[index % SHAPES.length],
      texture: textures[index % textures.length],
      dash,
      hollow
    };
  });
}

// SVG

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== "" && value !== null && value !== undefined) {
      element.setAttribute(key, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
    }
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

/**
 * The hatching of a rectangle as a path. An SVG pattern would be rasterized in print, and have a different size in
 * every plot.
 */
function hatching(texture, x, y, width, height) {
  const lines = [], right = x + width, bottom = y + height;
  const line = (...ends) => lines.push(`M${ends.map(end => Math.round(end * 10) / 10).join(" ")}`);
  const from = (start, step) => Math.ceil(start / step) * step;
  if (texture === "rising" || texture === "net") {
    for (let c = from(x + y, 6); c < right + bottom; c += 6) {
      line(Math.max(x, c - bottom), Math.min(bottom, c - x));
      lines.push(`L${Math.min(right, c - y).toFixed(1)} ${Math.max(y, c - right).toFixed(1)}`);
    }
  }
  if (texture === "falling" || texture === "net") {
    for (let c = from(x - bottom, 6); c < right - y; c += 6) {
      line(Math.max(x, c + y), Math.max(y, x - c));
      lines.push(`L${Math.min(right, c + bottom).toFixed(1)} ${Math.min(bottom, right - c).toFixed(1)}`);
    }
  }
  if (texture === "upright") {
    for (let c = from(x, 5); c < right; c += 5) line(c, y), lines.push(`V${bottom.toFixed(1)}`);
  }
  if (texture === "level") {
    for (let c = y + height / 6; c < bottom; c += height / 3) line(x, c), lines.push(`H${right.toFixed(1)}`);
  }
  if (texture === "dots") {
    const step = height / 4;
    for (let row = 0; row < 4; ++row) {
      for (let c = x + step * (row % 2 ? 1 : 0.5); c < right - 1; c += step)
        line(c, y + step * (row + 0.5)), lines.push("h.01");
    }
  }
  return lines.join("");
}

/** A filled and hatched rectangle. */
function area({role, hue, texture}, x, y, width, height, title = null) {
  const colour = `var(--hue-${hue})`, dots = texture === "dots";
  return svg("g", {class: "mark area", style: `stroke:${colour}`}, title && svg("title", {}, title),
    svg("rect", {x, y, width, height, style: `fill:${colour};fill-opacity:${GROUNDS[role]}`}),
    texture ? svg("path", {
      d: hatching(texture, x, y, width, height),
      "stroke-width": dots ? 1.9 : 1.2,
      "stroke-linecap": dots ? "round" : "",
      style: role === "measured" ? "stroke:var(--paper)" : ""
    }) :
              null);
}

const SHAPE_PATHS = {
  circle: r => `M${- r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${- 2 * r} 0z`,
  square: r => `M${- r * .9} ${- r * .9}h${r * 1.8}v${r * 1.8}h${- r * 1.8}z`,
  triangle: r => `M0 ${- r * 1.15}L${r * 1.1} ${r * .85}H${- r * 1.1}z`,
  diamond: r => `M0 ${- r * 1.3}L${r * 1.3} 0L0 ${r * 1.3}L${- r * 1.3} 0z`,
  wedge: r => `M0 ${r * 1.15}L${r * 1.1} ${- r * .85}H${- r * 1.1}z`,
  cross: r => `M${- r} ${- r}L${r} ${r}M${r} ${- r}L${- r} ${r}`,
  plus: r => `M${- r * 1.2} 0H${r * 1.2}M0 ${- r * 1.2}V${r * 1.2}`,
  star: r => `M0 ${- r * 1.3}V${r * 1.3}M${- r * 1.1} ${- r * .65}L${r * 1.1} ${r * .65}M${r * 1.1} ${- r * .65}L${
    - r * 1.1} ${r * .65}`,
};

function mark(style, x, y, title, r = 3.6) {
  const d = SHAPE_PATHS[style.shape](r).replace(/\d+\.\d+/g, n => Number(n).toFixed(2));
  return svg("path", {
    d,
    transform: `translate(${x.toFixed(2)} ${y.toFixed(2)})`,
    class: "mark",
    style: `stroke:var(--hue-${style.hue});fill:${style.hollow ? "var(--paper)" : `var(--hue-${style.hue})`}`
  },
    title && svg("title", {}, title));
}

function stroke(style, attributes) {
  const dots = style.role === "model";
  return svg("path", {
    ...attributes,
    class: "line",
    "stroke-dasharray": style.dash,
    "stroke-linecap": dots ? "round" : "",
    "stroke-width": dots         ? 2.6 :
      style.role === "published" ? 1.7 :
                                   2,
    style: `stroke:var(--hue-${style.hue})`
  });
}
