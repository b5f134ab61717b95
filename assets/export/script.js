"use strict";
// Shows the path to the entry that the address names. What it puts in place was made safe when the
// page was written.
// Not by its id: an entry of a foreign session may have the same.
const data = JSON.parse(document.querySelector("script[type='application/json']").textContent);
const main = document.querySelector("main");
const places = new Map(data.map((entry, index) => [entry.id, index]));
const made = new Map();
for (const article of main.children) made.set(places.get(article.dataset.id), article);
const newest = data.map((_, index) => index);
for (let index = data.length - 1; index >= 0; index--) {
  const up = data[index].up;
  if (up >= 0 && newest[index] > newest[up]) newest[up] = newest[index];
}

function element(index) {
  if (!made.has(index)) {
    const template = document.createElement("template");
    template.innerHTML = data[index].html;
    made.set(index, template.content.firstElementChild);
  }
  return made.get(index);
}

function pathTo(index) {
  const path = [];
  for (; index >= 0 && path.length <= data.length; index = data[index].up) path.push(index);
  return path.reverse();
}

function show(id, scroll) {
  const wanted = places.get(id);
  if (wanted === undefined) return;
  const path = pathTo(newest[wanted]);
  main.replaceChildren(...path.filter((index) => made.has(index) || data[index].html).map(element));
  const on = new Set(path);
  let at = null;
  for (const link of document.querySelectorAll("nav a")) {
    const index = places.get(link.hash.slice(1));
    link.classList.toggle("on", on.has(index));
    link.classList.remove("at");
    if (on.has(index) && index <= wanted) at = link;
  }
  if (at) at.classList.add("at");
  if (scroll) {
    const shown = path.slice(path.indexOf(wanted)).map((index) => made.get(index)).find((found) => found);
    if (shown) shown.scrollIntoView();
  }
}

const follow = () => show(decodeURIComponent(location.hash.slice(1)), true);
addEventListener("hashchange", follow);
if (location.hash) follow();

document.querySelector("nav").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
  const links = [...document.querySelectorAll("nav a")];
  const next = links[links.indexOf(document.activeElement) + step];
  if (next) next.focus();
  event.preventDefault();
});
