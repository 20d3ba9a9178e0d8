// The points of the chart: for each pixel column the highest and the lowest state in it.
"use strict";

const kMostKeptPoints = 20000;  // each of a few hundred bytes

class Timeline {
  constructor(history) {
    this.history = history;
    this.totals = new Extremes(history.total);
    this.reserved = new Extremes(history.reserved);
    this.setByTime(false);
  }

  setByTime(byTime) {
    this.byTime = byTime;
    this.whole = null;  // points of the overview
    this.step = 0;      // the width of a column, and the points of whole columns by their number
    this.kept = new Map();
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

  // The first position at x or after it; times are whole microseconds.
  firstFrom(x) {
    return this.byTime ? lastNotAfter(this.history.time, Math.ceil(x) - 1) + 1 : Math.ceil(x);
  }

  // About `columns` points from x0 to x1. {x, top, low, reserved, begin, end}: top and low are the
  // positions of the extremes in [begin, end). Columns begin at multiples of their width, so that a
  // pan finds most of them kept.
  pointsBetween(x0, x1, columns) {
    const first = Math.min(this.positionAt(x0), this.firstFrom(x0));  // of several at the time x0
    const last = this.positionAt(x1);
    if (last - first < columns) {
      const points = [];
      for (let position = first; position <= last; ++position) {
        points.push(this.point(Math.max(x0, this.xOf(position)), position, position + 1));
      }
      return points;
    }
    const step = (x1 - x0) / columns;
    if (Math.abs(step - this.step) > 1e-9 * step || this.kept.size > kMostKeptPoints) {
      this.step = step;
      this.kept = new Map();
    }
    return this.columnsBetween(x0, first, last, this.step, this.kept);
  }

  // From position `first`, which is drawn from x0 on, to position `last`.
  columnsBetween(x0, first, last, step, kept) {
    const points = [];
    const firstColumn = Math.floor(x0 / step);
    let begin = first;
    for (let column = firstColumn; begin <= last; ++column) {
      let point = kept.get(column);
      const edge = point === undefined ? this.firstFrom((column + 1) * step) : point.end;
      const end = Math.min(edge, last + 1);
      if (end <= begin) continue;
      if (column === firstColumn || end < edge) {
        point = this.point(Math.max(x0, this.xOf(begin)), begin, end);
      } else if (point === undefined) {
        point = this.point(this.xOf(begin), begin, end);
        kept.set(column, point);
      }
      points.push(point);
      begin = end;
    }
    return points;
  }

  // Coarse points left of x0 and right of x1. The column that x1 divides counts as one right of it.
  pointsOutside(x0, x1, columns) {
    if (this.whole === null) {
      this.whole = this.columnsBetween(0, 0, this.history.events, this.end / columns, new Map());
    }
    const before = this.whole.filter((point) => point.x < x0);
    const after = this.whole.filter((point) => point.x > x1);
    const divided = this.whole[this.whole.length - after.length - 1];
    return [before, x1 < this.end ? [{...divided, x: x1}, ...after] : []];
  }

  point(x, begin, end) {
    const reserved = this.reserved.indexOfMax(begin, end);
    return {x, begin, end, top: this.totals.indexOfMax(begin, end), low: this.totals.indexOfMin(begin, end),
            reserved: this.history.reserved[reserved]};
  }
}
