// Memory over time: dygraphs draws axes, zoom, pan and the overview; the areas are painted here.
"use strict";

const kOverviewPoints = 600;  // of the overview below the chart

class MemoryChart {
  // listeners: {moved(x0, x1), chosen(position), pointed(position)}.
  constructor(container, snapshot, groups, listeners) {
    this.container = container;
    this.snapshot = snapshot;
    this.timeline = new Timeline(snapshot.history);
    this.groups = groups;
    this.listeners = listeners;
    this.cursor = snapshot.peakPosition;
    this.window = [0, this.timeline.end];
    this.graph = new Dygraph(container, this.rows(), this.options());
    this.container.addEventListener("wheel", (event) => this.onWheel(event), {passive: false});
    this.container.addEventListener("keydown", (event) => this.onKey(event));
  }

  options() {
    return {
      labels: ["x", "live", "lowest live", "reserved"],
      legend: "never",
      stepPlot: true,
      includeZero: true,
      interactionModel: Dygraph.defaultInteractionModel,  // with a range selector a drag would pan
      showRangeSelector: true,
      rangeSelectorHeight: 36,
      rangeSelectorPlotStrokeColor: groupColour(0),
      rangeSelectorPlotFillColor: groupColour(0),
      rangeSelectorAlpha: 0.7,
      highlightCircleSize: 0,
      labelsKMG2: true,
      dateWindow: this.window,
      colors: [groupColour(0), pageColour("ink"), pageColour("reserved")],
      series: {
        "live": {plotter: (e) => this.paintAreas(e), showInRangeSelector: true},
        "lowest live": {strokeWidth: 0.5},
        "reserved": {strokeWidth: 1.5},
      },
      axes: {
        x: {axisLabelFormatter: (x) => this.xText(x), pixelsPerLabel: 90},
        y: {axisLabelFormatter: (bytes) => formatBytes(bytes).replace(".000", ""), axisLabelWidth: 72},
      },
      axisLineColor: pageColour("line"),
      gridLineColor: pageColour("line"),
      underlayCallback: (context, area, graph) => this.paintPhases(context, area, graph),
      drawCallback: () => this.onDraw(),
      clickCallback: (event, x) => this.choose(this.positionNear(x)),
      highlightCallback: (event, x) => this.listeners.pointed(this.positionNear(x)),
      unhighlightCallback: () => this.listeners.pointed(this.cursor),
    };
  }

  xText(x) {
    return this.timeline.byTime ? formatSeconds(Math.round(x)) : grouped(Math.round(x));
  }

  // The points of the window, and coarser ones on both sides of it.
  rows() {
    const [x0, x1] = this.window;
    const {timeline} = this;
    const [before, after] = timeline.pointsOutside(x0, x1, kOverviewPoints);
    this.points = timeline.pointsBetween(x0, x1, Math.max(200, this.container.clientWidth));
    const {total} = timeline.history;
    const rows = [...before, ...this.points, ...after].map(
      (point) => [point.x, total[point.top], total[point.low], point.reserved]);
    // A step needs an end.
    rows.push([timeline.end, ...rows[rows.length - 1].slice(1)]);
    return rows;
  }

  onDraw() {
    if (this.graph === undefined) return;  // the first drawing, inside the constructor
    const [x0, x1] = this.graph.xAxisRange();
    if (x0 === this.window[0] && x1 === this.window[1]) return;
    this.window = [Math.max(0, x0), Math.min(this.timeline.end, x1)];
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.update();
    });
  }

  // Draws the window anew, with a point for each pixel column.
  update(more = {}) {
    this.graph.updateOptions({file: this.rows(), dateWindow: this.window, ...more});
    this.listeners.moved(...this.window);
  }

  redraw() {
    this.update({colors: this.options().colors, axisLineColor: pageColour("line"), gridLineColor: pageColour("line")});
  }

  setGroups(groups) {
    this.groups = groups;
    this.update();
  }

  setByTime(byTime) {
    const [first, last] = this.window.map((x) => this.timeline.positionAt(x));
    const isAll = this.window[0] === 0 && this.window[1] === this.timeline.end;
    this.timeline.setByTime(byTime);
    const window = [this.timeline.xOf(first), this.timeline.xOf(last)];
    this.window = isAll || window[0] === window[1] ? [0, this.timeline.end] : window;
    this.update();
  }

  // The highest state in the pixel column at x.
  positionNear(x) {
    const index = Math.max(0, lastNotAfter(this.points.map((point) => point.x), x));
    return this.points[index].top;
  }

  choose(position) {
    this.cursor = position;
    this.listeners.chosen(position);
    this.graph.updateOptions({});
  }

  zoomTo(x0, x1) {
    const width = Math.min(this.timeline.end, Math.max(this.timeline.byTime ? 1 : 4, x1 - x0));
    const begin = Math.min(Math.max(0, x0), this.timeline.end - width);
    this.window = [begin, begin + width];
    this.update({valueRange: null});  // and all of the height, after a vertical zoom
  }

  // factor < 1 zooms in; x stays at its place.
  zoomAt(x, factor) {
    const [x0, x1] = this.window;
    this.zoomTo(x - (x - x0) * factor, x + (x1 - x) * factor);
  }

  pan(share) {
    const step = (this.window[1] - this.window[0]) * share;
    this.zoomTo(this.window[0] + step, this.window[1] + step);
  }

  showPosition(position) {
    const x = this.timeline.xOf(position);
    const width = this.window[1] - this.window[0];
    if (x < this.window[0] || x > this.window[1]) this.zoomTo(x - width / 2, x + width / 2);
    this.choose(position);
  }

  onWheel(event) {
    if (!event.ctrlKey && !event.shiftKey && this.container !== document.activeElement) return;
    event.preventDefault();
    const x = this.graph.toDataXCoord(event.offsetX);
    this.zoomAt(x, event.deltaY > 0 ? 1.25 : 0.8);
  }

  onKey(event) {
    const middle = (this.window[0] + this.window[1]) / 2;
    const {events} = this.timeline.history;
    const actions = {
      "ArrowLeft": () => this.pan(-0.2),
      "ArrowRight": () => this.pan(0.2),
      "+": () => this.zoomAt(middle, 0.5),
      "-": () => this.zoomAt(middle, 2),
      "0": () => this.zoomTo(0, this.timeline.end),
      "p": () => this.showPosition(this.snapshot.peakPosition),
      ",": () => this.showPosition(Math.max(0, this.cursor - 1)),
      ".": () => this.showPosition(Math.min(events, this.cursor + 1)),
    };
    const action = actions[event.key];
    if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  // graph: this.graph, which is not there yet at the first drawing.
  paintPhases(context, area, graph) {
    const {timeline, snapshot} = this;
    context.fillStyle = pageColour("muted");
    context.strokeStyle = pageColour("line");
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "left";
    for (const {name, begin, end} of snapshot.phases.outermost) {
      const xs = [begin, Math.min(end, timeline.history.time[timeline.history.events])].map(
        (time) => timeline.byTime ? time : Math.max(0, lastNotAfter(timeline.history.time, time)));
      const [left, right] = xs.map((x) => graph.toDomXCoord(x));
      if (right < area.x || left > area.x + area.w) continue;
      context.beginPath();
      context.moveTo(left, area.y);
      context.lineTo(left, area.y + area.h);
      context.stroke();
      const visible = Math.min(right, area.x + area.w) - Math.max(left, area.x);
      if (visible > context.measureText(name).width + 8) {
        context.fillText(name, Math.max(left, area.x) + 4, area.y + 12);
      }
    }
  }

  // The bytes of each group at the point's highest moment; kept with the point.
  sumsOf(point) {
    if (point.groups !== this.groups) {
      point.groups = this.groups;
      point.sums = this.groups.at(point.top);
    }
    return point.sums;
  }

  paintAreas(e) {
    const {drawingContext: context, plotArea: area, dygraph: graph} = e;
    const {history} = this.snapshot;
    const edges = this.points.map((point) => graph.toDomXCoord(point.x));
    edges.push(graph.toDomXCoord(this.window[1]));
    const tops = this.points.map(() => 0);
    const sums = this.points.map((point) => this.sumsOf(point));
    const zero = graph.toDomYCoord(0, 0);
    const perByte = (graph.toDomYCoord(2 ** 40, 0) - zero) / 2 ** 40;
    const yOf = (bytes) => zero + bytes * perByte;
    this.groups.names.forEach((name, group) => {
      context.beginPath();
      sums.forEach((bytes, i) => {
        if (bytes[group] <= 0) return;
        const bottom = yOf(tops[i]);
        tops[i] += bytes[group];
        const width = Math.max(1, edges[i + 1] - edges[i]);
        context.rect(edges[i], yOf(tops[i]), width, bottom - yOf(tops[i]));
      });
      context.fillStyle = groupColour(group);
      context.fill();
    });
    this.container.dataset.drawnPeak = String(Math.max(...tops));
    const mark = (position, text) => this.paintMarker(context, area, graph, position, text);
    mark(this.cursor, "");
    mark(this.snapshot.peakPosition, "peak " + formatBytes(history.total[this.snapshot.peakPosition]));
    for (const {position, size} of history.outOfMemory()) mark(position, "out of memory: " + formatBytes(size));
  }

  // A line at the position, with a dot at its bytes where it has a text.
  paintMarker(context, area, graph, position, text) {
    const x = graph.toDomXCoord(this.timeline.xOf(position));
    if (x < area.x - 1 || x > area.x + area.w + 1) return;
    context.strokeStyle = context.fillStyle = pageColour("ink");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, area.y);
    context.lineTo(x, area.y + area.h);
    context.stroke();
    if (text === "") return;
    const y = graph.toDomYCoord(this.snapshot.history.total[position], 0);
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fill();
    context.font = "bold 13px system-ui, sans-serif";
    const isRight = x > area.x + area.w / 2;
    context.textAlign = isRight ? "right" : "left";
    context.fillText(text, x + (isRight ? -8 : 8), Math.max(area.y + 26, y - 6));
  }
}
