// Blocks at their addresses: over time, and at the cursor. Empty space inside a reserved range is a
// hole. No chart library draws a million rectangles, so this writes pixels.
"use strict";

// Places all ranges that were ever reserved one after another, so that only reserved addresses take
// space.
class AddressLayout {
  constructor(history) {
    const all = [...history.reservedBegin].map((begin, i) => [begin, begin + history.reservedSize[i]]);
    history.rangeBegin.forEach((begin, i) => all.push([begin, begin + history.rangeSize[i]]));
    all.sort((a, b) => a[0] - b[0]);
    this.begins = [];
    this.ends = [];
    for (const [begin, end] of all) {
      const last = this.ends.length - 1;
      if (last >= 0 && begin <= this.ends[last]) {
        this.ends[last] = Math.max(this.ends[last], end);
      } else {
        this.begins.push(begin);
        this.ends.push(end);
      }
    }
    this.offsets = [];
    this.bytes = 0;
    this.begins.forEach((begin, i) => {
      this.offsets.push(this.bytes);
      this.bytes += this.ends[i] - begin;
    });
    this.offsetOfNumber = Float64Array.from(history.addresses, (address) => this.offsetOf(address));
  }

  // NaN outside of every range.
  offsetOf(address) {
    const range = lastNotAfter(this.begins, address);
    return range < 0 || address >= this.ends[range] ? NaN : this.offsets[range] + address - this.begins[range];
  }
}

// A canvas as wide as its place, with its pixels.
function pixelsOf(canvas, height) {
  const width = Math.max(1, canvas.clientWidth);
  canvas.width = width;
  canvas.height = height;
  const image = new ImageData(width, height);
  return {image, width, height, cells: new Uint32Array(image.data.buffer)};
}

function fillCells({cells, width, height}, x0, x1, y0, y1, pixel) {
  const left = Math.max(0, Math.floor(x0));
  const right = Math.min(width, Math.max(left + 1, Math.floor(x1)));
  const bottom = Math.min(height, Math.max(Math.floor(y0) + 1, Math.floor(y1)));
  for (let y = Math.max(0, Math.floor(y0)); y < bottom; ++y) cells.fill(pixel, y * width + left, y * width + right);
}

class AddressesOverTime {
  constructor(canvas, snapshot, groups) {
    this.canvas = canvas;
    this.snapshot = snapshot;
    this.groups = groups;
    this.layout = new AddressLayout(snapshot.history);
  }

  draw(timeline, [x0, x1]) {
    const {history} = this.snapshot;
    const pixels = pixelsOf(this.canvas, 260);
    const colours = this.groups.names.map((_, group) => pixelOf(groupColour(group)));
    this.xScale = pixels.width / (x1 - x0);
    this.yScale = pixels.height / Math.max(1, this.layout.bytes);
    this.timeline = timeline;
    this.window = [x0, x1];
    for (let block = 0; block < history.blockOrigin.length; ++block) {
      const left = (timeline.xOf(history.blockStart[block]) - x0) * this.xScale;
      const right = (timeline.xOf(Math.min(history.events, history.blockEnd[block])) - x0) * this.xScale;
      const top = this.layout.offsetOfNumber[history.blockAddress[block]] * this.yScale;
      if (right < 0 || left > pixels.width || Number.isNaN(top)) continue;
      fillCells(pixels, left, right, top, top + history.sizeOf(block) * this.yScale, colours[this.groups.of(block)]);
    }
    this.canvas.getContext("2d").putImageData(pixels.image, 0, 0);
  }

  // The block under the pointer; kNone in a hole.
  blockAt(event) {
    if (this.timeline === undefined) return kNone;
    const {history} = this.snapshot;
    const position = this.timeline.positionAt(this.window[0] + event.offsetX / this.xScale);
    const offset = event.offsetY / this.yScale;
    for (let block = history.blockOrigin.length - 1; block >= 0; --block) {
      const begin = this.layout.offsetOfNumber[history.blockAddress[block]];
      if (history.isLive(block, position) && begin <= offset && offset < begin + history.sizeOf(block)) return block;
    }
    return kNone;
  }
}

// The reserved ranges at one position with their blocks, as lines of text with words.
class AddressesAtCursor {
  constructor(canvas, snapshot, groups) {
    this.canvas = canvas;
    this.snapshot = snapshot;
    this.groups = groups;
  }

  // Returns {ranges, reserved, live, holes, largestHole}.
  draw(position) {
    const {history} = this.snapshot;
    const ranges = history.reservedRanges(position);
    const blocks = history.liveBlocks(position)
      .map((block) => ({block, begin: history.addresses[history.blockAddress[block]], size: history.sizeOf(block)}))
      .sort((a, b) => a.begin - b.begin);
    this.paint(ranges, blocks);
    return this.count(ranges, blocks);
  }

  paint(ranges, blocks) {
    const kLines = 12;
    const kLineHeight = 18;
    const whole = ranges.reduce((sum, range) => sum + range.size, 0);
    const longest = ranges.reduce((most, range) => Math.max(most, range.size), 1);
    const perLine = Math.max(longest, whole / kLines);
    const places = [];
    let line = 0;
    let used = 0;
    for (const range of ranges) {
      if (used > 0 && used + range.size > perLine) {
        ++line;
        used = 0;
      }
      places.push({...range, line, offset: used});
      used += range.size;
    }
    const pixels = pixelsOf(this.canvas, (line + 1) * kLineHeight);
    const scale = pixels.width / perLine;
    const hole = pixelOf(pageColour("hole"));
    for (const {offset, size, line: at} of places) {
      const top = at * kLineHeight;
      fillCells(pixels, offset * scale, (offset + size) * scale - 1, top, top + kLineHeight - 3, hole);
    }
    const begins = places.map((place) => place.begin);
    for (const {block, begin, size} of blocks) {
      const place = places[lastNotAfter(begins, begin)];
      if (place === undefined) continue;
      const left = (place.offset + begin - place.begin) * scale;
      fillCells(pixels, left, left + size * scale, place.line * kLineHeight, (place.line + 1) * kLineHeight - 3,
                pixelOf(groupColour(this.groups.of(block))));
    }
    this.canvas.getContext("2d").putImageData(pixels.image, 0, 0);
  }

  // Gaps between blocks of a range, and at its ends. Below 512 bytes a gap is the allocator's rounding.
  count(ranges, blocks) {
    const kRounding = 512;
    const result = {ranges: ranges.length, reserved: 0, live: 0, holes: 0, largestHole: 0};
    let next = 0;
    const add = (gap) => {
      if (gap < kRounding) return;
      ++result.holes;
      result.largestHole = Math.max(result.largestHole, gap);
    };
    for (const {begin, size} of ranges) {
      let end = begin;
      while (next < blocks.length && blocks[next].begin < begin + size) {
        add(blocks[next].begin - end);
        end = Math.max(end, blocks[next].begin + blocks[next].size);
        result.live += blocks[next++].size;
      }
      add(begin + size - end);
      result.reserved += size;
    }
    return result;
  }
}
