// --- Verdict, tiles, chart of all groups, options ---

function writeAnswer() {
  fill("title", page.title);
  show("verdict", page.verdict ? [tidy(page.verdict)] : []);
  byId("tiles").style.setProperty("--n", page.tiles.length);
  show("tiles", page.tiles.map(({ heading, figure, text }) => element("article", { class: "tile" },
    element("h2", {}, heading), element("p", { class: figure.length > 14 ? "figure-text long-text" : "figure-text" }, tidy(figure)), element("p", {}, tidy(text)))));
  fill("summary", paragraphs(page.summary));
  if (page.fits) writeFits();
  if (page.options.length > 0) writeOptions();
}

const names = () => page.shown.map(({ name }) => name);

function writeFits() {
  const { rows, ties, hasAfter } = page.fits;
  fill("fits-legend", fitsLegend());
  fill("fits-chart", rows.map(fitRow), fitAxis());
  const hasOutside = rows.some((row) => [row.before, row.after ?? row.before].some(isOutside));
  const outside = hasOutside ? "A triangle at the edge stands for a distance beyond the chart." : "";
  fill("fits-caption", paragraphs([page.levelText, ...ties, outside].filter((text) => text)));
  const [before, after] = hasAfter ? names() : ["Distance"];
  const heads = hasAfter ? [before, "Interval", after, "Interval", "Change"] : [before, "Interval"];
  table("fits-table", [columnHead("Group", false), ...["People", ...heads].map((head) => columnHead(head))],
    rows.map((row) => fitCells(row, hasAfter)));
  byId("fits").hidden = false;
}

function fitsLegend() {
  const { rows, hasAfter } = page.fits;
  const dot = (kind) => drawn("circle", { r: 5, class: `${kind}-dot` });
  const entry = (text, ...marks) => element("li", {}, swatch(marks), element("span", {}, text));
  const [before, after] = names();
  const entries = hasAfter
    ? [entry(before, dot("before")), entry(after, dot("after"))]
    : [entry("distance", dot("after"))];
  if (rows.some(({ beforeInterval }) => beforeInterval)) {
    entries.push(entry("interval", drawn("path", { d: "M-12,0H12M-12,-4V4M12,-4V4", class: "before-bar" })));
  }
  entries.push(entry(hasAfter ? `everyone, ${before}: 100` : "everyone: 100",
    drawn("path", { d: "M0,-7V7", class: "reference" })));
  return entries;
}

const spread = (interval) => (interval ? `${level(interval[0])} to ${level(interval[1])}` : missing);
const tag = (text) => element("span", { class: "tag" }, text);

function fitCells(row, hasAfter) {
  const tied = (value, isTie) => number(isTie ? [level(value), " ", tag("tie")] : level(value));
  const cells = [number(whole.format(row.people)), tied(row.before, row.isTieBefore), number(spread(row.beforeInterval))];
  if (hasAfter) {
    cells.push(tied(row.after, row.isTieAfter), number(spread(row.afterInterval)),
      number(row.after === null ? missing : signed(row.after - row.before, 1)));
  }
  const head = rowHead(row.name);
  if (row.isSmall) head.append(" ", tag("too few people"));
  return element("tr", {}, head, cells);
}

// Where a level lies in the chart, in per cent; groups of few people may lie outside.
function placeOf(value) {
  const { low, high } = page.fits;
  return Math.min(Math.max(100 * (value - low) / (high - low), 0), 100);
}
const isOutside = (value) => value < page.fits.low || value > page.fits.high;
const at = (value) => `${placeOf(value).toFixed(2)}%`;

const vertical = (value, y1, y2, kind) => drawn("line", { x1: at(value), x2: at(value), y1, y2, class: kind });

function errorBar(interval, y, kind) {
  if (!interval) return [];
  const [low, high] = interval;
  return [drawn("line", { x1: at(low), x2: at(high), y1: y, y2: y, class: kind }),
    vertical(low, y - 4, y + 4, kind), vertical(high, y - 4, y + 4, kind)];
}

// A dot, or a triangle at the edge that points to where the value lies.
function fitMark(value, y, r, kind) {
  if (!isOutside(value)) return drawn("circle", { cx: at(value), cy: y, r, class: kind });
  const d = value > page.fits.high ? "M-9,-5.5L1,0L-9,5.5Z" : "M9,-5.5L-1,0L9,5.5Z";
  return drawn("svg", { x: at(value), y, height: 1, class: "marks" }, drawn("path", { d, class: kind }));
}

function fitRow(row) {
  const { ticks, hasAfter } = page.fits;
  const grid = [...ticks.map((tick) => vertical(tick, 0, "100%", "grid-line")), vertical(100, 0, "100%", "reference")];
  const marks = [];
  const has = hasAfter && row.after !== null;
  const [upper, lower] = has ? [-6, 6] : [0, 0];
  if (has) marks.push(drawn("line", { x1: at(row.before), y1: upper, x2: at(row.after), y2: lower, class: "link" }));
  const kind = hasAfter ? "before" : "after";
  marks.push(...errorBar(row.beforeInterval, upper, `${kind}-bar`),
    fitMark(row.before, upper, 5, `${kind}-dot`));
  if (has) {
    marks.push(...errorBar(row.afterInterval, lower, "after-bar"),
      fitMark(row.after, lower, 5.5, "after-dot"));
  }
  const values = has ? [level(row.before), " → ", element("b", {}, level(row.after))] : [element("b", {}, level(row.before))];
  if (has ? row.isTieAfter : row.isTieBefore) values.unshift(tag("tie"), " ");
  return element("div", { class: row.isSmall ? "fit small" : "fit" },
    element("div", { class: "fit-name" }, row.name, " ",
      element("span", { class: "quiet" }, row.isSmall ? `too few people (${row.people})` : people(row.people))),
    element("div", { class: "plot", "aria-hidden": "true" }, drawn("svg", {}, grid, drawn("svg", { y: "50%", height: 1, class: "marks" }, marks))),
    element("div", { class: "fit-value" }, values));
}

function fitAxis() {
  const { ticks } = page.fits;
  const anchor = (place) => (place < 3 ? "start" : place > 97 ? "end" : "middle");
  const labels = ticks.map((tick) => drawn("text", { x: at(tick), y: 14, "text-anchor": anchor(placeOf(tick)) }, short.format(tick)));
  const hint = drawn("text", { x: 0, y: 34 }, "← closer: better");
  return element("div", { class: "fit axis", "aria-hidden": "true" }, element("div"), element("div", { class: "plot" }, drawn("svg", {}, labels, hint)), element("div"));
}

// --- Options ---

function writeOptions() {
  byId("option-cards").classList.toggle("many", page.groups.length > 4 || page.groups.some((name) => name.length > 14));
  fill("option-cards", page.options.map(optionCard));
  const hasSmall = page.options.some(({ groups }) => groups.some(({ isSmall }) => isSmall));
  byId("options-caption").append(hasSmall ? " Groups of too few people are faint and come last." : "");
  byId("options").hidden = false;
}

function optionCard(option) {
  const badges = [];
  if (option.isRecommended) badges.push(element("span", { class: "badge" }, "Recommended"));
  if (option.isChosen) badges.push(element("span", { class: "badge solid" }, "Chosen"));
  const head = (text, extra = "") => element("div", { class: `head ${extra}` }, text);
  return element("article", { class: option.isChosen ? "option chosen" : "option", "data-option": option.key },
    element("div", { class: "badges" }, badges), element("h3", {}, option.title), element("p", {}, tidy(option.text)),
    element("div", { class: "changes" }, element("div", { class: "change" },
      head("Group"), head("closer | farther", "middle"), head("Change", "right"), head("Distance", "right")),
    option.groups.map(changeRow)),
    optionCounts(option));
}

function changeRow({ name, level: distance, change, interval, isSmall }) {
  const faint = isSmall ? "faint" : "";
  const value = signed(change, 1, "%");
  return element("div", { class: "change" },
    element("div", { class: faint }, name),
    element("div", { class: "bar-cell" }, changeBar(change, isSmall ? null : interval, isSmall)),
    element("div", { class: `right ${faint}` }, value),
    element("div", { class: "right faint" }, level(distance)));
}

function changeBar(change, interval, isSmall) {
  const reach = page.optionReach;
  const place = (value) => Math.min(Math.max(50 + 50 * value / reach, 0), 100);
  const marks = [];
  if (change !== null) {
    const end = place(change);
    marks.push(drawn("rect", { x: `${Math.min(50, end)}%`, width: `${Math.abs(end - 50)}%`, y: "20%", height: "60%", rx: 1,
      class: `${change < 0 ? "closer" : "farther"}${isSmall ? " is-faint" : ""}` }));
  }
  if (interval) {
    const [low, high] = interval.map(place);
    marks.push(drawn("line", { x1: `${low}%`, x2: `${high}%`, y1: "50%", y2: "50%", class: "whisker" }));
  }
  marks.push(drawn("line", { x1: "50%", x2: "50%", y1: 0, y2: "100%", class: "zero" }));
  return drawn("svg", { "aria-hidden": "true" }, marks);
}

function optionCounts({ everyone, nPeople, nGain, nLose, nMoved, separation }) {
  const share = (count) => `${whole.format(count)} (${percent(nPeople ? 100 * count / nPeople : 0)})`;
  const line = (name, value) => element("div", {}, element("dt", {}, name), element("dd", {}, value));
  const part = (start, count, kind) => drawn("rect", { x: `${100 * start / (nPeople || 1)}%`, y: 0, height: 6,
    width: `${100 * count / (nPeople || 1)}%`, class: kind });
  return element("div", { class: "counts" },
    drawn("svg", { class: "gains", "aria-hidden": "true" }, part(0, nPeople, ""), part(0, nGain, "closer"), part(nPeople - nLose, nLose, "farther")),
    element("dl", {}, line("Come closer", share(nGain)), line("End farther away", share(nLose)), line("Change cluster", share(nMoved)),
      line("Everyone's distance", signed(everyone, 1, "%")),
      separation === null ? [] : line("Separation of the groups", index(separation))));
}
