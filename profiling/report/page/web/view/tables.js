// Tables of the page: sorted by a click on a heading, copied as Markdown, LaTeX or CSV.
"use strict";

const kTableFormats = {
  "Markdown": (rows) => [rows[0], rows[0].map(() => "---"), ...rows.slice(1)]
    .map((cells) => "| " + cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ") + " |").join("\n"),
  "LaTeX": (rows) => "\\begin{tabular}{" + "l".repeat(rows[0].length) + "}\n\\hline\n" +
    rows.map((cells, i) => cells.map(latexText).join(" & ") + " \\\\" + (i === 0 ? " \\hline" : "")).join("\n") +
    "\n\\hline\n\\end{tabular}",
  "CSV": (rows) => rows.map((cells) => cells.map(csvText).join(",")).join("\r\n"),
};

function latexText(text) {
  const names = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"};
  return text.replace(/[\\~^&%$#_{}]/g, (character) => character in names ? names[character] : "\\" + character);
}

function csvText(text) {
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

// Programs get the exact columns too, people the readable ones.
function rowsOf(table, withExact) {
  return [...table.rows].map((row) => [...row.cells]
    .filter((cell) => withExact || !cell.classList.contains("exact"))
    .map((cell) => cell.textContent.trim().replace(/\s+/g, " ")));
}

// Numbers by value, with their unit: "1.5 GiB" is above "900 MiB".
function sortValue(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const text = cell.textContent.trim();
  const match = /^[+-]?[\d,]*\.?\d+/.exec(text);
  if (match === null) return text;
  const unit = ["KiB", "MiB", "GiB", "TiB"].indexOf(text.slice(match[0].length).trim().split(" ")[0]);
  return Number(match[0].replaceAll(",", "")) * 1024 ** (unit + 1);
}

// Missing values ("n/a", "oom") come last in both directions.
function compareCells(a, b, direction) {
  const [x, y] = [sortValue(a), sortValue(b)];
  if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;
  if (typeof x === "string") return direction * x.localeCompare(y, "en", {numeric: true});
  return direction * (x - y);
}

function sortBy(table, column) {
  const heading = table.tHead.rows[0].cells[column];
  const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => compareCells(a.cells[column], b.cells[column], direction));
  body.append(...rows);
}

async function copyText(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    // A page from file:// may lack the clipboard: the older way needs a selected text.
    const area = element("textarea", {class: "copied"});
    area.value = text;
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand("copy") ? "copied" : "cannot copy";
    area.remove();
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

function prepareTable(table) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = element("button", {type: "button", class: "sort"}, ...heading.childNodes);
    button.addEventListener("click", () => sortBy(table, column));
    heading.replaceChildren(button);
  });
  const tools = element("div", {class: "tools"}, "Copy as ");
  for (const [name, format] of Object.entries(kTableFormats)) {
    const button = element("button", {type: "button", "data-format": name}, name);
    button.addEventListener("click", () => copyText(format(rowsOf(table, name === "CSV")), button));
    tools.append(button, " ");
  }
  (table.closest(".wide") || table).after(tools);
}
