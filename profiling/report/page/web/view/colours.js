// Colours of the drawings, from the style of the page: light or dark.
"use strict";

// Blue, orange, green, pink, sky, vermilion, yellow, grey: told apart by colour-blind readers too
// (Okabe and Ito).
const kGroupColours = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8ac2b", "#8c8c8c"];

function groupColour(group) {
  return kGroupColours[group % kGroupColours.length];
}

const pageColours = new Map();

// Asking the style is slow, so the answers are kept until the scheme changes.
function pageColour(name) {
  if (!pageColours.has(name)) {
    pageColours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  }
  return pageColours.get(name);
}

// The colour as a pixel of ImageData.
function pixelOf(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}
