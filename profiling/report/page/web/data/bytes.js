// Quantities as text, as the program prints them (text/quantity.h).
"use strict";

function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return (unit === 0 ? String(value) : value.toFixed(3)) + " " + units[unit];
}

function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function exactBytes(bytes) {
  return formatBytes(bytes) + " (" + grouped(bytes) + " bytes)";
}

function formatSeconds(microseconds) {
  if (microseconds < 1000) return microseconds + " us";
  if (microseconds < 1e6) return (microseconds / 1e3).toFixed(3) + " ms";
  return (microseconds / 1e6).toFixed(6) + " s";
}
