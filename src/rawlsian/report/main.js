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

// The labels of a point, from the changes between the points before it.
async function labelsAt(packed, point) {
  const Labels = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[page.labelBytes];
  const changes = new Labels(await once(packed, () => unpack(packed)));
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

async function save(labels, name, noteId) {
  const { header, names: packed } = page.rows;
  const numbers = await once("numbers", rowNumbers);
  const names = packed && await once("names", () => unpackJson(packed));
  const clusters = page.clusterNames.map(csvCell);
  const line = (number, name, cluster) => (packed ? [number, csvCell(name), cluster] : [number, cluster]).join(",");
  const rows = numbers.map((number, i) => line(number, packed && names[i], clusters[labels[i]]));
  const csv = [line("row", header, "cluster"), ...rows, ""].join("\r\n");
  const address = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  fill(noteId, `${name}: ${whole.format(rows.length)} rows.`);
}

async function downloadPoint() {
  const { point, way: place } = state;
  const { kind, steps } = page.ways[place];
  const name = kind === "one" ? "labels.csv" : `labels-${kind}-${kind === "trajectory" ? steps[point] : point}.csv`;
  await save(await labelsAt(page.labels[place], point), name, "download-note");
}

async function downloadShown() {
  const [place, point] = page.shownAt || [null, 0];
  const packed = page.shownAt ? page.labels[place] : page.shownLabels;
  await save(await labelsAt(packed, point), "labels.csv", "download-shown-note");
}

function connectDownload() {
  const button = byId("download-shown");
  button.disabled = !page.shownAt && !page.shownLabels;
  button.addEventListener("click", () => downloadShown().catch((error) => fill("download-shown-note", String(error))));
}

// --- Texts at the end ---

function noteList([heading, entries, more]) {
  const items = entries.map((entry) => element("li", {}, entry));
  if (more > 0) items.push(element("li", {}, `and ${whole.format(more)} more`));
  return [element("h3", {}, heading), element("ul", {}, items)];
}

function factLine([name, value]) {
  const isCommand = /^command/i.test(name);
  return [element("dt", {}, name), element("dd", isCommand ? { class: "command" } : {}, value)];
}

function writeEnd() {
  const facts = [...page.facts, ...page.provenance];
  fill("facts", facts.flatMap(factLine));
  show("notes", page.notes.flatMap(noteList));
  show("methods", paragraphs(page.methods));
  if (page.limits.length > 0) byId("limits").hidden = false;
  fill("limits-texts", paragraphs(page.limits));
  byId("provenance").hidden = facts.length + page.notes.length + page.methods.length === 0;
  fill("footer", `Made by rawlsian ${page.version}. This file loads nothing from the network.`);
}

function writeNewPeople() {
  const { heads, rows, texts } = page.newPeople;
  fill("new-people-texts", paragraphs(texts));
  table("new-people-table", heads.map((head, place) => columnHead(head, place > 0)),
    rows.map(([name, ...cells]) => element("tr", {}, rowHead(name), cells.map((cell) => number(cell)))));
  byId("new-people").hidden = false;
}

// Run `start` when a fold is opened first; its figures need a width to be drawn.
function onFirstOpening(id, start) {
  const fold = byId(id);
  let drawing = null;
  const open = () => {
    if (!fold.open || drawing) return drawing;
    fold.setAttribute("aria-busy", "true");
    drawing = start().then(() => fold.removeAttribute("aria-busy"));
    return drawing;
  };
  fold.addEventListener("toggle", open);
  return open();
}

async function main() {
  document.body.append(patterns());
  writeAnswer();
  writeMap();
  writeClusterCards();
  writeComposition();
  connectDownload();
  if (page.newPeople) writeNewPeople();
  if (charts) writeExplore();
  if (page.curves) writeCurves();
  writeEnd();
  await Promise.all([charts && onFirstOpening("explore", drawExplored), page.curves && onFirstOpening("curves", drawCurves)]);
  document.body.removeAttribute("aria-busy");
}

main();
