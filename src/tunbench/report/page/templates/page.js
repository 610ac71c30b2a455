"use strict";
// Sorts tables, filters the page, moves between the rows of charts, and tells what they say. Nothing leaves the page.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];

for (const table of all("table.sortable")) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim();
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return isNaN(a) || isNaN(b) ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
  };
  table.tHead.addEventListener("click", (event) => {
    const heading = event.target.closest("button")?.closest("th");
    if (!heading) return;
    const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort ?? "none"];
    for (const other of table.tHead.rows[0].cells) other.ariaSort = other === heading ? next : "none";
    const sign = next === "descending" ? -1 : 1;
    const keyed = original.map((row) => [key(row, heading.cellIndex), row]);
    if (next !== "none") keyed.sort(([a], [b]) => (a === "" || b === "" ? 1 : sign) * compare(a, b));
    body.append(...keyed.map(([, row]) => row));
    // Lines between profiles make sense in the first order alone.
    for (const row of original) row.classList.remove("next");
  });
}

for (const field of all("input[data-filters]")) {
  const rows = [...document.getElementById(field.dataset.filters).tBodies[0].rows];
  const shown = document.getElementById(field.dataset.filters + "-shown");
  field.closest("form").hidden = false;
  field.closest("form").addEventListener("submit", (event) => event.preventDefault());
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    shown.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length + " rows";
  });
}

// Filters: what is not chosen gets the class "off". The address keeps the choice behind the section's name.
const form = document.getElementById("filters");
const boxes = all("input[data-d]");
const letters = [...new Set(boxes.map((box) => box.dataset.d))];
const label = (box) => box.nextElementSibling.textContent;
let filtered = false;

function layOut(chart) {
  // The rows of a chart move up into the place of those that are hidden.
  if (!chart.dataset.top) {
    const first = chart.querySelector("[data-h]");
    chart.dataset.top = first ? /translate\(0 ([\d.]+)/.exec(first.getAttribute("transform"))[1] : 0;
  }
  let y = +chart.dataset.top;
  for (const row of all("[data-h]:not(.off)", chart)) {
    row.setAttribute("transform", "translate(0 " + y + ")");
    y += +row.dataset.h;
  }
  chart.setAttribute("viewBox", "0 0 360 " + y);
}

function apply() {
  const hidden = {};
  for (const letter of letters) {
    hidden[letter] = new Set(boxes.filter((box) => box.dataset.d === letter && !box.checked).map((box) => box.value));
  }
  const some = letters.some((letter) => hidden[letter].size);
  if (some || filtered) {
    filtered = true;
    // An element may be about several values; what is about none of them has the value -1.
    for (const letter of letters) if (hidden[letter].size) hidden[letter].add("-1");
    const gone = (letter, value) => hidden[letter].has(value)
      || Boolean(value?.includes(" ") && hidden[letter].size) && value.split(" ").every((one) => hidden[letter].has(one));
    for (const letter of letters) {
      for (const one of all("main [data-" + letter + "]")) {
        one.classList.toggle("off", letters.some((each) => gone(each, one.dataset[each])));
      }
    }
    if (letters.includes("r")) for (const one of all("main [data-s]:not([data-r])")) {
      if (hidden.r.has("0")) one.classList.add("off");
    }
    all("svg.strips").forEach(layOut);
    const bare = (one) => Boolean(one.querySelector("[data-s]")) && !one.querySelector("[data-s]:not(.off)");
    for (const one of all(".panel, .holder")) one.classList.toggle("bare", bare(one));
    for (const one of all("[data-empty]")) one.hidden = !bare(one.closest("section"));
    // What is left of a long figure may be in its second half.
    for (const more of all("details.more")) more.open = some;
    for (const figure of [...all("details.figure"), ...all("details.further"), ...all("details.more")]) {
      figure.classList.toggle("bare", !figure.querySelector(".panel:not(.off):not(.bare)"));
    }
  }
  const parts = letters.filter((letter) => hidden[letter].size).map((letter) => {
    const own = boxes.filter((box) => box.dataset.d === letter);
    return own.filter((box) => box.checked).length + " of " + own.length + " " + own[0].dataset.name + "s";
  });
  const shown = document.getElementById("filters-shown");
  if (shown) shown.textContent = parts.length ? parts.join(", ") : "by " + [...new Set(boxes.map((box) => box.dataset.name))].join(", ");
}

function address(section) {
  const chosen = letters.flatMap((letter) => {
    const own = boxes.filter((box) => box.dataset.d === letter);
    const checked = own.filter((box) => box.checked);
    const name = encodeURIComponent(own[0].dataset.name);
    if (checked.length === own.length) return [];
    return checked.length ? checked.map((box) => name + "=" + encodeURIComponent(label(box))) : [name + "="];
  });
  return "#" + [section, ...chosen].filter((part) => part).join("&");
}

const parts = () => location.hash.slice(1).split("&").filter((part) => part);
const section = () => parts().find((part) => !part.includes("=")) ?? "";
const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

function read() {
  const chosen = new Map();
  const known = new Set(boxes.map((box) => `${box.dataset.name}=${label(box)}`));
  for (const part of parts().filter((one) => one.includes("="))) {
    const [name, value] = [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)].map(decoded);
    // A link of another report may name what this one does not have.
    if (value && !known.has(`${name}=${value}`)) continue;
    chosen.set(name, [...(chosen.get(name) ?? []), value]);
  }
  for (const box of boxes) box.checked = !chosen.has(box.dataset.name) || chosen.get(box.dataset.name).includes(label(box));
  apply();
  if (section() && chosen.size) document.getElementById(section())?.scrollIntoView();
}

if (form) {
  form.hidden = false;
  const changed = () => { apply(); history.replaceState(null, "", address(section()) || "#"); };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", (event) => { if (event.target.dataset.d) changed(); });
  form.addEventListener("click", (event) => {
    const { all: every, none } = event.target.dataset;
    const letter = every ?? none;
    if (!letter) return;
    // "none" and "all" are about what is found, where something is looked for.
    for (const box of boxes) if (box.dataset.d === letter && !box.parentElement.hidden) box.checked = Boolean(every);
    changed();
  });
  form.addEventListener("input", (event) => {
    const letter = event.target.dataset.finds;
    if (!letter) return;
    const words = event.target.value.toLowerCase();
    for (const box of boxes) if (box.dataset.d === letter) box.parentElement.hidden = !label(box).toLowerCase().includes(words);
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link || address("") === "#") return;
    event.preventDefault();
    history.pushState(null, "", address(link.getAttribute("href").slice(1)));
    document.getElementById(section())?.scrollIntoView();
  });
  addEventListener("hashchange", read);
  read();
}

// What a link leads to is unfolded.
function unfold() {
  const target = document.getElementById(section());
  if (target) for (const one of all(":scope > details.fold", target)) one.open = true;
}
addEventListener("hashchange", unfold);
document.addEventListener("click", (event) => {
  if (event.target.closest('a[href^="#"]')) setTimeout(unfold, 0);
});
unfold();

// Tips, and keys: a chart is one stop of the tabulator, and arrows go from mark to mark.
const tip = document.getElementById("tip");
function tell(mark) {
  const title = mark.querySelector(":scope > title");
  if (title) {
    mark.dataset.told = title.textContent;
    mark.setAttribute("aria-label", title.textContent);
    title.remove();
  }
  tip.textContent = mark.dataset.told;
  tip.hidden = false;
  const box = mark.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left), innerWidth - tip.offsetWidth - 8);
  const below = box.bottom + 6 + tip.offsetHeight < innerHeight;
  tip.style.left = left + "px";
  tip.style.top = (below ? box.bottom + 6 : Math.max(8, box.top - tip.offsetHeight - 6)) + "px";
}
const quiet = () => { tip.hidden = true; };
document.addEventListener("pointerover", (event) => {
  const mark = event.target.closest?.(".m");
  if (mark) tell(mark); else quiet();
});
document.addEventListener("focusin", (event) => {
  if (event.target.matches(".m")) tell(event.target); else quiet();
});
addEventListener("scroll", quiet, { passive: true, capture: true });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") quiet();
  const chart = event.target.closest?.("svg.drawn");
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
  if (!chart || !step) return;
  const marks = all(".m:not(.off)", chart);
  if (!marks.length) return;
  event.preventDefault();
  const at = marks.indexOf(event.target);
  marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length].focus();
});

// Long tables are laid out when nothing else is to be done, so that the page is there at once.
addEventListener("load", () => {
  const later = window.requestIdleCallback ?? ((work) => setTimeout(work, 100));
  const waiting = all(".large");
  const next = () => {
    const one = waiting.shift();
    if (one) {
      one.classList.remove("large");
      later(next);
    }
  };
  setTimeout(() => later(next), 1000);
});

// On paper everything is unfolded.
let folded = [];
addEventListener("beforeprint", () => {
  folded = all("details:not([open])");
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => { for (const one of folded) one.open = false; });
