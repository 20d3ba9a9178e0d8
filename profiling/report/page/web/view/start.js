// Connects the page's elements with the snapshot that is shown.
"use strict";

const byId = (id) => document.getElementById(id);

class SnapshotPanel {
  constructor(snapshot) {
    this.snapshot = snapshot;
    this.tree = new LiveTree(snapshot);
    byId("colour-by").value = snapshot.hasPurposes ? "purpose" : "line";
    byId("order").value = snapshot.hasPurposes ? "purpose" : "stack";
    byId("axis").value = "event";
    byId("axis").disabled = !snapshot.history.hasTimes;
    byId("search").value = "";
    this.showFacts();
    this.showTables();
    const groups = snapshot.groups(byId("colour-by").value);
    this.overTime = new AddressesOverTime(byId("blocks"), snapshot, groups);
    this.atCursor = new AddressesAtCursor(byId("segments"), snapshot, groups);
    this.chart = new MemoryChart(byId("chart"), snapshot, groups, {
      moved: () => this.drawBlocksSoon(),
      chosen: (position) => this.showCursor(position),
      pointed: (position) => this.showPointed(position),
    });
    this.drawBlocksSoon();
    this.showLegend();
    this.showCursor(snapshot.peakPosition);
    this.connect();
  }

  connect() {
    const middle = () => (this.chart.window[0] + this.chart.window[1]) / 2;
    byId("zoom-in").onclick = () => this.chart.zoomAt(middle(), 0.5);
    byId("zoom-out").onclick = () => this.chart.zoomAt(middle(), 2);
    byId("zoom-all").onclick = () => this.chart.zoomTo(0, this.chart.timeline.end);
    byId("go-to-peak").onclick = () => this.chart.showPosition(this.snapshot.peakPosition);
    byId("colour-by").onchange = () => this.setGroups(this.snapshot.groups(byId("colour-by").value));
    byId("axis").onchange = () => this.chart.setByTime(byId("axis").value === "time");
    byId("order").onchange = byId("framework").onchange = () => this.showTree();
    byId("search").oninput = () => this.showTree();
    byId("blocks").onmousemove = (event) => this.showBlock(this.overTime.blockAt(event));
  }

  setGroups(groups) {
    this.overTime.groups = this.atCursor.groups = groups;
    this.chart.setGroups(groups);
    this.showLegend();
    this.showCursor(this.chart.cursor);
  }

  redraw() {
    pageColours.clear();
    this.chart.graph.resize();
    this.chart.redraw();
    this.drawBlocks();
    this.showLegend();
    this.showCursor(this.chart.cursor);
  }

  // Blocks take longer than a frame, so they are drawn when the chart rests.
  drawBlocksSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.drawBlocks(), 60);
  }

  drawBlocks() {
    const {x, w} = this.chart.graph.getArea();
    byId("blocks").style.marginLeft = x + "px";
    byId("blocks").style.width = w + "px";
    this.overTime.draw(this.chart.timeline, this.chart.window);
  }

  stop() {
    clearTimeout(this.timer);
    this.chart.graph.destroy();
    byId("chart").replaceWith(byId("chart").cloneNode(false));  // without its listeners
  }

  showFacts() {
    const {snapshot} = this;
    const {info, facts} = snapshot;
    const peak = element("strong", {id: "peak", "data-bytes": String(info.peak_bytes)}, exactBytes(info.peak_bytes));
    byId("facts").replaceChildren(
      "Peak of live bytes: ", peak, ", " + this.placeText(snapshot.peakPosition) + ". Most reserved: " +
      exactBytes(info.peak_reserved_bytes) + ". " + grouped(info.events) + " events, " + grouped(info.blocks) +
      " blocks; " + exactBytes(info.before_bytes) + " were live before the recording.");
    const problems = [snapshot.problem(), ...facts.problems].filter((problem) => problem !== "");
    byId("problems").replaceChildren(...problems.map((problem) => element("li", {}, problem)));
  }

  placeText(position) {
    const {history, phases} = this.snapshot;
    if (position === 0) return "before the first event";
    const phase = phases.at(position);
    return "at event " + grouped(position - 1) + " of " + grouped(history.events) +
           (history.hasTimes ? ", " + formatSeconds(history.time[position]) + " after the first" : "") +
           (phase === "" ? "" : ", in " + phase);
  }

  showLegend() {
    const items = this.chart.groups.names.map((name, group) => {
      const key = element("span", {"aria-hidden": "true"});
      key.style.setProperty("--key", groupColour(group));
      return element("li", {}, key, name);
    });
    const reserved = element("span", {"aria-hidden": "true"});
    reserved.style.setProperty("--key", pageColour("reserved"));
    byId("legend").replaceChildren(...items, element("li", {}, reserved, "reserved (line)"));
  }

  showPointed(position) {
    const {history} = this.snapshot;
    byId("pointed").textContent = formatBytes(history.total[position]) + " live, " +
      formatBytes(history.reserved[position]) + " reserved " + this.placeText(position);
  }

  showBlock(block) {
    const {snapshot} = this;
    if (block === kNone) return;
    const {history} = snapshot;
    const origin = history.blockOrigin[block];
    const end = history.blockEnd[block];
    byId("block").textContent = snapshot.leafText(origin) + ", " + snapshot.purposeText(origin) + ", live from " +
      (history.isBeforeRecording(block) ? "before the recording" : "event " + grouped(history.blockStart[block] - 1)) +
      " to " + (end > history.events ? "the end" : "event " + grouped(end - 1)) + "\n" + snapshot.programLine(origin);
  }

  showCursor(position) {
    const {history} = this.snapshot;
    byId("cursor").textContent = exactBytes(history.total[position]) + " in " +
      grouped(history.liveBlocks(position).length) + " blocks, " + this.placeText(position) +
      (position === this.snapshot.peakPosition ? ": the peak." : ".");
    this.showTree();
    const {ranges, reserved, live, holes, largestHole} = this.atCursor.draw(position);
    byId("holes").textContent = formatBytes(reserved) + " reserved in " + grouped(ranges) + " ranges, " +
      formatBytes(live) + " live (" + (reserved > 0 ? (100 * live / reserved).toFixed(1) : "0") + " %). " +
      grouped(holes) + " holes of 512 bytes or more, the largest of " + formatBytes(largestHole) + ".";
    this.showPointed(position);
  }

  showTree() {
    showTree(byId("tree"), this.tree.at(this.chart.cursor, {
      order: byId("order").value,
      showFramework: byId("framework").checked,
      search: byId("search").value,
    }));
  }

  showTables() {
    const {facts, info, history} = this.snapshot;
    fillTable(byId("settings"), ["setting", "value"], Object.entries(facts.settings).map(
      ([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]));
    const segments = facts.segments.filter((segment) => segment.device === info.device);
    byId("segment-summary").textContent = grouped(segments.length) + " segments at the end";
    fillTable(byId("segment-table"), ["address", "total", "allocated", "requested", "blocks", "stream", "pool", "kind"],
      segments.map((segment) => [segment.address, formatBytes(segment.total), formatBytes(segment.allocated),
        formatBytes(segment.requested), String(segment.blocks), segment.stream, segment.pool.join(", "),
        (segment.large ? "large" : "small") + (segment.expandable ? ", expandable" : "")]));
    const ooms = history.outOfMemory();
    if (ooms.length === 0) {
      byId("ooms").replaceChildren(element("p", {}, "None is recorded."));
      return;
    }
    const table = element("table");
    fillTable(table, ["event", "asked for", "free on the device", "live", "reserved"], ooms.map(
      ({position, size, free}) => [grouped(position - 1), exactBytes(size), exactBytes(free),
        exactBytes(history.total[position]), exactBytes(history.reserved[position])]));
    byId("ooms").replaceChildren(element("div", {class: "wide"}, table));
  }
}

function fillTable(table, headings, rows) {
  const head = element("thead", {}, element("tr", {}, ...headings.map((text) => element("th", {scope: "col"}, text))));
  const body = element("tbody", {}, ...rows.map(
    (cells) => element("tr", {}, ...cells.map((text) => element("td", {}, text)))));
  table.replaceChildren(head, body);
}

async function readFacts() {
  const facts = [];
  for (let i = 0; byId("snapshot-" + i) !== null; ++i) {
    facts.push(JSON.parse(new TextDecoder().decode(await inflatedBytes("snapshot-" + i))));
  }
  return facts;
}

let shownPanel = null;

async function startSnapshots() {
  const facts = await readFacts();
  const choices = facts.flatMap((of, file) => of.devices.map((info, device) => ({file, device, info, name: of.name})));
  const empty = facts.filter((of) => of.devices.length === 0).map((of) => of.name);
  if (empty.length > 0) byId("status").textContent = "Without blocks and events: " + empty.join(", ") + ".";
  if (choices.length === 0) return;
  byId("snapshot-choice").replaceChildren(...choices.map(({name, info}, i) =>
    element("option", {value: String(i)}, name + ", device " + info.device)));
  byId("snapshots").hidden = false;
  const show = async (choice) => {
    const {file, device} = choices[choice];
    const packed = await inflatedBytes("snapshot-" + file + "-" + device);
    if (shownPanel !== null) shownPanel.stop();
    shownPanel = new SnapshotPanel(new Snapshot(facts[file], device, packed));
  };
  byId("snapshot-choice").onchange = () => show(Number(byId("snapshot-choice").value));
  await show(0);
  let width = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    shownPanel.redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => shownPanel.redraw());
}

// Chromium prints the commands that drew a canvas, and those that cleared it erase the others on paper.
function turnIntoPixels(canvas) {
  const context = canvas.getContext("2d");
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  canvas.width = pixels.width;  // forgets the commands
  context.putImageData(pixels, 0, 0);
}

// Paper is narrow and white: drawings and tables of the screen would be cut off, or light on white.
function drawForPaper(isPaper) {
  document.documentElement.classList.toggle("paper", isPaper);
  for (const place of document.querySelectorAll(".wide")) {
    const table = place.firstElementChild;
    table.style.zoom = "";
    if (isPaper && place.scrollWidth > place.clientWidth) table.style.zoom = place.clientWidth / place.scrollWidth;
  }
  if (shownPanel === null) return;
  shownPanel.redraw();
  if (isPaper) for (const canvas of document.querySelectorAll("#chart canvas")) turnIntoPixels(canvas);
}

async function start() {
  window.addEventListener("beforeprint", () => drawForPaper(true));
  window.addEventListener("afterprint", () => drawForPaper(false));
  for (const table of document.querySelectorAll("table.sortable")) prepareTable(table);
  try {
    await startSnapshots();
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    byId("status").textContent = "The page cannot show its snapshot: " + error.message +
      ". A browser of 2023 or later is needed.";
    throw error;
  }
}

start();
