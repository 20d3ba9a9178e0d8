// The program's phases: the annotations of the snapshot, by position.
"use strict";

class Phases {
  constructor(annotations, history) {
    const {device, first_time_us: first} = history.info;
    const changes = annotations
      .filter(([, , of]) => of < 0 || of === device)
      // Like phase_times.cpp: an event in the microsecond in which a phase ends belongs to it.
      .map(([name, isStart, , time]) => ({name, isStart, time: time - first + (isStart ? 0 : 1)}))
      .sort((a, b) => a.time - b.time);
    this.history = history;
    this.times = [];   // at which the innermost phase changes
    this.names = [];   // the innermost phase from then on; "" outside of any
    this.outermost = [];  // [{name, begin, end}], times
    const open = [];
    for (const {name, isStart, time} of changes) {
      if (isStart) {
        if (open.length === 0) this.outermost.push({name, begin: time, end: Infinity});
        open.push(name);
      } else {
        const last = open.lastIndexOf(name);
        if (last >= 0) open.splice(last, 1);
        if (last >= 0 && open.length === 0) this.outermost[this.outermost.length - 1].end = time;
      }
      this.times.push(time);
      this.names.push(open.length > 0 ? open[open.length - 1] : "");
    }
  }

  // The innermost phase at a position; "" outside of any.
  at(position) {
    if (position === 0) return "";
    const index = lastNotAfter(this.times, this.history.time[position]);
    return index < 0 ? "" : this.names[index];
  }
}

// The last index whose value is not above `value`; -1 if there is none. Values do not fall.
function lastNotAfter(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
