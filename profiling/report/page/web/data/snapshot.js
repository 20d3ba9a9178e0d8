// One device of one snapshot, with the names of its blocks.
"use strict";

// Lines of readable_stack() in C++ that are no line of the program.
const kBackwardOf = "backward of";
const kOfLibtorch = "libtorch: ";

class Snapshot {
  // facts: of the whole file, as snapshot_view.cpp wrote them.
  constructor(facts, deviceNumber, packed) {
    this.facts = facts;
    this.info = facts.devices[deviceNumber];
    this.history = new MemoryHistory(packed, this.info);
    this.phases = new Phases(facts.annotations, this.history);
    this.isBeforeRecording = new Set();  // origins
    for (let block = 0; block < this.history.beforeBlocks; ++block) {
      this.isBeforeRecording.add(this.history.blockOrigin[block]);
    }
    this.peakPosition = this.info.peak_event + 1;
  }

  get hasPurposes() {
    return this.info.purposes.some((purpose) => purpose !== "");
  }

  // The page and the program computed different figures: damaged data, or a bug.
  problem() {
    let highest = 0;
    for (let i = 1; i < this.history.total.length; ++i) {
      if (this.history.total[i] > this.history.total[highest]) highest = i;
    }
    const bytes = this.history.total[highest];
    return highest === this.peakPosition && bytes === this.info.peak_bytes
      ? "" : "This page counts a peak of " + exactBytes(bytes) + " where the program counted " +
             exactBytes(this.info.peak_bytes) + ". Figures of this page may be wrong.";
  }

  groups(kind) {
    const rest = kind === "purpose" ? "other purposes" : "other lines";
    const textOf = kind === "purpose" ? (origin) => this.purposeText(origin)
                                      : (origin) => this.programLine(origin);
    return groupsByText(this.history, textOf, this.peakPosition, rest);
  }

  purposeText(origin) {
    const purpose = this.info.purposes[this.history.originPurpose[origin]];
    if (purpose !== "") return purpose.replaceAll("_", " ");
    return this.isBeforeRecording.has(origin) ? "before the recording" : "purpose not recorded";
  }

  // "layers.3.attn.q_proj.weight"; "" if the file names no tensor.
  tensorName(origin) {
    const label = this.labelText(origin);
    const colon = label.indexOf(": ");
    return colon < 0 ? "" : label.slice(colon + 2);
  }

  labelText(origin) {
    const label = this.history.originLabel[origin];
    if (label > 0) return this.facts.labels[label - 1];
    const stack = this.stackOf(origin);
    if (stack.length === 0) return "";
    const [readable, complete] = this.facts.frames[stack[0]];
    return readable === "allocated before the recording" ? complete.split("\n")[0] : "";
  }

  stackOf(origin) {
    const stack = this.history.originStack[origin];
    return stack > 0 ? this.facts.stacks[stack - 1] : [];
  }

  // [readable, complete] of each line, innermost first.
  stackTexts(origin, showFramework) {
    if (showFramework) return this.stackOf(origin).map((index) => this.facts.frames[index]);
    return this.programStack(origin).map((line) => [line, ""]);
  }

  // The program's lines, innermost first; what libtorch did stands before the line that called it.
  programStack(origin) {
    const stack = this.history.originStack[origin];
    const lines = stack > 0 ? this.facts.program_stacks[stack - 1] : [];
    const innermostFirst = [];
    let part = 0;  // where the stack of a backward, or that of its forward, begins
    for (const line of lines.map((number) => this.facts.program_lines[number])) {
      if (line === kBackwardOf) {
        innermostFirst.push(line);
        part = innermostFirst.length;
      } else if (line.startsWith(kOfLibtorch)) {
        innermostFirst.splice(part, 0, line);
      } else {
        innermostFirst.push(line);
      }
    }
    return innermostFirst;
  }

  // The innermost line of the program.
  programLine(origin) {
    if (this.isBeforeRecording.has(origin)) return "before the recording";
    const lines = this.programStack(origin);
    const own = lines.find((line) => line !== kBackwardOf && !line.startsWith(kOfLibtorch));
    if (own !== undefined) return own;
    return lines.length > 0 ? lines[0] : "no stack recorded";
  }

  // The last line of a tree's branch.
  leafText(origin) {
    const label = this.labelText(origin);
    const size = exactBytes(this.history.originSize[origin]) + " each";
    return (label === "" ? size : label + ", " + size) +
           (this.isBeforeRecording.has(origin) ? ", from before the recording" : "");
  }

  phaseOfBlock(block) {
    return this.history.isBeforeRecording(block) ? "before the recording"
                                                 : this.phases.at(this.history.blockStart[block]);
  }
}
