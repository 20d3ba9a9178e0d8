// The blocks that are live at one position, as a tree: by call stack, or by purpose and tensor.
"use strict";

class TreeNode {
  constructor(text, title) {
    this.text = text;
    this.title = title;  // the complete name
    this.bytes = 0;
    this.count = 0;
    this.children = new Map();
  }

  child(text, title) {
    let node = this.children.get(text);
    if (node === undefined) this.children.set(text, node = new TreeNode(text, title));
    return node;
  }

  // Largest first.
  sorted() {
    return [...this.children.values()].sort((a, b) => b.bytes - a.bytes);
  }
}

class LiveTree {
  constructor(view) {
    this.view = view;
    this.searchTexts = new Map();  // by origin
  }

  // options: {order: "stack"|"innermost"|"purpose"|"size", showFramework, search}.
  at(position, options) {
    const {history} = this.view;
    const root = new TreeNode("", "");
    const words = options.search.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const paths = new Map();
    for (const block of history.liveBlocks(position)) {
      const origin = history.blockOrigin[block];
      if (!words.every((word) => this.searchText(origin).includes(word))) continue;
      const phase = options.order === "purpose" ? this.view.phaseOfBlock(block) : "";
      const key = origin + " " + phase;
      let path = paths.get(key);
      if (path === undefined) paths.set(key, path = this.path(origin, phase, options));
      this.add(root, path, history.sizeOf(block));
    }
    return root;
  }

  add(root, path, size) {
    let node = root;
    node.bytes += size;
    ++node.count;
    for (const [text, title] of path) {
      node = node.child(text, title);
      node.bytes += size;
      ++node.count;
    }
  }

  // [text, title] from the root to the leaf.
  path(origin, phase, options) {
    const leaf = [this.view.leafText(origin), ""];
    if (options.order === "purpose") return [...this.purposePath(origin, phase), leaf];
    const stack = this.view.stackTexts(origin, options.showFramework);
    if (options.order === "size") {
      const size = formatBytes(this.view.history.originSize[origin]);
      return [[size + " each, " + (stack.length > 0 ? stack[0][0] : leaf[0]), ""], ...stack, leaf];
    }
    if (options.order === "stack") stack.reverse();
    return [...stack, leaf];
  }

  purposePath(origin, phase) {
    const purpose = this.view.purposeText(origin);
    const tensor = this.view.tensorName(origin);
    if (tensor === "") {
      const line = this.view.programLine(origin);
      return [[purpose, ""], [phase === "" ? "outside of any phase" : phase, ""], [line, ""]];
    }
    const block = /^(.*?\.?\d+)\.(.*)$/.exec(tensor);  // "layers.3" of "layers.3.attn.q_proj.weight"
    return block === null ? [[purpose, ""], [tensor, ""]]
                          : [[purpose, ""], [block[1], ""], [block[2], ""]];
  }

  searchText(origin) {
    let text = this.searchTexts.get(origin);
    if (text === undefined) {
      const stack = this.view.stackTexts(origin, true).map(([readable, title]) => readable + " " + title);
      text = [this.view.purposeText(origin), this.view.tensorName(origin), ...stack].join("\n").toLowerCase();
      this.searchTexts.set(origin, text);
    }
    return text;
  }
}
