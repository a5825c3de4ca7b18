// What all pages share. A page opened as a file may not read other files but it may load scripts, so
// data comes in scripts that call taboo.receive. Text from models is put into text nodes alone.
"use strict";

const taboo = {
  data: null,

  receive(data) {
    taboo.data = data;
  },

  // The parts of the address after #, each decoded; none where it can't be read.
  address() {
    try {
      return location.hash.slice(1).split("/").map(decodeURIComponent);
    } catch {
      return [];
    }
  },

  link(page, ...parts) {
    return `${page}#${parts.map(encodeURIComponent).join("/")}`;
  },

  // Load the data that the first four parts of the address name, then call show with it.
  open(show) {
    const place = () => taboo.address().slice(0, 4);
    const opened = place();
    const named = opened.length === 4 && opened.every((part) => /^\w[\w.-]*$/.test(part));
    window.addEventListener("hashchange", () => {
      if (place().join("/") !== opened.join("/")) location.reload();
      else if (taboo.data) render();
    });
    const render = () => {
      const view = document.getElementById("view");
      const { rel } = document.activeElement;
      view.replaceChildren(...show(taboo.data));
      view.removeAttribute("aria-busy");
      if (rel) view.querySelector(`a[rel=${rel}]`)?.focus(); // so that Enter goes on and on
    };
    if (!named) return taboo.say("This address names no cell. Choose one from the list of all cells.");
    const script = document.createElement("script");
    script.src = `data/${opened.join("/")}.js`;
    script.onload = render;
    script.onerror = () => taboo.say(`There is no data for ${opened.join(" / ")}: these cells were not run.`);
    document.head.append(script);
  },

  say(text) {
    const view = document.getElementById("view");
    view.replaceChildren(taboo.make("p", { class: "empty" }, text));
    view.removeAttribute("aria-busy");
  },

  // An element with attributes and children; strings become text.
  make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  },

  // The verdict on an item of a cell: a word, its mark, and whether it is right.
  verdict(cell, index) {
    const right = cell.correct[index] === "1";
    const before = cell.before[index];
    if (cell.rank === 0 || before === "-") return { word: right ? "right" : "wrong", right };
    if (right) return { word: before === "1" ? "kept" : "recovered", right };
    return { word: before === "1" ? "lost" : "still wrong", right };
  },

  // Apply a form of filters, now and whenever it changes.
  filter(form, apply) {
    for (const kind of ["input", "change"]) form.addEventListener(kind, apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  },

  // One tab stop for all links that match; arrows go from one to the next, row by row.
  rove(container, selector) {
    const rows = () =>
      [...container.querySelectorAll("tr, [data-row]")]
        .filter((row) => !row.hidden)
        .map((row) => [...row.querySelectorAll(selector)].filter((link) => !link.closest("[hidden]")))
        .filter((links) => links.length);
    const reset = () => {
      const all = rows().flat();
      const current = all.find((link) => link === document.activeElement) ?? all[0];
      for (const link of all) link.tabIndex = link === current ? 0 : -1;
    };
    container.addEventListener("focusin", reset);
    container.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -1e6], End: [0, 1e6] };
      const step = steps[event.key];
      const link = event.target.closest?.(selector);
      if (!step || !link || event.altKey || event.ctrlKey || event.metaKey) return;
      const lines = rows();
      const at = lines.findIndex((links) => links.includes(link));
      const within = (value, list) => Math.max(0, Math.min(list.length - 1, value));
      const line = lines[within(at + step[0], lines)];
      line[within(lines[at].indexOf(link) + step[1], line)].focus();
      event.preventDefault();
    });
    reset();
    return reset;
  },
};

// "/" goes to the search field of a page that has one.
document.addEventListener("keydown", (event) => {
  const search = document.querySelector("input[type=search]");
  if (event.key !== "/" || !search || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(input|select|textarea)$/i.test(event.target.tagName)) return;
  event.preventDefault();
  search.focus();
});
