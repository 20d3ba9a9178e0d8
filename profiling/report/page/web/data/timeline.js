// The points of the chart: for each pixel column the highest and the lowest state in it.
"use strict";

class Timeline {
  constructor(history) {
    this.history = history;
    this.totals = new Extremes(history.total);
    this.reserved = new Extremes(history.reserved);
    this.byTime = false;
  }

  get end() {
    const {history} = this;
    return this.byTime ? Math.max(1, history.time[history.events]) : Math.max(1, history.events);
  }

  xOf(position) {
    return this.byTime ? this.history.time[position] : position;
  }

  // The state at x.
  positionAt(x) {
    if (this.byTime) return Math.max(0, lastNotAfter(this.history.time, x));
    return Math.min(this.history.events, Math.max(0, Math.floor(x)));
  }

  // At most `columns` points from x0 to x1. {x, top, low, reserved, begin}: top and low are the
  // positions of the extremes from position `begin` to the next point's.
  pointsBetween(x0, x1, columns) {
    const first = this.positionAt(x0);
    const last = this.positionAt(x1);
    const points = [];
    if (last - first < columns) {
      for (let position = first; position <= last; ++position) {
        points.push(this.point(Math.max(x0, this.xOf(position)), position, position + 1));
      }
      return points;
    }
    let begin = first;
    for (let column = 1; column <= columns; ++column) {
      const edge = column === columns ? last : this.positionAt(x0 + (x1 - x0) * column / columns);
      if (edge < begin) continue;
      points.push(this.point(Math.max(x0, this.xOf(begin)), begin, edge + 1));
      begin = edge + 1;
    }
    return points;
  }

  point(x, begin, end) {
    const reserved = this.reserved.indexOfMax(begin, end);
    return {x, begin, top: this.totals.indexOfMax(begin, end), low: this.totals.indexOfMin(begin, end),
            reserved: this.history.reserved[reserved]};
  }
}
