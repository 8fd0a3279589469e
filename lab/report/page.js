// The page: the machine, a table of contents with verdicts, and every experiment of the record.

const HOLDS = {
  yes: "holds",
  partly: "holds in part",
  no: "does not hold",
  open: "open"
};
const HOLDS_PATHS = {
  yes: [["circle"], ["path", "M4.2 8.3l2.5 2.6 5-5.6"]],
  partly: [["ring"], ["half"]],
  no: [["square"], ["path", "M5 5l6 6M11 5l-6 6"]],
  open: [["ring"], ["path", "M6 6.3a2 2 0 1 1 2.9 1.8c-.6.3-.9.6-.9 1.3M8 11.7v.1"]],
};

/** The mark of a verdict. Each verdict has its own shape; its meaning is also shown as text. */
function holdsMark(holds, label = null) {
  const shapes = {
    circle: () => svg("circle", {cx: 8, cy: 8, r: 7.5, class: "ground"}),
    ring: () => svg("circle", {cx: 8, cy: 8, r: 6.6, class: "ring"}),
    square: () => svg("rect", {x: 1, y: 1, width: 14, height: 14, rx: 2, class: "ground"}),
    half: () => svg("path", {d: "M8 1.4a6.6 6.6 0 0 0 0 13.2z", class: "ground"}),
    path: d => svg("path", {d, class: "sign"}),
  };
  return svg("svg", {
    viewBox: "0 0 16 16",
    class: `holds ${holds}`,
    role: label ? "img" : "",
    "aria-label": label,
    "aria-hidden": label ? "" : "true"
  },
    ...HOLDS_PATHS[holds].map(([shape, d]) => shapes[shape](d)));
}

// Panels

function swatch(panel, style, log) {
  const marks = panel.kind === "lines" ?
    [stroke(style, {d: "M1 7H29"}), mark(style, 15, 7, null)] :
    panel.kind === "bars" && log ?
    [stroke(style, {d: "M1 7H22", opacity: 0.55, "stroke-width": 1.5}), mark(style, 22, 7, null, 4.4)] :
    [area(style, 1, 1, 28, 12)];
  return svg("svg", {viewBox: "0 0 30 14", width: 30, height: 14, "aria-hidden": "true"}, ...marks);
}

function legendOf(panel, styles) {
  const {series} = panel, several = new Set(series.map(one => one.role)).size > 1;
  const entry = (one, s, name) =>
    html("li", null, swatch(panel, styles[s], panel.y.scale === "log"), html("span", null, name));
  let entries;
  if (!several) {  // one entry for the common role
    entries = series.map((one, s) => entry(one, s, one.name));
    if (series.some(one => !one.name.toLowerCase().includes(one.role))) {
      entries.push(html("li", {class: "role"}, series.length > 1 ? `all ${series[0].role}` : series[0].role));
    }
  } else if (panel.kind === "stacked") {  // the rows name their series
    const isFirst = s => series.findIndex(other => subjectOf(other) === subjectOf(series[s])) === s;
    entries = series.map((one, s) => isFirst(s) ? entry(one, s, subjectOf(one)) : null);
  } else {
    entries = series.map((one, s) => entry(one, s, nameWithRole(one)));
  }
  return html("ul", {class: "legend", "aria-label": "Legend"}, entries);
}

const drawn = [];  // for every plot: its element, and the function that draws it for a width

/** Registers `place`, whose contents are `draw(width)`, to be drawn again whenever the width changes. */
function redrawn(place, draw) {
  const item = {
    place,
    draw,
    width: 0,
    at(width) {
      if (Math.abs(width - this.width) < 1 || width < 1) return;
      this.width = width;
      this.place.replaceChildren(...this.draw(width));
    }
  };
  drawn.push(item);
  return place;
}

function plotOf(panel) {
  const styles = stylesOf(panel);
  if (panel.kind !== "surface") {
    const draw = {bars: drawBars, lines: drawLines, stacked: drawStacked}[panel.kind];
    const plot = redrawn(html("div", {class: "plot"}), width => [draw(panel, styles, width)]);
    return [html("div", {class: "whole"}, legendOf(panel, styles), plot)];
  }
  const scale = heatScale(panel);
  const small = placesOf(panel.x).length <= 9 && panel.series.length > 1;
  const maps =
    panel.series.map(one => html("div", {class: "map"}, html("p", {class: "map-name"}, nameWithRole(one)),
                       redrawn(html("div", {class: "plot"}), width => [drawSurface(panel, one, scale, width)])));
  return [
    html("div", {class: small ? "maps two" : "maps"}, maps),
    redrawn(html("div", {class: "plot legend-of-map"}), width => [drawHeatLegend(panel, scale, width)])
  ];
}

function panelOf(panel, i, key) {
  const box =
    html("figure", {class: "panel", "data-kind": panel.kind, id: `${key}.${i + 1}`}, html("h4", null, panel.title));
  try {
    box.append(...plotOf(panel));
  } catch (error) {
    failed(error);
    box.append(
      html("p", {class: "callout failed"}, `This plot could not be drawn (${error.message}); its figures are below.`));
  }
  if (panel.note) box.append(html("figcaption", null, prose(panel.note)));
  box.append(tablesOf(panel));
  return box;
}

/** A folded panel. Its plot is drawn when the reader opens it, because it has no width before. */
function foldedPanelOf(panel, i, key) {
  const box = html("details", {class: "more"}, html("summary", null, panel.title), panelOf(panel, i, key));
  box.addEventListener("toggle", () => drawAll());
  return box;
}

/**
 * In a record of many experiments, only the plots of these experiments are open. The verdict of every experiment
 * quotes its figures.
 */
const WITH_PLOT = ["N.implementations", "G.transfers", "P.encryption", "D.model", "W.worth"];

/** Whether panel i is open: the first one or, for a model, the comparison of two implementations. */
function isOpen(i, experiment) {
  if (experiment.isOneOfMany && !WITH_PLOT.includes(experiment.key)) return false;
  const {panels} = experiment.result, ratio = panels.findIndex(panel => / against AES-NI$/.test(panel.title));
  return i === Math.max(ratio, 0);
}

// Experiments

const STATUS = {
  left_out: "Left out",
  failed: "Failed",
  not_run: "Not run"
};
const wasRun = experiment => !(experiment.status in STATUS);
const reasonOf = ({reason}) => reason || "Its turn did not come.";

/**
 * The experiments without a result, grouped by status and reason. `sharesReason` marks members of a group of more than
 * two.
 */
function othersOf(experiments) {
  const groups = new Map();
  for (const one of experiments.filter(experiment => !wasRun(experiment))) {
    const key = `${one.status} ${one.reason}`;
    groups.set(key, [...(groups.get(key) || []), one]);
  }
  for (const group of groups.values())
    group.forEach(one => {
      one.sharesReason = group.length > 2;
    });
  return [...groups.values()];
}

const SUMMARY = JSON.parse(document.getElementById("summary").textContent);
const CLAIMS = new Map(SUMMARY.claims.map(claim => [claim.id, claim]));

function verdictsOf(experiment) {
  const {verdicts} = experiment.result;
  if (!verdicts.length) return null;
  const word = holds => `${HOLDS[holds][0].toUpperCase()}${HOLDS[holds].slice(1)}`;
  const said = claim => CLAIMS.has(claim) ? [html("cite", {title: claim}, prose(CLAIMS.get(claim).says)), ". "] : [];
  const question = experiment.paper === "W" ? "What it shows" : "Does the published conclusion hold?";
  return html("ul", {class: "verdicts", "aria-label": question},
    verdicts.map(
      ({claim, holds, sentence}) => html("li", {class: holds}, holdsMark(holds),
        html("div", null,
          html("p", null, said(claim), html("strong", null, `${word(holds)}. `), prose(sentence), limitOf(claim)),
          wordsOf(CLAIMS.get(claim))))));
}

/** The part of the machine that decides how fast the subjects of a conclusion are. */
function limitOf(claim) {
  const limit = CLAIMS.get(claim)?.limit;
  return limit ? html("span", {class: "limit"}, ` Limit: ${limit}.`) : null;
}

const LANGUAGES = {
  Russian: "ru",
  Chinese: "zh",
  Spanish: "es",
  Serbian: "sr-Latn",
  English: "en"
};

/** The paper's words, their subject, and the rule, in a folded element. */
function wordsOf(claim) {
  if (!claim) return null;
  const source = SUMMARY.sources.find(({paper}) => paper === claim.paper);
  const rows = [
    ["rule", claim.rule], ["series", claim.series], ["sizes", claim.sizes], ["condition", claim.condition],
    ["against", claim.baseline], ["id", claim.id]
  ];
  return html("details", {class: "words"},
    html("summary", null, claim.original ? "The paper’s words, and the rule" : "The rule"),
    claim.original ?
      [
        html("blockquote", {lang: LANGUAGES[source.language]}, claim.original),
        claim.translation ? html("p", {class: "translation"}, claim.translation) : null,
        html("p", {class: "place"}, `[${claim.paper}] ${claim.place}`)
      ] :
      null,
    html("dl", null, rows.filter(([, value]) => value).map(([name,
      value]) => html("div", null, html("dt", null, name), html("dd", null, prose(value))))));
}

/** A table of conclusions, with a column for each record. */
function machinesTable({records}, conclusions) {
  const head = records.map(({machine, date, quick}) => html("th", {scope: "col"}, machine,
                             html("span", {class: "under"}, quick ? `${date}, quick` : date)));
  const row = ({id, says, holds}) =>
    html("tr", null, html("th", {scope: "row"}, html("code", null, id), " ", prose(says)),
      holds.map(one => html("td", {class: one}, holdsMark(one), html("span", {class: "word"}, ` ${HOLDS[one]}`))));
  return scrolling("The conclusions by machine",
    html("table", null, html("thead", null, html("tr", null, html("th", {scope: "col"}, "conclusion"), head)),
      html("tbody", null, conclusions.map(row))));
}

/** The verdicts by machine, if the page has more than one record: first the conclusions on which records disagree. */
function matrixOf({matrix}) {
  if (matrix.records.length < 2) return null;
  const decided = matrix.conclusions.filter(({agrees}) => agrees !== null);
  const apart = decided.filter(({agrees}) => !agrees);
  return html("section", {class: "matrix", "aria-labelledby": "machines"},
    html("h2", {id: "machines"}, "The conclusions by machine"),
    html("p", {class: "reading"},
      `The same rules on ${matrix.records.length} records; this page is of the first. Of ${
        matrix.conclusions.length} ` +
        `conclusions ${decided.length} are decided by two records or more, ${
          decided.length - apart.length} of them alike.`),
    apart.length ? machinesTable(matrix, apart) : null,
    html("details", {class: "words"}, html("summary", null, "All conclusions"),
      machinesTable(matrix, matrix.conclusions)));
}

/** The end of the page: the papers, the citation, the record, and the corrections. */
function aboutOf(record) {
  const address = URL.createObjectURL(new Blob([JSON.stringify(record, null, 1)], {type: "application/json"}));
  const of = record.machine.gpu ? record.machine.gpu.name : record.machine.cpu;
  const commit = record.commit ? `, commit ${record.commit.slice(0, 12)}` : "";
  return html("section", {class: "about", "aria-labelledby": "about-title"},
    html("h2", {id: "about-title"}, "About this page"), html("h3", null, "The papers"),
    html("ul", null,
      SUMMARY.sources.filter(({paper}) => paper !== "W")
        .map(({paper, reference, link, link_is: is}) => html("li", {id: `source-${paper}`}, `[${paper}] ${reference} `,
               link ? [html("a", {href: link}, link.replace(/^https?:\/\/(doi\.org\/)?/, "")), is ? ` (${is})` : ""] :
                      null))),
    html("h3", null, "How to cite it"),
    html("p", null,
      `warpaes ${record.warpaes}${commit}: Published experiments with AES on GPUs, measured again, on ${of}, ` +
        `${record.date.slice(0, 10)}. CITATION.cff of the repository has this for programs. Licence: Apache 2.0.`),
    html("p", null, html("a", {href: address, download: "record.json"}, "Download the record"), "; ",
      html("code", null, "warpaes lab judge"), " and ", html("code", null, "warpaes lab report"),
      " make these verdicts and this page of it again."),
    html("h3", {id: "corrections"}, "What earlier versions of this page said wrongly"),
    html("details", {class: "words"}, html("summary", null, `${SUMMARY.corrections.length} corrections`),
      html("ul", null,
        SUMMARY.corrections.map(({of: what, was}) => html("li", null, html("code", null, what), ": ", prose(was))))));
}

/** A quantity sampled during an experiment: median and range in whole numbers; a single number if it did not change. */
function sampledOf(figures, unit) {
  const [low, median, high] = figures.map(Math.round);
  return low === high ? `${median} ${unit}` : `${median} ${unit} (${low} to ${high})`;
}

function experimentOf(experiment, commit) {
  const {key} = experiment;
  const article = html("article", {id: key, "data-status": experiment.status, "aria-labelledby": `${key}-title`},
    html("h3", {id: `${key}-title`}, html("a", {href: `#${key}`}, experiment.title)),
    html("p", {class: "key-line"}, html("code", null, key),
      wasRun(experiment) ? html("span", null, duration(experiment.seconds)) : null,
      experiment.clocks ? html("span", null, sampledOf(experiment.clocks, "MHz")) : null,
      experiment.power ? html("span", null, sampledOf(experiment.power, "W")) : null,
      experiment.temperature ? html("span", null, sampledOf(experiment.temperature, "°C")) : null,
      experiment.load > 0.05 ? html("span", null, `others used ${Math.round(100 * experiment.load)} % of the CPU`) :
                               null,
      wasRun(experiment) && experiment.commit !== commit ?
        html("span", null, "commit ", html("code", null, experiment.commit.slice(0, 12))) :
        null),
    html("p", {class: "question"}, prose(experiment.question)));
  if (!wasRun(experiment)) {
    const why = experiment.sharesReason ? html("a", {href: "#others"}, "Why") : reasonOf(experiment);
    article.append(
      html("p", {class: `callout ${experiment.status}`}, html("strong", null, `${STATUS[experiment.status]}. `), why));
  }
  const verdicts = verdictsOf(experiment);
  if (verdicts) article.append(verdicts);
  article.append(
    ...experiment.result.panels.map((panel, i) => (isOpen(i, experiment) ? panelOf : foldedPanelOf)(panel, i, key)));
  const {facts} = experiment.result;
  if (facts.length) {
    const summary = facts.length === 1 ? "1 other figure" : `${facts.length} other figures`;
    article.append(html("details", {class: "more"}, html("summary", null, summary), factsTable(facts)));
  }
  if (experiment.result.notes.length) {
    article.append(html("h4", {class: "label"}, "Notes"),
      html("ul", {class: "notes"}, experiment.result.notes.map(note => html("li", null, prose(note)))));
  }
  article.append(html("p", {class: "back"}, html("a", {href: "#contents"}, "Contents")));
  return article;
}

/** [{letter, citation, experiments}], in the record's order. */
function papersOf(experiments) {
  const papers = [];
  for (const experiment of experiments) {
    const paper = papers.find(({letter}) => letter === experiment.paper);
    if (paper)
      paper.experiments.push(experiment);
    else
      papers.push({letter: experiment.paper, citation: experiment.citation, experiments: [experiment]});
  }
  return papers;
}

function contentsOf(papers) {
  const entry = experiment => {
    const marks = experiment.result.verdicts.map(({holds}) => holdsMark(holds, HOLDS[holds]));
    const state = wasRun(experiment) ? marks : html("span", {class: "state"}, STATUS[experiment.status].toLowerCase());
    return html(
      "li", null, html("a", {href: `#${experiment.key}`}, experiment.title), html("span", {class: "marks"}, state));
  };
  return html("nav", {id: "contents", "aria-labelledby": "contents-title"},
    html("h2", {id: "contents-title"}, "Contents"),
    html("p", {class: "legend holds-key"},
      Object.keys(HOLDS).map(holds => html("span", null, holdsMark(holds), HOLDS[holds]))),
    papers.map(({letter, experiments}) => [html("h3", null, html("a", {href: `#paper-${letter}`}, shortNameOf(letter))),
                 html("ul", null, experiments.map(entry))]));
}

/** "[N] R. Gibadullin and others": the letter and the authors. */
function shortNameOf(letter) { return `[${letter}] ${SUMMARY.sources.find(({paper}) => paper === letter).authors}`; }

// The head

function described(title, rows) {
  return html(
    "div", null, html("h3", null, title), html("dl", null, rows.filter(([, value]) => value).map(([name,
      value]) => html("div", null, html("dt", null, name), html("dd", null, value)))));
}

function machineOf({gpu, cpu, threads, instructions, memory_bytes, os, openssl, virtual: isVirtual}) {
  const mhz = value => value ? `${value} MHz` : "";
  return [
    described("GPU",
      gpu ?
        [
          ["name", gpu.name], ["compute capability", gpu.compute_capability],
          ["multiprocessors", String(gpu.multiprocessors)], ["clock, at most", mhz(gpu.clock_mhz)],
          ["memory’s clock", mhz(gpu.memory_clock_mhz)], ["memory", bytes(gpu.memory_bytes)],
          ["clocks then", gpu.clocks], ["driver", gpu.driver], ["CUDA", gpu.cuda]
        ] :
        [["", "none that could be used"]]),
    described("Host",
      [
        ["CPU", cpu], ["machine", isVirtual ? "virtual" : ""], ["threads", String(threads)],
        ["instructions", instructions.join(" ")], ["memory", bytes(memory_bytes)], ["system", os],
        ["libcrypto", openssl]
      ]),
  ];
}

function runOf({date, seconds, warpaes, commit, options, experiments}) {
  const others = [...new Set(experiments.filter(wasRun).map(one => one.commit))].filter(one => one !== commit);
  const folder = path => path ? html("code", null, path) : "none";
  return described("Run", [
    ["date", date.replace("T", " ").replace("Z", " UTC")], ["took", duration(seconds)], ["warpaes", warpaes],
    ["commit", commit ? html("code", null, commit) : "not known"],
    ["and, in part, of", others.length ? html("code", null, others.join(" ")) : ""],
    ["effort", options.quick ? "quick: few points, few samples" : "full"],
    ["experiments", options.keys.length ? html("code", null, options.keys.join(" ")) : "all"],
    ["device", options.gpu < 0 ? "none" : String(options.gpu)], ["CPU threads", String(options.threads)],
    ["files on disk", folder(options.disk)], ["files in memory", folder(options.memory)]
  ]);
}

/** A line for each place of the text; sentences if the record contains no figures for an answer. */
function answersOf({answers, sentences, elsewhere}) {
  if (elsewhere) {
    return html("div", {class: "regions"}, html("p", null, `${sentences[0]} On another machine, ${elsewhere.machine}:`),
      answersTable(elsewhere.answers));
  }
  if (!answers.length || answers.length < sentences.length) {
    return html("ul", {class: "regions"}, sentences.map(sentence => html("li", null, prose(sentence))));
  }
  return answersTable(answers);
}

function answersTable(answers) {
  const names = [...new Set(answers.flatMap(({against}) => against.map(({name}) => name)))];
  const cell = (against, name) => {
    const one = against.find(other => other.name === name);
    if (!one) return html("td", {class: "unknown"}, "not measured");
    return html("td", null, html("b", null, one.from ? `from ${prose(one.from)} on` : "at no size"),
      html("span", {class: "under"}, `CPU: ${prose(one.speed)}`));
  };
  return html("div", {class: "answers"},
    html("table", null,
      html("thead", null,
        html("tr", null, html("th", {scope: "col"}, "Where your data are"),
          names.map(name => html("th", {scope: "col"}, `GPU ahead of ${name.replace(" of the CPU", "")}`)),
          html("th", {scope: "col"}, "The GPU does"))),
      html("tbody", null,
        answers.map(
          ({where, against, gpu, at, note}) =>
            [html("tr", null, html("th", {scope: "row"}, where),
               against.length ? names.map(name => cell(against, name)) :
                                html("td", {colspan: names.length}, "the way to the CPU was not measured"),
               html("td", null, prose(gpu.replace(/ \(.*/, "")),
                 html("span", {class: "under"}, `${prose(gpu.replace(/.*\(|\)/g, ""))}, ${prose(at)}`))),
              note ? html("tr", {class: "note"}, html("td", {colspan: names.length + 2}, prose(note))) : null]))));
}

/** The first screen: when the GPU is worth using, with a chart and a line for each place of the text. */
function worthOf({worth}, isQuick) {
  const series = worth.series.map(one => ({name: one.name, role: "measured", values: one.values, spread: []}));
  const panel = {
    kind: "lines",
    title: "Throughput by size",
    x: {name: "text", unit: "B", scale: "log", values: worth.sizes},
    y: {name: "throughput", unit: "GB/s", scale: "log", values: []},
    series,
    crossings: worth.crossings
  };
  const marks = worth.crossings.length ? " Rings: the GPU is ahead from here on." : "";
  const quick = isQuick ? ` A quick run: texts up to ${bytes(worth.sizes.at(-1))}.` : "";
  return html("section", {class: "worth", "aria-labelledby": "worth-title"},
    html("h2", {id: "worth-title"}, "When is the GPU worth it here?"),
    html("div", {class: "worth-columns"}, series.length ? html("div", {class: "chart"}, plotOf(panel)) : null,
      answersOf(worth)),
    worth.from ? html("p", {class: "from"}, `From ${worth.from}.${marks}${quick}`) : "");
}

function findingsOf({findings}) {
  if (!findings.length) return null;
  return html("section", {class: "findings", "aria-labelledby": "findings-title"},
    html("h2", {id: "findings-title"}, "What it found"),
    html("ul", null, findings.map(finding => html("li", null, prose(finding)))));
}

function talliesOf({tallies}) {
  const nameOf = letter => letter === "W" ? "Ours" : shortNameOf(letter);
  const hows = Object.keys(HOLDS);
  const total = hows.map(how => tallies.filter(one => one.paper !== "W").reduce((sum, one) => sum + one[how], 0));
  const row = (name, counts, attributes) => html("tr", attributes, html("th", {scope: "row"}, name),
    counts.map((count, i) => html("td", {class: hows[i]}, String(count))));
  return html("section", {class: "tallies", "aria-labelledby": "tally-title"},
    html("h2", {id: "tally-title"}, "Do the published conclusions hold?"),
    scrolling("Tally",
      html("table", null,
        html("thead", null,
          html("tr", null, html("th", {scope: "col"}, "Each counted once"),
            hows.map(how => html("th", {scope: "col"}, holdsMark(how), " ", HOLDS[how])))),
        html("tbody", null,
          tallies.filter(one => one.paper !== "W").map(one => row(nameOf(one.paper), hows.map(how => one[how]))),
          row("Published, together", total, {class: "sum"}),
          tallies.filter(one => one.paper === "W").map(one => row(nameOf("W"), hows.map(how => one[how])))))));
}

function summaryOf({experiments, seconds}) {
  const run = experiments.filter(wasRun), others = othersOf(experiments);
  const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  return [
    html("p", null,
      `${run.length} of ${plural(experiments.length, "experiment")}, run in ${duration(seconds)}. ` +
        (others.length ? "" : "Nothing was left out.")),
    others.length ?
      html("div", {class: "others", id: "others"}, html("h3", null, "Left out, or failed"),
        html("ul", null,
          others.map(group => html("li", null, `${STATUS[group[0].status]}: ${reasonOf(group[0])}`, html("br"),
                       group.map((one, i) => [i ? ", " : "", html("a", {href: `#${one.key}`}, one.title)]))))) :
      null,
  ];
}

function failed(error) {
  const root = document.documentElement;
  root.dataset.errors = String(Number(root.dataset.errors || 0) + 1);
  console.error(error);
}

function show(record) {
  const {experiments, machine} = record, papers = papersOf(experiments);
  for (const one of experiments) one.isOneOfMany = experiments.length > 8;
  const where = [machine.gpu && machine.gpu.name, machine.cpu].filter(Boolean).join(" and ");
  document.body.append(
    html("header", null, html("p", {class: "over"}, "warpaes lab"),
      html("h1", null, "Published experiments with AES on GPUs, measured again"),
      html("p", {class: "where"}, `on ${where}`), worthOf(SUMMARY, record.options.quick),
      html("div", {class: "second"}, findingsOf(SUMMARY), talliesOf(SUMMARY)),
      html("section", {"aria-label": "Summary", class: "summary"}, summaryOf(record)),
      html("section", {"aria-label": "Machine and options", class: "machine"}, machineOf(machine), runOf(record))),
    html("div", {class: "columns"}, contentsOf(papers),
      html("main", {id: "main", tabindex: "-1"},
        html("p", {class: "reading"},
          "Medians; bands and whiskers are quartiles. Every measured figure is of an output that was compared with " +
            "the reference in the same run. Published figures are converted to the units of the plots: the papers’ " +
            "8 Gbit/s are 1 GB/s. ",
          html("a", {href: "#corrections"}, "What was corrected"), ". ",
          SUMMARY.matrix.records.length > 1 ? [html("a", {href: "#machines"}, "The verdicts by machine"), "."] : ""),
        papers.map(
          ({letter, citation, experiments}) => html("section", {"aria-labelledby": `paper-${letter}`, class: "paper"},
            html("h2", {id: `paper-${letter}`}, html("span", {class: "letter"}, letter), citation),
            experiments.map(experiment => experimentOf(experiment, record.commit)))),
        matrixOf(SUMMARY), aboutOf(record))));
}

function drawAll(width = 0) {
  for (const item of drawn) {
    try {
      item.at(width || item.place.clientWidth);  // the width is 0 while the plot is folded
    } catch (error) {
      failed(error);
      item.place.replaceChildren(html("p", {class: "callout failed"},
        `This plot could not be drawn (${error.message}); its figures are in the table.`));
    }
  }
  const root = document.documentElement;
  root.dataset.width = String(root.scrollWidth);
  root.dataset.plots = String(drawn.length);
}

document.getElementById("plain")?.remove();  // the version for readers without JavaScript
document.documentElement.dataset.errors = "0";
window.addEventListener("error", event => failed(event.error || event.message));
show(JSON.parse(document.getElementById("record").textContent));
drawAll();
window.addEventListener("resize", () => requestAnimationFrame(() => drawAll()));

// For printing: tables are open, and plots are at most as wide as the paper.
const opened = [];
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details.figures:not([open])")) {
    if (details.closest("details.more:not([open])")) continue;  // folded panels stay folded
    details.open = true;
    opened.push(details);
  }
  drawn.forEach(item => item.at(Math.min(item.width, 680)));
});
window.addEventListener("afterprint", () => {
  opened.splice(0).forEach(details => {
    details.open = false;
  });
  drawAll();
});
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
