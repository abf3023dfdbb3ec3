// --- The fold: slider, trade-off, walk and cloud ---

const charts = page.charts;
const state = { way: 0, point: page.ways.length ? page.ways[0].opensAt : 0 };
const figures = [];

const way = () => page.ways[state.way];
const utility = (value) => (value === null ? missing : value.toFixed(page.decimals));
const change = (from, to) => (from === null || to === null ? missing : signed(to - from, page.decimals));

function lowestGroup(utilities) {
  let lowest = 0;
  utilities.forEach((value, group) => {
    if (value !== null && (utilities[lowest] === null || value < utilities[lowest])) lowest = group;
  });
  return lowest;
}

// --- Legends ---

const nowEntry = (text) => legendEntry(text, { shape: "diamond", fill: "#D55E00", stroke: "currentColor" });
const startEntry = (text) => legendEntry(text, { shape: "square", stroke: "currentColor" });

function wayEntry(place) {
  const [colour, dash, shape] = charts.ways[place];
  const isOne = page.ways[place].kind === "one";
  return legendEntry(page.ways[place].title, { line: isOne ? null : colour, dash, shape, fill: colour });
}

function writeSpaceLegend() {
  const isOne = way().kind === "one";
  const others = [...page.ways.keys()].filter((place) => !(isOne && place === state.way));
  const entries = [...others.map(wayEntry), nowEntry(isOne ? way().title : "point shown")];
  if (!isOne) entries.push(startEntry("start"));
  if (charts.hasCloud) entries.push(legendEntry("k-means restarts", { shape: "circle", fill: "currentColor", opacity: 0.35 }));
  entries.push(legendEntry("equal utility", { line: "#999999", dash: [4, 4] }));
  if (charts.hasBound && page.groups.length === 2) {
    entries.push(legendEntry(`${page.bound[0]}: no clustering has both above ${utility(page.bound[1])}`, { line: "currentColor" }));
  }
  fill("space-legend", entries);
}

function writeAlongLegend() {
  const entries = page.groups.map((name, g) => legendEntry(name, { line: page.looks[g].colour, dash: page.looks[g].dash }));
  entries.push(legendEntry("Everyone", { line: "currentColor" }));
  if (page.bound) {
    const text = `${page.bound[0]}: lowest utility at most ${utility(page.bound[1])}`;
    entries.push(charts.hasBound
      ? legendEntry(text, { line: "currentColor", dash: [2, 3] })
      : legendEntry(`${text}, outside the figure`, {}));
  }
  fill("along-legend", entries);
}

// --- Figures ---

// Vega is large: it starts when a fold that needs it is opened.
function startVega() {
  if (!window.vegaEmbed) document.head.append(element("script", {}, byId("bundle").textContent));
}

function pair(groups, utilities) {
  const [x, y] = groups.map((group) => utilities[group]);
  return x === null || y === null ? [] : [{ x, y }];
}

// The rows of each figure's data sets at this point.
function spaceRows({ groups }) {
  const { utilities, kind } = way();
  const start = kind === "one" ? [] : pair(groups, utilities[0]);
  return { start, now: pair(groups, utilities[state.point]) };
}

function utilityRows(points) {
  const { steps, utilities, overall } = way();
  return points.flatMap((p) => [...utilities[p], overall[p]]
    .map((u, g) => ({ x: steps[p], u, g, p, w: state.way })));
}

// All points of a way share the lines: keep them until the way changes.
let lines = { way: null, rows: [] };
function alongRows() {
  if (lines.way !== state.way) lines = { way: state.way, rows: utilityRows([...way().steps.keys()]) };
  return { lines: lines.rows, now: utilityRows([state.point]) };
}

// Draw a figure once; afterwards only its rows change.
async function draw(figure, specification, rows) {
  // ast: Vega interprets its expressions, as the page forbids eval.
  const options = { actions: false, ast: true, defaultStyle: false, renderer: "svg", tooltip: false };
  const shown = rows();
  try {
    const { view } = await vegaEmbed(figure, { ...specification, datasets: shown }, options);
    view.addEventListener("click", (event, item) => {
      const datum = item && item.datum;
      if (datum && Number.isInteger(datum.p)) go(datum.w, datum.p);
    });
    figures.push({ view, rows, shown });
  } catch (error) {
    console.error(error);
    figure.replaceChildren(element("p", { class: "caption" }, "This browser could not draw the figure; the tables have its numbers."));
  }
}

function drawPanel(panel) {
  const [x, y] = panel.groups.map((group) => page.groups[group]);
  const figure = element("div", { class: "figure", role: "img",
    "aria-label": `Utility of ${y} against utility of ${x}; the table of groups has the numbers.` });
  byId("panels").append(element("div", { class: "panel" }, element("h3", {}, panel.title), figure,
    element("p", { class: "caption" }, panel.caption)));
  return draw(figure, panel.spec, () => spaceRows(panel));
}

function drawExplored() {
  startVega();
  return Promise.all([...charts.space.map(drawPanel), draw(byId("along-figure"), charts.along, alongRows)]);
}

function updateFigures() {
  for (const figure of figures) {
    const rows = figure.rows();
    for (const name of Object.keys(rows)) {
      if (rows[name] !== figure.shown[name]) figure.view.data(name, rows[name]);
    }
    figure.shown = rows;
    figure.view.runAsync();
  }
}

// --- Tables of this point ---

function writePointGroups() {
  const { utilities, overall, kind } = way();
  const [start, now] = [utilities[0], utilities[state.point]];
  const isOne = kind === "one";
  const cells = (from, to) => (isOne ? [number(utility(to))]
    : [number(utility(from)), number(utility(to)), number(change(from, to))]);
  const lowest = utility(now[lowestGroup(now)]);
  const rows = page.groups.map((name, g) => {
    const head = rowHead(name);
    if (now[g] !== null && utility(now[g]) === lowest) head.append(element("span", { class: "mark" }, " lowest"));
    return element("tr", {}, head, number(whole.format(page.groupSizes[g])), cells(start[g], now[g]));
  });
  rows.push(element("tr", { class: "everyone" }, rowHead("Everyone"),
    number(whole.format(sum(page.groupSizes))), cells(overall[0], overall[state.point])));
  const heads = isOne ? ["People", "Utility"] : ["People", "Start", "Now", "Change"];
  table("groups-table", [columnHead("Group", false), ...heads.map((head) => columnHead(head))], rows);
  fill("groups-heading", isOne ? "Group utilities" : "Group utilities now and at the start");
}

function flowTable(flows) {
  const largest = Math.max(1, ...flows.filter(([from, to]) => from !== to).map((flow) => flow[2]));
  const cells = page.clusters.map(() => page.clusters.map(() => number("", "flow")));
  for (const [from, to, count] of flows) {
    const cell = cells[from][to];
    cell.textContent = whole.format(count);
    if (from === to) cell.className = "number stay";
    else cell.style.setProperty("--share", 0.45 * count / largest);
  }
  const heads = [columnHead("From \\ to", false), ...page.clusters.map((name) => columnHead(name))];
  table("moved-table", heads, page.clusters.map((name, k) => element("tr", {}, rowHead(name), cells[k])));
}

function flowList(flows) {
  const rows = flows.map(([from, to, count]) => element("tr", {},
    rowHead(page.clusters[from]), element("td", {}, page.clusters[to]), number(whole.format(count))));
  table("moved-table", [columnHead("From", false), columnHead("To", false), columnHead("People")], rows);
}

function writeMoved() {
  const { flows, moved } = way();
  const count = moved[state.point];
  fill("moved-text", count === 0
    ? "At this point everyone is in the same cluster as at the start."
    : `${people(count)} ${Math.round(count) === 1 ? "is" : "are"} in another cluster than at the start. ` +
      (page.movesAsTable ? "The diagonal counts people who stayed." : "The table has the largest flows."));
  byId("moved-table").hidden = count === 0;
  (page.movesAsTable ? flowTable : flowList)(flows[state.point]);
}

// --- Point shown ---

// Points of a trade-off count from 0, as in the file of --frontier.
function placeText() {
  const { kind, steps } = way();
  return kind === "trajectory"
    ? `Step ${steps[state.point]} of ${steps[steps.length - 1]}`
    : `Point ${state.point} of ${steps.length - 1}`;
}

function statusText() {
  const { kind, utilities, overall, moved } = way();
  const now = utilities[state.point];
  const lowest = utility(now[lowestGroup(now)]);
  const tied = page.groups.filter((name, g) => utility(now[g]) === lowest);
  const worst = tied.length < 4 ? tied.join(" and ") : `${tied.length} groups`;
  const text = `lowest utility ${lowest} (${worst}), overall ${utility(overall[state.point])}`;
  if (kind === "one") return `This clustering: ${text}.`;
  return `${placeText()}: ${text}; ${people(moved[state.point])} moved`;
}

function showControls() {
  const { kind, overall } = way();
  const slider = byId("slider");
  const last = overall.length - 1;
  byId("ways").hidden = page.ways.length === 1;
  byId("walk").hidden = kind === "one";
  slider.max = last;
  slider.value = state.point;
  slider.setAttribute("aria-valuetext", placeText());
  byId("first").disabled = byId("previous").disabled = state.point === 0;
  byId("next").disabled = byId("last").disabled = state.point === last;
  byId("ways").querySelectorAll("input")[state.way].checked = true;
  byId("download").disabled = page.labels[state.way] === null;
  fill("download-note", "");
}

function showSections() {
  const isOne = way().kind === "one";
  document.querySelectorAll(".versus").forEach((part) => { part.hidden = isOne; });
  // Vega measures figures when the window is resized; hidden figures have no width.
  window.dispatchEvent(new Event("resize"));
}

function update() {
  fill("status", statusText());
  showControls();
  writePointGroups();
  table("clusters-table", clusterHeads(), clusterRows(way().counts[state.point], (k) => page.clusters[k]));
  writeMoved();
  updateFigures();
}

function go(place, point) {
  const isOther = place !== state.way;
  state.way = place;
  state.point = Math.min(Math.max(point, 0), way().overall.length - 1);
  if (isOther) {
    showSections();
    writeSpaceLegend();
  }
  update();
}

function connectControls() {
  page.ways.forEach((each, place) => {
    const radio = element("input", { type: "radio", name: "way", value: place });
    radio.addEventListener("change", () => go(place, each.opensAt));
    byId("ways").append(element("label", {}, radio, element("span", {}, each.title)));
  });
  byId("slider").addEventListener("input", (event) => go(state.way, Number(event.target.value)));
  const moves = { first: () => 0, previous: () => state.point - 1, next: () => state.point + 1, last: () => Infinity };
  for (const [id, target] of Object.entries(moves)) {
    byId(id).addEventListener("click", () => go(state.way, target()));
  }
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("download").addEventListener("click", () => downloadPoint().catch((error) => fill("download-note", String(error))));
}

function writeExplore() {
  const nPanels = charts.space.length;
  byId("space").hidden = nPanels === 0;
  byId("space").classList.toggle("wide", nPanels > 1);
  byId("panels").classList.toggle("alone", nPanels === 1);
  byId("along-figure").setAttribute("aria-label", "Lines show the utility of each group at every point; the table of groups has the numbers at this point.");
  fill("space-caption", paragraphs(charts.caption));
  const parts = ["a slider"];
  if (page.ways.some(({ kind }) => kind === "frontier")) parts.push("the trade-off");
  if (charts.hasCloud) parts.push("k-means restarts");
  fill("explore-hint", parts.join(", "));
  connectControls();
  writeAlongLegend();
  writeSpaceLegend();
  document.querySelectorAll(".versus").forEach((part) => { part.hidden = way().kind === "one"; });
  update();
  byId("explore").hidden = false;
  byId("explore").open = page.options.length === 0;
}

// --- Number of clusters ---

const NO_ROWS = {}; // these figures are the same at every point

function drawCurve(specification, place) {
  const { title, better, taken } = page.curves.curves[place];
  const caption = `${better === "higher" ? "Higher" : "Lower"} is better${taken === null ? "" : `; takes ${taken}`}.`;
  const figure = element("div", { class: "figure", role: "img",
    "aria-label": `${title}, for each number of clusters; the table has the numbers.` });
  byId("curves-panels").append(element("div", { class: "panel" }, element("h3", {}, title), figure,
    element("p", { class: "caption" }, caption)));
  return draw(figure, specification, () => NO_ROWS);
}

function drawCurves() {
  startVega();
  return Promise.all(page.curves.figures.map(drawCurve));
}

function writeCurves() {
  const { numbers, used, curves, names: [heading, worst], texts, colour } = page.curves;
  fill("curves-legend", legendEntry("k-means", { line: colour, shape: "circle", fill: colour }),
    nowEntry("number that a curve takes"), legendEntry("clusters of this page", { line: "currentColor", dash: [2, 3] }));
  fill("curves-texts", paragraphs(texts));
  const cell = ({ values, taken }, place) => number(values[place] === null ? missing
    : [element("span", { class: "mark" }, numbers[place] === taken ? "takes " : ""), values[place].toFixed(4)]);
  const rows = numbers.map((count, place) => element("tr", {},
    rowHead(count === used ? `${count}, used` : String(count)), curves.map((curve) => cell(curve, place)),
    element("td", { class: worst[place].length > 24 ? "" : "share" }, worst[place])));
  const heads = curves.map(({ title }) => columnHead(title));
  table("curves-table", [columnHead("Clusters", false), ...heads, columnHead(heading, false)], rows);
  byId("curves").hidden = false;
}
