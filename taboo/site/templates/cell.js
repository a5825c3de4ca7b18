// One cell: its numbers, its curves, and its items, the worst first.
"use strict";

{
  const { make, link, verdict } = taboo;
  const WORST = ["lost", "wrong", "still wrong", "recovered", "right", "kept"];

  const show = (data) => {
    const [study, model, precision, task, name] = taboo.address();
    const place = [study, model, precision, task];
    const cell = data.cells.find((one) => one.name === name);
    document.title = `${data.label} ${data.task_label} ${cell ? cell.short : name}`;
    const others = make(
      "nav",
      { class: "conditions", "aria-label": "Conditions" },
      data.cells.map((one) =>
        make("a", { href: link("cell.html", ...place, one.name), "aria-current": one === cell && "page" }, one.short),
      ),
    );
    const title = make("h1", {}, `${data.label} on ${data.task_label}, ${cell ? cell.short : name ?? ""}`);
    const where = make("p", { class: "small" }, `Study ${data.study}, ${data.precision}, ${data.items.length} items.`);
    if (!cell) return [title, where, others, make("p", { class: "empty" }, "This cell was not run.")];
    return [title, where, others, numbers(data, cell), ...items(data, cell, place)];
  };

  const numbers = (data, cell) =>
    make(
      "div",
      { class: "numbers" },
      make("dl", { class: "facts" }, cell.facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
      make("img", { class: "paper", src: data.curves, width: 640, height: 420, alt: "Retention, accuracy, injected surprisal and length over the taboo rank; the numbers are beside it and on the pages of the other conditions." }),
    );

  const items = (data, cell, place) => {
    const doses = data.cells.filter((one) => one.series === cell.series);
    const rows = data.items.map((item, index) => {
      const state = verdict(cell, index);
      const failed = doses.filter((one) => one.correct[index] !== "1").length;
      return { item, index, state, failed, row: null };
    });
    rows.sort(
      (a, b) =>
        WORST.indexOf(a.state.word) - WORST.indexOf(b.state.word) ||
        b.failed - a.failed ||
        cell.bits[b.index] - cell.bits[a.index] ||
        a.index - b.index,
    );
    const table = make(
      "table",
      { class: "items" },
      make(
        "thead",
        {},
        make("tr", {}, ["item", "question", "verdict", "read", "gold", "ΔS", "doses"].map((text, column) => make("th", { scope: "col", class: `c${column}` }, text))),
      ),
    );
    const body = make("tbody");
    for (const entry of rows) body.append((entry.row = line(cell, doses, place, entry)));
    table.append(body);
    const form = filters(cell, rows);
    const counts = form.querySelector("output");
    const apply = () => {
      const { words, state, failure } = Object.fromEntries(new FormData(form));
      const wanted = words.toLowerCase();
      let shown = 0;
      for (const { item, index, state: found, row } of rows) {
        const fits =
          (!state || found.word === state) &&
          (!failure || cell.failure[index] === failure) &&
          (!wanted ||
            [item.id, item.question, item.gold, cell.read[index] ?? "", cell.text[index]].some((text) => text.toLowerCase().includes(wanted)));
        row.hidden = !fits;
        shown += fits;
      }
      counts.textContent = `${shown} of ${rows.length} items`;
      reset();
    };
    const reset = taboo.rove(table, "a");
    taboo.filter(form, apply);
    return [
      make("h2", {}, "Items, the worst first"),
      make("p", { class: "small" }, "First those right at baseline and wrong here, of these first the ones wrong under most conditions. Keys: / search, Tab into the list, arrows within it, Enter opens the item."),
      form,
      make("div", { class: "scroll" }, table),
    ];
  };

  const filters = (cell, rows) => {
    const counted = (words) => {
      const counts = new Map();
      for (const word of words) if (word) counts.set(word, (counts.get(word) ?? 0) + 1);
      return [...counts].map(([word, count]) => make("option", { value: word }, `${word} (${count})`));
    };
    const choice = (label, name, options) =>
      make("label", {}, `${label} `, make("select", { name }, make("option", { value: "" }, "all"), options));
    return make(
      "form",
      { class: "filters", role: "search", "aria-label": "Items" },
      make("label", {}, "Search ", make("input", { type: "search", name: "words", placeholder: "question, answer, generated text …", "aria-keyshortcuts": "/" })),
      choice("Verdict", "state", counted(rows.map((entry) => entry.state.word))),
      choice("Failure mode", "failure", counted(cell.failure)),
      make("output", { "aria-live": "polite" }),
    );
  };

  const line = (cell, doses, place, { item, index, state }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row", class: "c0" }, make("a", { href: link("item.html", ...place, item.id) }, item.id)),
      make("td", { class: "c1" }, start(item.question)),
      make("td", { class: "c2" }, make("span", { class: `verdict ${state.right ? "good" : "bad"}` }, state.word), cell.failure[index] ? make("small", {}, ` ${cell.failure[index]}`) : null),
      make("td", { class: "c3" }, cell.read[index] === null ? make("i", {}, "nothing") : start(cell.read[index], 40)),
      make("td", { class: "c4" }, start(item.gold, 40)),
      make("td", { class: "c5" }, cell.bits[index].toFixed(1)),
      make(
        "td",
        { class: "c6", "aria-label": doses.map((one) => `${one.short}: ${one.correct[index] === "1" ? "right" : "wrong"}`).join(", ") },
        doses.map((one) => make("span", { class: `dot ${one.correct[index] === "1" ? "good" : "bad"}`, title: one.short, "aria-hidden": "true" }, one.correct[index] === "1" ? "✓" : "✗")),
      ),
    );

  const start = (text, length = 120) => {
    const flat = text.replace(/\s+/g, " ");
    return flat.length > length ? `${flat.slice(0, length)}…` : flat;
  };

  taboo.open(show);
}
