"use strict";

// Users' names enter the page as textContent and the figures as values, never as HTML.
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const charts = page.charts;
  const state = { way: 0, point: page.ways[0].overall.length - 1 };
  const figures = [];

  const byId = (id) => document.getElementById(id);
  const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
  const way = () => page.ways[state.way];

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children.flat());
    return made;
  }

  function fill(id, ...children) {
    byId(id).replaceChildren(...children.flat());
  }

  // --- Numbers as text ---

  const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  // Four digits may be a year: no comma.
  const long = new Intl.NumberFormat("en", { maximumFractionDigits: 0, useGrouping: "min2" });
  const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const missing = "–";

  const people = (count) => whole.format(count) + (count === 1 ? " person" : " people");
  const utility = (value) => (value === null ? missing : value.toFixed(page.decimals));

  function change(from, to) {
    if (from === null || to === null) return missing;
    const text = Math.abs(to - from).toFixed(page.decimals);
    if (Number(text) === 0) return text;
    return (to > from ? "+" : "\u2212") + text;
  }

  function percent(value) {
    if (value > 0 && value < 0.05) return "<0.1\u00a0%";
    if (value < 100 && value >= 99.95) return ">99.9\u00a0%";
    const isNearEnd = (value > 0 && value < 9.95) || (value > 99 && value < 100);
    return `${value.toFixed(isNearEnd ? 1 : 0)}\u00a0%`;
  }

  function amount(value, isShare) {
    if (value === null) return missing;
    if (isShare) return percent(value);
    return (Math.abs(value) >= 1000 ? long : short).format(value);
  }

  function lowestGroup(utilities) {
    let lowest = 0;
    utilities.forEach((value, group) => {
      if (value !== null && (utilities[lowest] === null || value < utilities[lowest])) lowest = group;
    });
    return lowest;
  }

  // --- Texts that do not change ---

  function paragraphs(texts) {
    return texts.map((text) => element("p", {}, text));
  }

  function section(id, ...children) {
    if (children.flat().length === 0) return;
    byId(id).append(...children.flat());
    byId(id).hidden = false;
  }

  function noteList([heading, entries, more]) {
    const items = entries.map((entry) => element("li", {}, entry));
    if (more > 0) items.push(element("li", {}, `and ${whole.format(more)} more`));
    return [element("h2", {}, heading), element("ul", {}, items)];
  }

  function writeTexts() {
    fill("title", page.title);
    fill("summary", paragraphs(page.summary));
    fill("facts", element("tbody", {}, page.facts.map(([name, value]) =>
      element("tr", {}, rowHead(name), element("td", {}, value)))));
    section("notes", page.notes.flatMap(noteList));
    section("methods", paragraphs(page.methods));
    section("limits", paragraphs(page.limits));
    fill("left-out", paragraphs(page.leftOut));
    fill("space-caption", paragraphs(charts.caption));
    fill("footer", `Made by rawlsian ${page.version}.`);
  }

  // --- Legends ---

  const SHAPES = {
    circle: "M3,0A3,3,0,1,1,-3,0A3,3,0,1,1,3,0Z",
    square: "M-3.5,-3.5h7v7h-7Z",
    "triangle-up": "M0,-4L4,3.5H-4Z",
    "triangle-down": "M0,4L4,-3.5H-4Z",
    "triangle-right": "M4,0L-3.5,4V-4Z",
    cross: "M-4,-1.3h2.7v-2.7h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7Z",
    diamond: "M0,-6L5,0L0,6L-5,0Z",
  };

  function drawn(tag, attributes) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  function legendEntry(text, { line, dash = [1, 0], shape, fill: inside = "none", stroke = "none", opacity = 1 }) {
    const swatch = drawn("svg", { width: 30, height: 14, viewBox: "-15 -7 30 14", "aria-hidden": "true" });
    if (line) swatch.append(drawn("path", { d: "M-15,0H15", stroke: line, "stroke-width": 2, "stroke-dasharray": dash.join(" ") }));
    if (shape) swatch.append(drawn("path", { d: SHAPES[shape], fill: inside, stroke, "stroke-width": 1.5, opacity }));
    return element("li", {}, swatch, element("span", {}, text));
  }

  const nowEntry = (text) => legendEntry(text, { shape: "diamond", fill: "#D55E00", stroke: "currentColor" });
  const startEntry = (text) => legendEntry(text, { shape: "square", stroke: "currentColor" });

  function wayEntry(place) {
    const [colour, dash, shape] = charts.looks.ways[place];
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

  function groupEntries(hasLines) {
    return page.groups.map((name, group) => {
      const [colour, dash] = charts.looks.groups[group];
      return hasLines
        ? legendEntry(name, { line: colour, dash })
        : legendEntry(name, { shape: "square", fill: colour });
    });
  }

  function writeLegends() {
    const everyone = legendEntry("Everyone", { line: "currentColor" });
    const along = [...groupEntries(true), everyone];
    if (page.bound) {
      const text = `${page.bound[0]}: lowest utility at most ${utility(page.bound[1])}`;
      along.push(charts.hasBound
        ? legendEntry(text, { line: "currentColor", dash: [2, 3] })
        : legendEntry(`${text}, outside the figure`, {}));
    }
    fill("along-legend", along);
    fill("clusters-legend", groupEntries(false));
    fill("groups-legend", startEntry("start"), legendEntry("now", { shape: "diamond", fill: "currentColor" }));
  }

  // --- Figures ---

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

  function groupRows() {
    const { utilities, overall, kind } = way();
    const [start, now] = [0, state.point].map((p) => [...utilities[p], overall[p]]);
    return {
      start: kind === "one" ? [] : start.map((u, g) => ({ g, u, v: now[g] })),
      now: now.map((u, g) => ({ g, u })),
    };
  }

  function clusterRows() {
    const members = way().counts[state.point];
    return {
      now: members.flatMap((row, k) => row.map((n, g) => ({ k, g, n }))),
      sizes: members.map((row, k) => ({ k, n: sum(row) })),
    };
  }

  // Draw a figure once; afterwards only its rows change.
  async function draw(figure, specification, rows) {
    const options = { actions: false, renderer: "svg", tooltip: false };
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

  async function drawFigures() {
    await Promise.all([
      ...(page.curves ? page.curves.figures.map(drawCurve) : []),
      ...charts.space.map(drawPanel),
      draw(byId("along-figure"), charts.along, alongRows),
      draw(byId("groups-figure"), charts.groups, groupRows),
      draw(byId("clusters-figure"), charts.clusters, clusterRows),
    ]);
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

  function describeFigures() {
    const { utilities, overall } = way();
    const each = page.groups.map((name, g) => `${name} ${utility(utilities[state.point][g])}`);
    byId("groups-figure").setAttribute("aria-label", `Utility now: ${each.join(", ")}, everyone ${utility(overall[state.point])}.`);
    byId("along-figure").setAttribute("aria-label", "Lines show the utility of each group at every point; the table of groups has the numbers at this point.");
    byId("clusters-figure").setAttribute("aria-label", "Bars show the size of each cluster by group; the table of clusters has the numbers.");
  }

  // --- Tables ---

  const number = (text, extra = "") => element("td", { class: `number ${extra}` }, text);
  const rowHead = (text) => element("th", { scope: "row", class: text.length > 24 ? "long" : "" }, text);
  const columnHead = (text, isNumber = true) =>
    element("th", { scope: "col", class: isNumber ? "number" : "" }, text);

  function table(id, heads, rows) {
    fill(id, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows));
  }

  function writeGroups() {
    const { utilities, overall, kind } = way();
    const [start, now] = [utilities[0], utilities[state.point]];
    const isOne = kind === "one";
    const cells = (from, to) => (isOne ? [number(utility(to))]
      : [number(utility(from)), number(utility(to)), number(change(from, to))]);
    const rows = page.groups.map((name, g) => element("tr", {},
      rowHead(name), number(whole.format(page.groupSizes[g])), cells(start[g], now[g])));
    rows[lowestGroup(now)].firstChild.append(element("span", { class: "lowest" }, " lowest"));
    rows.push(element("tr", { class: "everyone" }, rowHead("Everyone"),
      number(whole.format(sum(page.groupSizes))), cells(overall[0], overall[state.point])));
    const heads = isOne ? ["People", "Utility"] : ["People", "Start", "Now", "Change"];
    table("groups-table", [columnHead("Group", false), ...heads.map((head) => columnHead(head))], rows);
    fill("groups-heading", isOne ? "Group utilities" : "Group utilities now and at the start");
  }

  function writeClusters() {
    const rows = way().counts[state.point].map((members, k) => {
      const size = sum(members);
      const cells = members.map((count) => number([whole.format(count),
        element("span", { class: "share" }, size ? ` (${percent(100 * count / size)})` : "")]));
      return element("tr", {}, rowHead(page.clusters[k]), number(whole.format(size)), cells);
    });
    const heads = ["People", ...page.groups].map((head) => columnHead(head));
    table("clusters-table", [columnHead("Cluster", false), ...heads], rows);
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

  function writeCurves() {
    const { numbers, used, curves, names: [heading, names], texts, colour } = page.curves;
    fill("curves-legend", legendEntry("k-means", { line: colour, shape: "circle", fill: colour }),
      nowEntry("number that a curve takes"), legendEntry("clusters of this page", { line: "currentColor", dash: [2, 3] }));
    fill("curves-texts", paragraphs(texts));
    const cell = ({ values, taken }, place) => number(values[place] === null ? missing
      : [element("span", { class: "lowest" }, numbers[place] === taken ? "takes " : ""), values[place].toFixed(4)]);
    const rows = numbers.map((count, place) => element("tr", {},
      rowHead(count === used ? `${count}, used` : String(count)), curves.map((curve) => cell(curve, place)),
      element("td", { class: names[place].length > 24 ? "" : "share" }, names[place])));
    const heads = curves.map(({ title }) => columnHead(title));
    table("curves-table", [columnHead("Clusters", false), ...heads, columnHead(heading, false)], rows);
    byId("curves").hidden = false;
  }

  function writeNewPeople() {
    const { heads, rows, texts } = page.newPeople;
    fill("new-people-texts", paragraphs(texts));
    table("new-people-table", heads.map((head, place) => columnHead(head, place > 0)),
      rows.map(([name, ...cells]) => element("tr", {}, rowHead(name), cells.map((cell) => number(cell)))));
    byId("new-people").hidden = false;
  }

  function writeMoved() {
    const { flows, moved } = way();
    const count = moved[state.point];
    fill("moved-text", count === 0
      ? "At this point everyone is in the same cluster as at the start."
      : `${people(count)} ${count === 1 ? "is" : "are"} in another cluster than at the start. ` +
        (page.movesAsTable ? "The diagonal counts people who stayed." : "The table has the largest flows."));
    byId("moved-table").hidden = count === 0;
    (page.movesAsTable ? flowTable : flowList)(flows[state.point]);
  }

  function likeItem([attribute, value]) {
    const [column, level, everyone] = page.attributes[attribute];
    const isShare = level !== null;
    const name = isShare ? [element("span", { class: "column" }, column), ` ${level}`] : [column];
    return element("li", {}, ...name, ": ", element("b", {}, amount(value, isShare)),
      element("span", { class: "share" }, ` (everyone ${amount(everyone, isShare)})`));
  }

  function writeCards() {
    const { likes, counts } = way();
    fill("cards", page.clusters.map((name, k) => {
      const size = sum(counts[state.point][k]);
      const items = likes[state.point][k].map(likeItem);
      return element("article", { class: "card" },
        element("h3", {}, name, " ", element("span", { class: "people" }, people(size))),
        items.length ? element("ul", {}, items) : element("p", {}, size ? "Like everyone." : "Empty."));
    }));
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
    const level = page.groups.filter((name, g) => utility(now[g]) === lowest);
    const worst = level.length < 4 ? level.join(" and ") : `${level.length} groups`;
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
    byId("controls").hidden = page.ways.length === 1 && kind === "one";
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
    writeGroups();
    writeClusters();
    writeMoved();
    writeCards();
    describeFigures();
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
      radio.addEventListener("change", () => go(place, each.overall.length - 1));
      byId("ways").append(element("label", {}, radio, element("span", {}, each.title)));
    });
    byId("slider").addEventListener("input", (event) => go(state.way, Number(event.target.value)));
    const moves = { first: () => 0, previous: () => state.point - 1, next: () => state.point + 1, last: () => Infinity };
    for (const [id, target] of Object.entries(moves)) {
      byId(id).addEventListener("click", () => go(state.way, target()));
    }
    byId("controls").addEventListener("submit", (event) => event.preventDefault());
    byId("download").addEventListener("click", () => download().catch((error) => fill("download-note", String(error))));
  }

  // --- Download ---

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  const unpackJson = async (text) => JSON.parse(new TextDecoder().decode(await unpack(text)));

  // Keep unpacked data for the next download.
  const unpacked = {};
  async function once(key, make) {
    unpacked[key] ??= await make();
    return unpacked[key];
  }

  async function rowNumbers() {
    const { numbers, count } = page.rows;
    if (!numbers) return Array.from({ length: count }, (_, i) => String(i + 1));
    let last = 0;
    return (await unpackJson(numbers)).map((step) => String((last += step)));
  }

  async function labelsAt(place, point) {
    const Labels = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[page.labelBytes];
    const packed = page.labels[place];
    const changes = new Labels(await once(`labels ${place}`, () => unpack(packed)));
    const labels = new Labels(page.rows.count);
    for (let p = 0; p <= point; p += 1) {
      const offset = p * labels.length;
      for (let i = 0; i < labels.length; i += 1) labels[i] ^= changes[offset + i];
    }
    return labels;
  }

  // Spreadsheets run cells that start like a formula.
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

  function csvCell(value) {
    const text = /^[=+\-@\t\r]/.test(value) && !NUMBER.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  async function download() {
    const { point, way: place } = state;
    const { header, names: packed } = page.rows;
    const numbers = await once("numbers", rowNumbers);
    const names = packed && await once("names", () => unpackJson(packed));
    const labels = await labelsAt(place, point);
    const clusters = page.clusterNames.map(csvCell);
    const line = (number, name, cluster) => (packed ? [number, csvCell(name), cluster] : [number, cluster]).join(",");
    const rows = numbers.map((number, i) => line(number, packed && names[i], clusters[labels[i]]));
    const csv = [line("row", header, "cluster"), ...rows, ""].join("\r\n");
    const address = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
    const { kind, steps } = page.ways[place];
    const name = kind === "one" ? "labels.csv" : `labels-${kind}-${kind === "trajectory" ? steps[point] : point}.csv`;
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    fill("download-note", `${name}: ${whole.format(rows.length)} rows.`);
  }

  function arrange() {
    const nPanels = charts.space.length;
    byId("space").hidden = nPanels === 0;
    byId("space").classList.toggle("wide", nPanels > 1);
    byId("panels").classList.toggle("alone", nPanels === 1);
    // Put a wide table below its figure.
    byId("clusters-pair").classList.toggle("pair", page.groups.length <= 3);
  }

  async function main() {
    writeTexts();
    if (page.newPeople) writeNewPeople();
    if (page.curves) writeCurves();
    arrange();
    connectControls();
    writeLegends();
    writeSpaceLegend();
    document.querySelectorAll(".versus").forEach((part) => { part.hidden = way().kind === "one"; });
    update();
    await drawFigures();
    document.body.removeAttribute("aria-busy");
  }

  main();
})();
