// The parts of the live bytes at any position: by purpose, or by the program's line of code.
"use strict";

const kCheckpointEvery = 64;   // positions between two stored sums
const kMostGroups = 8;         // colours that a reader can tell apart

class Groups {
  // names: of the groups; groupOf: the group of each origin.
  constructor(history, names, groupOf) {
    this.history = history;
    this.names = names;
    this.groupOf = groupOf;
    const count = names.length;
    const sums = new Float64Array(count);
    for (let block = 0; block < history.beforeBlocks; ++block) {
      sums[groupOf[history.blockOrigin[block]]] += history.sizeOf(block);
    }
    this.checkpoints = new Float64Array(count * (Math.floor(history.events / kCheckpointEvery) + 1));
    for (let position = 0; position <= history.events; ++position) {
      this.apply(position, sums);
      if (position % kCheckpointEvery === 0) {
        this.checkpoints.set(sums, count * (position / kCheckpointEvery));
      }
    }
  }

  apply(position, sums) {
    const {history, groupOf} = this;
    const freed = history.freed[position];
    const allocated = history.allocated[position];
    if (freed !== kNone) sums[groupOf[history.blockOrigin[freed]]] -= history.sizeOf(freed);
    if (allocated !== kNone) sums[groupOf[history.blockOrigin[allocated]]] += history.sizeOf(allocated);
  }

  // Bytes of each group.
  at(position) {
    const count = this.names.length;
    const checkpoint = Math.floor(position / kCheckpointEvery);
    const sums = this.checkpoints.slice(count * checkpoint, count * (checkpoint + 1));
    for (let i = checkpoint * kCheckpointEvery + 1; i <= position; ++i) this.apply(i, sums);
    return sums;
  }

  of(block) {
    return this.groupOf[this.history.blockOrigin[block]];
  }
}

// Groups by a text of each origin: the largest at the peak have a colour, the others share one.
function groupsByText(history, textOf, peakPosition, restName) {
  const bytes = new Map();
  const texts = Array.from(history.originSize, (_, origin) => textOf(origin));
  for (const text of texts) bytes.set(text, 0);
  for (const block of history.liveBlocks(peakPosition)) {
    const text = texts[history.blockOrigin[block]];
    bytes.set(text, bytes.get(text) + history.sizeOf(block));
  }
  const names = [...bytes].sort((a, b) => b[1] - a[1]).map(([text]) => text);
  const kept = names.length <= kMostGroups ? names : [...names.slice(0, kMostGroups - 1), restName];
  const number = new Map(kept.map((name, i) => [name, i]));
  const rest = kept.length - 1;
  return new Groups(history, kept, Int32Array.from(texts, (text) => number.has(text) ? number.get(text) : rest));
}
