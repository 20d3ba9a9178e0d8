// Reads the packed numbers of the page: columns.h and deflated.h in profiling/report/page.
"use strict";

// The bytes of a data element.
async function inflatedBytes(id) {
  const binary = atob(document.getElementById(id).textContent);
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class ColumnReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  // A varint. Up to 28 bits by shifts, more by multiplication: JavaScript's shifts have 32 bits.
  number() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    let value = byte & 0x7f;
    let shift = 7;
    while (byte >= 0x80 && shift < 28) {
      byte = bytes[this.at++];
      value |= (byte & 0x7f) << shift;
      shift += 7;
    }
    let factor = 2 ** 28;
    while (byte >= 0x80) {
      byte = bytes[this.at++];
      value += (byte & 0x7f) * factor;
      factor *= 128;
    }
    return value;
  }

  // A whole column, as an array of the given type.
  column(ArrayType) {
    const values = new ArrayType(this.number());
    for (let i = 0; i < values.length; ++i) values[i] = this.number();
    return values;
  }

  // A column of numbers that may be negative.
  signedColumn() {
    const values = this.column(Float64Array);
    for (let i = 0; i < values.length; ++i) {
      values[i] = values[i] % 2 === 0 ? values[i] / 2 : -(values[i] + 1) / 2;
    }
    return values;
  }
}
