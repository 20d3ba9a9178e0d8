// The memory of one device after each event: unpacks what history.cpp packed.
//
// A position is a state: position 0 is before the first event, position n after n events.
"use strict";

const kNone = -1;
const EventKind = {noChange: 0, alloc: 1, free: 2, replace: 3, reserve: 4, release: 5, oom: 6};

class MemoryHistory {
  // info: the device's figures; the rest of its facts are in the packed bytes.
  constructor(bytes, info) {
    const reader = new ColumnReader(bytes);
    this.info = info;
    this.originSize = reader.signedColumn();
    this.originStack = reader.column(Int32Array);  // number + 1; 0 = none
    this.originLabel = reader.column(Int32Array);  // likewise
    this.originPurpose = reader.column(Int32Array);
    this.addresses = runningSum(reader.column(Float64Array));
    const beforeOrigin = reader.column(Int32Array);
    const beforeAddress = reader.column(Int32Array);
    this.beforeBlocks = beforeOrigin.length;
    this.reservedBegin = reader.column(Float64Array);
    this.reservedSize = reader.signedColumn();
    this.kind = reader.column(Uint8Array);
    const timeChange = reader.signedColumn();
    const allocOrigin = reader.column(Int32Array);
    const allocAddress = reader.column(Int32Array);
    const freeDistance = reader.column(Int32Array);
    this.rangeBegin = reader.column(Float64Array);  // of events that reserve or release memory
    this.rangeSize = reader.signedColumn();
    this.oomSize = reader.signedColumn();
    this.oomFree = reader.column(Float64Array);
    this.events = this.kind.length;
    this.blockOrigin = joined(Int32Array, beforeOrigin, allocOrigin);
    this.blockAddress = joined(Int32Array, beforeAddress, allocAddress);  // numbers of addresses
    this.blockStart = new Int32Array(this.blockOrigin.length);  // position of the alloc
    this.blockEnd = new Int32Array(this.blockOrigin.length).fill(this.events + 1);
    this.replay(freeDistance);
    this.time = this.latestTimes(timeChange);
  }

  // Adds up the bytes after each event, and notes the blocks that it allocates and frees.
  replay(freeDistance) {
    const positions = this.events + 1;
    this.total = new Float64Array(positions);
    this.reserved = new Float64Array(positions);
    this.allocated = new Int32Array(positions).fill(kNone);  // block that the event allocates
    this.freed = new Int32Array(positions).fill(kNone);
    let bytes = 0;
    for (let block = 0; block < this.beforeBlocks; ++block) bytes += this.sizeOf(block);
    let reserved = this.reservedSize.reduce((sum, size) => sum + size, 0);
    this.total[0] = bytes;
    this.reserved[0] = reserved;
    let next = this.beforeBlocks;
    let frees = 0;
    let ranges = 0;
    for (let position = 1; position < positions; ++position) {
      const kind = this.kind[position - 1];
      if (kind === EventKind.free || kind === EventKind.replace) {
        const block = next - freeDistance[frees++];
        this.freed[position] = block;
        this.blockEnd[block] = position;
        bytes -= this.sizeOf(block);
      }
      if (kind === EventKind.alloc || kind === EventKind.replace) {
        this.allocated[position] = next;
        this.blockStart[next] = position;
        bytes += this.sizeOf(next++);
      }
      if (kind === EventKind.reserve) reserved += this.rangeSize[ranges++];
      if (kind === EventKind.release) reserved -= this.rangeSize[ranges++];
      this.total[position] = bytes;
      this.reserved[position] = reserved;
    }
  }

  // Microseconds since the first event; never falls, so that times can be searched.
  latestTimes(changes) {
    const time = new Float64Array(this.events + 1);
    let now = 0;
    for (let i = 0; i < this.events; ++i) {
      now += changes[i];
      time[i + 1] = Math.max(time[i], now);
    }
    return time;
  }

  // Snapshots of old versions of PyTorch have no times.
  get hasTimes() {
    return this.time[this.events] > 0;
  }

  sizeOf(block) {
    return this.originSize[this.blockOrigin[block]];
  }

  isLive(block, position) {
    return this.blockStart[block] <= position && position < this.blockEnd[block];
  }

  isBeforeRecording(block) {
    return block < this.beforeBlocks;
  }

  // Numbers of the blocks live at the position.
  liveBlocks(position) {
    const live = [];
    for (let block = 0; block < this.blockOrigin.length && this.blockStart[block] <= position; ++block) {
      if (position < this.blockEnd[block]) live.push(block);
    }
    return live;
  }

  // The reserved ranges at the position, in the order of their addresses: [{begin, size}].
  reservedRanges(position) {
    const ranges = new Map();
    this.reservedBegin.forEach((begin, i) => ranges.set(begin, this.reservedSize[i]));
    let next = 0;
    for (let event = 0; event < position && next < this.rangeBegin.length; ++event) {
      const kind = this.kind[event];
      if (kind === EventKind.reserve) ranges.set(this.rangeBegin[next], this.rangeSize[next]);
      if (kind === EventKind.release) removeRange(ranges, this.rangeBegin[next], this.rangeSize[next]);
      if (kind === EventKind.reserve || kind === EventKind.release) ++next;
    }
    return [...ranges].map(([begin, size]) => ({begin, size})).sort((a, b) => a.begin - b.begin);
  }

  // [{position, size, free}] of the allocations that failed.
  outOfMemory() {
    const found = [];
    for (let event = 0; found.length < this.oomSize.length; ++event) {
      if (this.kind[event] !== EventKind.oom) continue;
      const i = found.length;
      found.push({position: event + 1, size: this.oomSize[i], free: this.oomFree[i]});
    }
    return found;
  }
}

function removeRange(ranges, begin, size) {
  const end = begin + size;
  for (const [other, otherSize] of [...ranges]) {
    const otherEnd = other + otherSize;
    if (otherEnd <= begin || end <= other) continue;
    ranges.delete(other);
    if (other < begin) ranges.set(other, begin - other);
    if (end < otherEnd) ranges.set(end, otherEnd - end);
  }
}

function runningSum(values) {
  for (let i = 1; i < values.length; ++i) values[i] += values[i - 1];
  return values;
}

function joined(ArrayType, first, second) {
  const both = new ArrayType(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
