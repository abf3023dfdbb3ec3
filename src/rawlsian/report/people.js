// --- Map of the people, clusters, composition ---

const latest = () => page.shown[page.shown.length - 1];

// A cluster's label and name; a cluster without a name of its own is only a label.
function clusterTitle(shown, k) {
  const name = shown.names[k];
  return name === page.clusters[k] ? `${page.clusters[k]}` : `${page.clusterNames[k]} · ${name}`;
}

// --- Map ---

const map = { by: "cluster", alone: null };
const COLOURINGS = { cluster: "Cluster", group: "Group", fit: "Fit" };

function writeMap() {
  fill("map-colours", Object.entries(COLOURINGS).map(([by, title]) => {
    const button = element("button", { type: "button", "data-by": by, "aria-pressed": by === map.by }, title);
    button.addEventListener("click", () => colourMap(by));
    return button;
  }));
  byId("maps").classList.toggle("one", page.shown.length === 1);
  fill("maps", page.shown.map(mapFigure));
  fill("map-caption", page.map.caption);
  colourMap(map.by);
}

function mapFigure({ name }, place) {
  const [width, height] = page.map.size;
  const drawing = drawn("svg", { viewBox: `-24 -24 ${width + 48} ${height + 48}`, role: "img" },
    drawn("g", { class: "dots" }), drawn("g", { class: "names" }));
  const [[left, right], [down, up]] = page.map.axes;
  const ends = [left && `← ${left}`, down && `↓ ${down}`, right && `${right} →`].map((text) => element("span", {}, text));
  const top = up ? [element("div", { class: "ends top" }, `↑ ${up}`)] : [];
  const heading = page.shown.length > 1 ? [element("h3", {}, name)] : [];
  return element("figure", { class: "map", "data-map": place }, heading, top, drawing, element("div", { class: "ends" }, ends));
}

function codesOf(place) {
  const { clusters, groups, shades } = page.map;
  return { cluster: clusters[place], group: groups, fit: shades[place] }[map.by];
}

function colourMap(by) {
  map.by = by;
  map.alone = null;
  for (const button of byId("map-colours").children) button.setAttribute("aria-pressed", button.dataset.by === by);
  fill("map-legend", by === "fit" ? fitKeys() : codeKeys());
  page.shown.forEach(drawDots);
}

const shapeAt = (x, y, shape) => ({ d: SHAPES[shape], transform: `translate(${x} ${y}) scale(2.6)` });

function drawDots(shown, place) {
  const drawing = document.querySelector(`[data-map="${place}"] > svg`);
  const codes = codesOf(place);
  const { x, y } = page.map;
  const dots = codes.map((code, i) => {
    if (map.by === "fit") return drawn("circle", { cx: x[i], cy: y[i], r: 8, class: `shade-${code}` });
    const { colour, shape } = page.looks[code];
    if (map.by === "cluster") return drawn("circle", { cx: x[i], cy: y[i], r: 8, fill: colour });
    return drawn("path", { ...shapeAt(x[i], y[i], shape), fill: colour });
  });
  drawing.querySelector(".dots").replaceChildren(...dots);
  drawing.querySelector(".names").replaceChildren(...clusterMarks(page.map.clusters[place]));
  drawing.setAttribute("aria-label", `Map of ${people(codes.length)}, ${shown.name}, coloured by ${map.by}.`);
}

function median(numbers) {
  const sorted = numbers.slice().sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

// The person nearest to the middle of some people.
function central(rows) {
  const { x, y } = page.map;
  const [a, b] = [x, y].map((places) => median(rows.map((i) => places[i])));
  const distance = (i) => (x[i] - a) ** 2 + (y[i] - b) ** 2;
  return rows.reduce((best, i) => (distance(i) < distance(best) ? i : best));
}

// The label of each cluster, on one of its people.
function clusterMarks(codes) {
  const members = new Map();
  codes.forEach((code, i) => (members.get(code) || members.set(code, []).get(code)).push(i));
  return [...members].map(([code, rows]) => {
    const i = central(rows);
    return drawn("text", { x: page.map.x[i], y: page.map.y[i] }, page.clusterNames[code].slice(0, 8));
  });
}

function fitKeys() {
  const { nShades } = page.map;
  const shades = Array.from({ length: nShades }, (_, shade) => drawn("rect", { x: 16 * shade, width: 16, height: 12, class: `shade-${shade}` }));
  return [element("li", { class: "ramp" }, element("span", {}, "close to the center"),
    drawn("svg", { width: 16 * nShades, height: 12, "aria-hidden": "true" }, shades), element("span", {}, "far from it"))];
}

// Each key shows its own dots alone.
function codeKeys() {
  const titles = map.by === "group" ? page.groups.map((_, g) => groupTitle(g))
    : latest().drawn.map((k) => clusterTitle(latest(), k));
  const codes = map.by === "group" ? [...page.groups.keys()] : latest().drawn;
  return codes.map((code, i) => {
    const { colour, shape } = page.looks[code];
    const mark = drawn("path", { d: SHAPES[map.by === "group" ? shape : "circle"], fill: colour, transform: "scale(1.5)" });
    const box = drawn("svg", { width: 16, height: 14, viewBox: "-8 -7 16 14", "aria-hidden": "true" }, mark);
    const button = element("button", { type: "button", "aria-pressed": false }, box, element("span", {}, titles[i]));
    button.addEventListener("click", () => showAlone(map.alone === code ? null : code, button));
    return element("li", {}, button);
  });
}

function showAlone(code, button) {
  map.alone = code;
  for (const other of byId("map-legend").querySelectorAll("button")) other.setAttribute("aria-pressed", other === button && code !== null);
  page.shown.forEach((_, place) => {
    const dots = document.querySelectorAll(`[data-map="${place}"] .dots > *`);
    codesOf(place).forEach((each, i) => dots[i].classList.toggle("off", code !== null && each !== code));
  });
}

// --- Clusters ---

function writeClusterCards() {
  const shown = latest();
  const isPart = shown.drawn.length < page.clusters.length;
  fill("clusters-caption", `${page.shown.length > 1 ? `The clusters of “${shown.name}”. ` : ""}` +
    "Bars run from everyone (the tick) to the people of the cluster: shares on a track from 0 to 100 %, means of numbers on one of two standard deviations either side." +
    (isPart ? ` These are the ${shown.drawn.length} largest of ${page.clusters.length} clusters.` : ""));
  fill("cards", shown.drawn.map((k) => clusterCard(shown, k)));
  fill("left-out", paragraphs(page.leftOut));
}

function clusterCard(shown, k) {
  const size = sum(shown.counts[k]);
  const bars = shown.portraits[k] || [];
  const total = sum(page.groupSizes);
  return element("article", { class: "card" },
    element("h3", {}, element("span", { class: "dot", style: `background: ${page.looks[k].colour}` }), clusterTitle(shown, k)),
    element("p", { class: "quiet" }, size ? `${people(size)}, ${percent(100 * size / total)} of everyone` : "Empty."),
    bars.length ? element("ul", { class: "likes" }, bars.map(likeItem)) : element("p", {}, size ? "Like everyone." : ""));
}

function likeItem([attribute, value, start, end]) {
  const [column, own, everyone] = page.attributes[attribute];
  const isShare = own !== null;
  const name = isShare ? [element("span", { class: "quiet" }, column), ` ${own}`] : [column];
  const x = Math.min(start, end);
  return element("li", {}, element("div", { class: "line" }, element("span", {}, name),
    element("span", {}, element("b", {}, amount(value, isShare)), element("span", { class: "quiet" }, ` everyone ${amount(everyone, isShare)}`))),
  drawn("svg", { "aria-hidden": "true" }, drawn("rect", { x: 0, y: 5, width: "100%", height: 3, rx: 1.5, class: "track" }),
    drawn("rect", { x: `${x}%`, y: 3, width: `${Math.abs(end - start)}%`, height: 7, rx: 1, class: "like" }),
    drawn("line", { x1: `${start}%`, x2: `${start}%`, y1: 0, y2: 12, class: "everyone-tick" })));
}

// --- Composition ---

function writeComposition() {
  fill("composition-legend", page.groups.map((_, g) => element("li", { "data-group": g },
    drawn("svg", { width: 22, height: 14, "aria-hidden": "true" }, patterned(page.looks[g], { width: 22, height: 14, rx: 3 })),
    element("span", {}, groupTitle(g)))));
  byId("compositions").classList.toggle("one", page.shown.length === 1);
  fill("compositions", page.shown.map(composition));
  const hasIndex = page.shown.some(({ separation }) => separation !== null);
  show("separation-text", hasIndex && page.separationText ? [page.separationText] : []);
  fill("composition-tables", page.shown.flatMap(countsTable));
}

function composition(shown) {
  const separation = shown.separation === null ? [] : [element("span", { class: "quiet" }, `separation ${index(shown.separation)}`)];
  const everyone = element("div", { class: "reference-row" }, compositionRow("Everyone", page.groupSizes));
  return element("div", { class: "composition" }, element("h3", {}, element("span", {}, shown.name), separation), everyone,
    shown.drawn.map((k) => compositionRow(clusterTitle(shown, k), shown.counts[k])));
}

function compositionRow(title, members) {
  const size = sum(members);
  return element("div", {}, element("div", { class: "line" }, element("span", {}, title), element("span", { class: "quiet" }, people(size))),
    stackedBar(members, size));
}

function stackedBar(members, size) {
  let start = 0;
  const parts = members.flatMap((count, g) => {
    if (count === 0) return [];
    const share = 100 * count / size;
    const marks = patterned(page.looks[g], { x: `${start}%`, y: 0, width: `${share}%`, height: "100%" });
    const text = hasNumbers() ? String(g + 1) : `${Math.round(share)}%`;
    if (share >= (hasNumbers() ? 4.5 : 9)) marks.push(drawn("text", { x: `${start + share / 2}%`, y: "52%", fill: page.looks[g].text, stroke: page.looks[g].colour }, text));
    start += share;
    return marks;
  });
  const said = members.map((count, g) => `${page.groups[g]} ${whole.format(count)}`).join(", ");
  return drawn("svg", { role: "img", "aria-label": size ? said : "Empty." }, parts);
}

function clusterRows(counts, title) {
  return counts.map((members, k) => {
    const size = sum(members);
    const cells = members.map((count) => number([whole.format(count),
      element("span", { class: "share" }, size ? ` (${percent(100 * count / size)})` : "")]));
    return element("tr", {}, rowHead(title(k)), number(whole.format(size)), cells);
  });
}

const clusterHeads = () => [columnHead("Cluster", false), ...["People", ...page.groups].map((head) => columnHead(head))];

function countsTable(shown) {
  return [element("h3", {}, shown.name), element("div", { class: "box", role: "region", tabindex: 0, "aria-label": `People of each cluster, ${shown.name}` },
    element("table", { class: "counts-table" }, tableParts(clusterHeads(), clusterRows(shown.counts, (k) => clusterTitle(shown, k)))))];
}
