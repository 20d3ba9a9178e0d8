// A tree on the page: <details> elements, which keyboards and screen readers know. Children are made
// when their parent is opened.
"use strict";

const kMostChildren = 60;   // shown before "more"

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function showTree(container, root) {
  container.replaceChildren();
  if (root.count === 0) {
    container.append(element("p", {}, "Nothing is live here that contains the searched words."));
    return;
  }
  showChildren(container, root, root.bytes);
  const first = container.querySelector("details");
  if (first !== null) first.open = true;
}

function showChildren(container, node, wholeBytes) {
  const children = node.sorted();
  const list = element("ul", {class: "tree"});
  for (const child of children.slice(0, kMostChildren)) {
    list.append(element("li", {}, treeItem(child, wholeBytes)));
  }
  if (children.length > kMostChildren) {
    list.append(element("li", {}, grouped(children.length - kMostChildren) + " smaller ones are not shown"));
  }
  container.append(list);
}

function treeItem(node, wholeBytes) {
  const share = wholeBytes > 0 ? 100 * node.bytes / wholeBytes : 0;
  const bar = element("span", {class: "bar", "aria-hidden": "true"});
  bar.style.setProperty("--share", share.toFixed(1) + "%");
  const name = element("span", {class: "name"}, node.text);
  if (node.title !== "") name.title = node.title;
  const line = [bar, element("span", {class: "size"}, formatBytes(node.bytes)),
                element("span", {class: "share"}, share.toFixed(1) + " %"),
                element("span", {class: "count"}, "x " + grouped(node.count)), name];
  if (node.children.size === 0) return element("div", {class: "item"}, ...line);
  const details = element("details", {}, element("summary", {class: "item"}, ...line));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("ul") !== null) return;
    showChildren(details, node, wholeBytes);
    // A call chain without branches opens as a whole.
    const only = details.querySelectorAll(":scope > ul > li > details");
    if (only.length === 1 && node.children.size === 1) only[0].open = true;
  });
  return details;
}
