"use strict";
// Figures as text: three significant digits, a thin space between thousands, a true minus sign.

const NONE = "–";

function exponent(power) { return "10" + String(power).replace(/./g, c => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]); }

function grouped(text) {
  const [whole, fraction] = text.replace("-", "−").split(".");
  const thousands = whole.replace(/\d{5,}/, digits => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f"));
  return fraction === undefined ? thousands : `${thousands}.${fraction}`;
}

const exists = value => typeof value === "number" && Number.isFinite(value);

/** 35.2, 1024, 12 345, 5.00 × 10⁹; `trim`: without trailing zeros, as on an axis. */
function figure(value, trim = false) {
  if (!exists(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-3) {
    let [mantissa, power] = value.toExponential(trim ? 6 : 2).split("e");
    if (trim) mantissa = String(Number(mantissa));
    const shown = exponent(Number(power));
    return trim && Math.abs(mantissa) === 1 ? (value < 0 ? "−" : "") + shown :
                                              `${mantissa.replace("-", "−")} × ${shown}`;
  }
  if (size >= 999.5) return grouped(String(trim ? Number(value.toPrecision(6)) : Math.round(value)));
  return grouped(trim ? String(Number(value.toPrecision(6))) : value.toFixed(digitsAfter(size)));
}

/** Number of digits after the point that shows at least three significant digits of `size`. */
function digitsAfter(size) { return Math.max(0, 2 - Math.floor(Math.log10(Number(size.toPrecision(3))))); }

/** A format for a column: the same number of digits after the point in every figure, unless figures differ too much. */
function columnFormat(values) {
  const sizes = values.filter(exists).map(Math.abs).filter(size => size > 0);
  if (!sizes.length) return figure;
  const least = Math.min(...sizes), most = Math.max(...sizes);
  if (most >= 1e7 || least < 1e-3 || most / least > 1e5) return figure;
  if (values.filter(exists).every(Number.isInteger)) return value => exists(value) ? grouped(String(value)) : NONE;
  let digits = digitsAfter(least);
  if (digits > 3 || (digits > 0 && most / least >= 100))
    --digits;  // two significant digits are enough for the smallest
  if (digits > 3) return figure;
  return value => exists(value) ? grouped(value.toFixed(digits)) : NONE;
}

/**
 * 16 B, 2 KiB, 63 MB, 1.5 GiB: binary units where the value is round in them, otherwise decimal ones if it is round
 * there.
 */
function bytes(value) {
  if (!exists(value)) return NONE;
  if (Math.abs(value) < 1000) return `${figure(value, true)} B`;
  for (const [base, units] of [[1024, ["KiB", "MiB", "GiB", "TiB"]], [1000, ["kB", "MB", "GB", "TB"]]]) {
    const power = Math.min(4, Math.max(1, Math.floor(Math.log(value) / Math.log(base) + 1e-9)));
    const scaled = value / base ** power;
    if (value >= base && Number.isInteger(scaled * 2)) return `${scaled} ${units[power - 1]}`;
  }
  const power = Math.min(4, Math.max(1, Math.floor(Math.log2(value) / 10)));
  return `${figure(value / 1024 ** power, false)} ${["KiB", "MiB", "GiB", "TiB"][power - 1]}`;
}

/** 0.4 s, 12 s, 3 min 20 s */
function duration(seconds) {
  if (!exists(seconds)) return NONE;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

const withUnit = (text, unit) => !unit ? text : unit === "%" ? `${text} %` : `${text} ${unit}`;

// Axes

const isCategory = axis => axis.scale === "category";
const placesOf = axis => isCategory(axis) ? axis.labels : axis.values;
const onAxis = (axis, value) => axis.unit === "B" ? bytes(value) : figure(value, true);

/** The name of position i on an axis, without the unit unless the unit is bytes. */
function placeName(axis, i) { return isCategory(axis) ? axis.labels[i] : onAxis(axis, axis.values[i]); }

function axisName(axis) {
  return [axis.name, axis.unit === "B" && !isCategory(axis) ? "" : axis.unit].filter(Boolean).join(", ");
}
