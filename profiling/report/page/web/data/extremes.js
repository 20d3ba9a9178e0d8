// The largest and the smallest value of any range, without reading all of it.
"use strict";

const kFanOut = 16;  // values of a level that the next level sums up

class Extremes {
  constructor(values) {
    this.values = values;
    this.highest = this.levels(1);
    this.lowest = this.levels(-1);
  }

  // Level by level the index of the best value of each kFanOut values of the level below. sign: 1 for
  // the largest, -1 for the smallest.
  levels(sign) {
    const {values} = this;
    const levels = [];
    let count = values.length;
    let below = null;
    while (count > kFanOut) {
      const level = new Int32Array(Math.ceil(count / kFanOut));
      for (let i = 0; i < level.length; ++i) {
        const end = Math.min(count, (i + 1) * kFanOut);
        let best = below === null ? i * kFanOut : below[i * kFanOut];
        for (let j = i * kFanOut + 1; j < end; ++j) {
          const index = below === null ? j : below[j];
          if (sign * values[index] > sign * values[best]) best = index;
        }
        level[i] = best;
      }
      levels.push(level);
      below = level;
      count = level.length;
    }
    return levels;
  }

  // The first index of the largest value in [begin, end).
  indexOfMax(begin, end) {
    return this.search(begin, end, this.highest, 1);
  }

  indexOfMin(begin, end) {
    return this.search(begin, end, this.lowest, -1);
  }

  search(begin, end, levels, sign) {
    const {values} = this;
    let best = begin;
    let at = begin;
    while (at < end) {
      let level = -1;  // of single values
      let width = 1;
      while (level + 1 < levels.length && at % (width * kFanOut) === 0 && at + width * kFanOut <= end) {
        ++level;
        width *= kFanOut;
      }
      const index = level < 0 ? at : levels[level][at / width];
      if (sign * values[index] > sign * values[best]) best = index;
      at += width;
    }
    return best;
  }
}
