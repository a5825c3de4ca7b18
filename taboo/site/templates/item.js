// One item: the question, the right answer, and the baseline and each dose side by side.
"use strict";

{
  const { make, link, verdict } = taboo;
  const MOST = 12; // bits at which the colour is full
  let series = null;
  let hidden = new Set();
  let removed = true;

  const show = (data) => {
    const [study, model, precision, task, ...rest] = taboo.address();
    const place = [study, model, precision, task];
    const id = rest.join("/"); // typed by hand, an item's slashes stay as they are
    const index = data.items.findIndex((item) => item.id === id);
    if (index < 0) return [make("h1", {}, id), make("p", { class: "empty" }, "This item is not in the sample.")];
    const item = data.items[index];
    document.title = `${item.id} – ${data.label}`;
    const all = [...new Set(data.cells.map((cell) => cell.series))];
    series = all.includes(series) ? series : all[0];
    const cells = data.cells.filter((cell) => cell.series === series);
    const panes = make("div", { class: "panes" }, cells.map((cell) => pane(data, cell, index)));
    for (const part of panes.children) part.hidden = hidden.has(part.dataset.cell);
    panes.classList.toggle("plain", !removed);
    const others = make("nav", { class: "conditions", "aria-label": "Items" }, step(data, place, index - 1, "← previous", "prev"), step(data, place, index + 1, "next →", "next"));
    return [
      make("p", { class: "crumbs" }, `${data.label}, ${data.precision}, ${data.task_label}: `, cells.flatMap((cell) => [make("a", { href: link("cell.html", ...place, cell.name) }, cell.short), " "])),
      make("h1", {}, item.id),
      others,
      make("div", { class: "asked" }, make("div", {}, make("h2", {}, "Question"), make("pre", {}, item.question)), make("div", {}, make("h2", {}, "Right answer"), make("pre", { class: "gold" }, item.gold))),
      controls(all, cells, panes),
      panes,
    ];
  };

  const step = (data, place, index, text, rel) =>
    data.items[index] ? make("a", { rel, href: link("item.html", ...place, data.items[index].id) }, text) : null;

  const controls = (all, cells, panes) => {
    const box = (checked, text, change) => {
      const input = make("input", { type: "checkbox", checked });
      input.addEventListener("change", () => change(input.checked));
      return make("label", {}, input, ` ${text}`);
    };
    const which = make("select", {}, all.map((name) => make("option", { value: name, selected: name === series }, name.replace(/^baseline_?/, "").replaceAll("_", " ") || "greedy")));
    which.addEventListener("change", () => {
      series = which.value;
      window.dispatchEvent(new Event("hashchange"));
    });
    return make(
      "form",
      { class: "filters", "aria-label": "What is shown" },
      all.length > 1 ? make("label", {}, "Decoding ", which) : null,
      cells.map((cell) =>
        box(!hidden.has(cell.name), cell.short, (on) => {
          hidden[on ? "delete" : "add"](cell.name);
          for (const part of panes.children) part.hidden = hidden.has(part.dataset.cell);
        }),
      ),
      box(removed, "show the tokens taken away", (on) => {
        removed = on;
        panes.classList.toggle("plain", !on);
      }),
      make("span", { class: "scale" }, "ΔS 0 ", make("span", { class: "ramp" }), ` ${MOST}+ bits`),
      make("span", { class: "keys" }, "Keys: ", make("kbd", {}, "j"), "/", make("kbd", {}, "k"), " next and previous item; Tab into a text, ", make("kbd", {}, "←"), make("kbd", {}, "→"), " through its interventions."),
    );
  };

  const pane = (data, cell, index) => {
    const { word, right } = verdict(cell, index);
    const said = { lost: "wrong, was right", kept: "still right", recovered: "right, was wrong" }[word] ?? word;
    const failure = cell.failure[index];
    const read = cell.read[index];
    const count = cell.interventions[index];
    const text = make("pre", { "data-row": true }, marked(data, cell, index));
    if (text.querySelector("mark")) taboo.rove(make("div", {}, text), "mark");
    return make(
      "section",
      { class: "pane", "data-cell": cell.name, "aria-label": cell.short },
      make("h2", {}, cell.short),
      make("p", { class: "verdicts" }, make("span", { class: `verdict ${right ? "good" : "bad"}` }, said), failure ? make("span", { class: "verdict mode" }, failure) : null),
      make("p", { class: "small" }, "read ", read === null ? make("i", {}, "nothing") : make("b", {}, read.includes("\n") ? "a program" : read), ` (${cell.rule[index]}), ${cell.outcome[index]}`),
      make("p", { class: "small" }, `${cell.tokens[index]} tokens, ${count} interventions, ${cell.bits[index].toFixed(1)} bits, ended by ${cell.ended[index]}`),
      text.parentElement ?? text,
    );
  };

  // The generated text in parts: plain, and one mark per intervention.
  const marked = (data, cell, index) => {
    const characters = Array.from(cell.text[index]);
    const end = cell.read_to[index];
    const parts = [];
    const plain = (from, to) => {
      if (from < Math.min(to, end)) parts.push(characters.slice(from, Math.min(to, end)).join(""));
      if (to > Math.max(from, end)) parts.push(make("span", { class: "unread", title: "not part of what was scored" }, characters.slice(Math.max(from, end), to).join("")));
    };
    let at = 0;
    for (const mark of cell.marks[index].split(";").filter(Boolean)) {
      const [skip, length, number, centibits] = mark.split(",").map(Number);
      plain(at, (at += skip));
      const chosen = characters.slice(at, at + length).join("");
      parts.push(...intervention(data.nominal[number], chosen, centibits / 100));
      at += length;
    }
    plain(at, characters.length);
    return parts;
  };

  // White space before the chosen token stands outside its mark, so that lines break between words; so
  // do the line breaks of a token that is nothing else.
  const intervention = (nominal, chosen, bits) => {
    const word = chosen.trimStart();
    const mark = make("mark", { tabindex: -1, title: said(nominal, chosen, bits) }, make("s", {}, nominal.trim() || visible(nominal)), word || visible(chosen));
    mark.style.setProperty("--share", `${Math.round(10 + 90 * Math.min(bits / MOST, 1))}%`);
    return word ? [chosen.slice(0, -word.length), mark] : [mark, chosen.slice(chosen.search(/\n|$/))];
  };

  const said = (nominal, chosen, bits) => `${bits.toFixed(2)} bits: “${visible(chosen)}” instead of “${visible(nominal)}”`;

  // White space and what is no whole character, so that they can be seen.
  const visible = (text) => {
    if (text === "") return "∅";
    const lines = text.replace(/\r?\n/g, "↵").replace(/\t/g, "⇥");
    return text.trim() ? lines : lines.replace(/ +/g, (run) => (run.length > 3 ? `␣×${run.length} ` : "␣".repeat(run.length)));
  };

  const tell = (event) => {
    const element = event.target.closest?.("mark");
    const bar = document.getElementById("mark");
    if (element) {
      bar.textContent = element.title;
      bar.hidden = false;
    } else if (event.type === "click") bar.hidden = true;
  };
  for (const kind of ["focusin", "click"]) document.addEventListener(kind, tell);

  document.addEventListener("keydown", (event) => {
    if (/^(input|select|textarea)$/i.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const rel = { j: "next", k: "prev" }[event.key];
    if (rel) document.querySelector(`a[rel=${rel}]`)?.click();
  });

  taboo.open(show);
}
