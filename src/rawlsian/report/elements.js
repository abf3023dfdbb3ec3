// --- Elements and numbers as text ---

const page = JSON.parse(document.getElementById("data").textContent);

const byId = (id) => document.getElementById(id);
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// The page's policy forbids attributes of style, but not to set the style itself.
function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") made.style.cssText = value;
    else made.setAttribute(name, value);
  }
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children.flat(3));
  return made;
}

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(made, attributes);
  made.append(...children.flat(3));
  return made;
}

function fill(id, ...children) {
  byId(id).replaceChildren(...children.flat());
}

function show(id, ...children) {
  if (children.flat().length === 0) return;
  byId(id).append(...children.flat());
  byId(id).hidden = false;
}

// "94 %" stays on one line, and "->" is an arrow.
const tidy = (text) => text.replaceAll("->", "→");

const paragraphs = (texts) => texts.map((text) => element("p", {}, tidy(text)));

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
// Four digits may be a year: no comma.
const long = new Intl.NumberFormat("en", { maximumFractionDigits: 0, useGrouping: "min2" });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const missing = "–";
const minus = "\u2212";

// Sums of weights need not be whole numbers.
const people = (count) => whole.format(count) + (Math.round(count) === 1 ? " person" : " people");
const level = (value) => (value === null ? missing : value.toFixed(1));
const index = (value) => value.toFixed(2);

// A number with its sign; none if it rounds to zero.
function signed(value, decimals, unit = "") {
  if (value === null) return missing;
  const text = Math.abs(value).toFixed(decimals);
  if (Number(text) === 0) return text + unit;
  return (value > 0 ? "+" : minus) + text + unit;
}

function percent(value) {
  if (value > 0 && value < 0.05) return "<0.1%";
  if (value < 100 && value >= 99.95) return ">99.9%";
  const isNearEnd = (value > 0 && value < 9.95) || (value > 99 && value < 100);
  return `${value.toFixed(isNearEnd ? 1 : 0)}%`;
}

function amount(value, isShare) {
  if (value === null) return missing;
  if (isShare) return percent(value);
  return (Math.abs(value) >= 1000 ? long : short).format(value);
}

// --- Tables ---

const number = (text, extra = "") => element("td", { class: `number ${extra}` }, text);
const rowHead = (text) => element("th", { scope: "row", class: text.length > 24 ? "long" : "" }, text);
const columnHead = (text, isNumber = true) =>
  element("th", { scope: "col", class: isNumber ? "number" : "" }, text);

function tableParts(heads, rows) {
  return [element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows)];
}

function table(id, heads, rows) {
  fill(id, tableParts(heads, rows));
}

// --- Marks and legends ---

const SHAPES = {
  circle: "M3,0A3,3,0,1,1,-3,0A3,3,0,1,1,3,0Z",
  square: "M-3,-3h6v6h-6Z",
  "triangle-up": "M0,-3.8L3.6,3H-3.6Z",
  "triangle-down": "M0,3.8L3.6,-3H-3.6Z",
  "triangle-right": "M4,0L-3.5,4V-4Z",
  cross: "M-3.6,-1.2h2.4v-2.4h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4Z",
  diamond: "M0,-4.4L3.6,0L0,4.4L-3.6,0Z",
};

// Patterns are drawn over a colour, and tell groups apart without it.
const PATTERNS = {
  rising: "M-1,7L7,-1M-1,1L1,-1M5,7L7,5",
  falling: "M-1,-1L7,7M5,-1L7,1M-1,5L1,7",
  level: "M0,3H6",
  upright: "M3,0V6",
};

function patterns() {
  const tile = { width: 6, height: 6, patternUnits: "userSpaceOnUse" };
  const lines = Object.entries(PATTERNS).map(([name, d]) => drawn("pattern", { id: `pattern-${name}`, ...tile },
    drawn("path", { d, class: "over", "stroke-width": 1.6, fill: "none" })));
  const dots = drawn("pattern", { id: "pattern-dots", ...tile },
    drawn("circle", { cx: 1.5, cy: 1.5, r: 1.2, class: "over-dot" }), drawn("circle", { cx: 4.5, cy: 4.5, r: 1.2, class: "over-dot" }));
  return drawn("svg", { width: 0, height: 0, "aria-hidden": "true", style: "position: absolute" }, drawn("defs", {}, lines, dots));
}

// A filled box in the colour and the pattern of a group.
function patterned({ colour, pattern }, place) {
  const box = drawn("rect", { ...place, fill: colour });
  return pattern === "plain" ? [box] : [box, drawn("rect", { ...place, fill: `url(#pattern-${pattern})` })];
}

function swatch(...marks) {
  return drawn("svg", { width: 30, height: 14, viewBox: "-15 -7 30 14", "aria-hidden": "true" }, marks);
}

function legendEntry(text, { line, dash = [1, 0], shape, fill: inside = "none", stroke = "none", opacity = 1 }) {
  const marks = [];
  if (line) marks.push(drawn("path", { d: "M-15,0H15", stroke: line, "stroke-width": 2, "stroke-dasharray": dash.join(" ") }));
  if (shape) marks.push(drawn("path", { d: SHAPES[shape], fill: inside, stroke, "stroke-width": 1.5, opacity }));
  return element("li", {}, swatch(marks), element("span", {}, text));
}

// Many groups are numbered in legend and bars.
const hasNumbers = () => page.groups.length > 4;
const groupTitle = (group) => (hasNumbers() ? `${group + 1} ${page.groups[group]}` : page.groups[group]);
