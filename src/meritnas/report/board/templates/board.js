const form = document.querySelector("#filter");
const body = () => document.querySelector("#list tbody");
const rows = () => [...body().rows];
const cell = (row, column) => row.cells[column + 2];
let sorted = { column: null, down: false };

function by(row, column) {
  if (column < 0) return row.dataset.name;
  const value = cell(row, column).dataset.by;
  return value !== "" && !isNaN(value) ? Number(value) : value;
}

function compared(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}

function sort() {
  if (sorted.column === null) return;
  const sign = sorted.down ? -1 : 1;
  const empty = (row) => by(row, sorted.column) === "";
  const order = (a, b) => sign * compared(by(a, sorted.column), by(b, sorted.column));
  body().append(...rows().sort((a, b) => empty(a) - empty(b) || order(a, b)));
  for (const head of document.querySelectorAll("#list th[data-column]")) {
    const own = Number(head.dataset.column) === sorted.column;
    if (own) head.ariaSort = sorted.down ? "descending" : "ascending";
    else head.removeAttribute("aria-sort");
  }
}

function choose() {
  const given = new FormData(form);
  const words = given.get("words").toLowerCase().split(/\s+/).filter(Boolean);
  const asked = [...form.querySelectorAll("select")].filter((each) => each.value);
  let listed = 0;
  for (const row of rows()) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word)) ||
      !asked.every((each) => cell(row, Number(each.name)).textContent === each.value);
    listed += !row.hidden;
  }
  const ticked = rows().filter((row) => row.querySelector("input").checked && !row.hidden);
  const shown = (row) => !row.hidden && (!ticked.length || ticked.includes(row));
  const drawn = new Set(rows().filter(shown).map((row) => row.id));
  const not = rows().filter((row) => !drawn.has(row.id)).map((row) => `g.${row.id}`);
  document.querySelector("#hidden").textContent =
    not.length ? `${not.join(",")} { display: none; }` : "";
  for (const part of document.querySelectorAll(".part")) {
    part.hidden = !part.dataset.runs.split(" ").some((run) => drawn.has(run));
  }
  document.querySelector("#count").textContent =
    `${listed} of ${rows().length} runs` + (ticked.length ? `, ${ticked.length} ticked` : "");
}

function offer() {
  for (const select of form.querySelectorAll("select")) {
    const values = new Set(rows().map((row) => cell(row, Number(select.name)).textContent));
    const before = select.value;
    const options = [...values].sort().map((value) => new Option(value, value));
    select.replaceChildren(new Option("all", ""), ...options);
    select.value = values.has(before) ? before : "";
  }
}

function begin() {
  for (const head of document.querySelectorAll("#list th[data-column]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const column = Number(head.dataset.column);
      sorted = { column: column, down: sorted.column === column && !sorted.down };
      sort();
    });
    head.replaceChildren(button);
  }
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", choose);
  form.addEventListener("reset", () => {
    rows().forEach((row) => { row.querySelector("input").checked = false; });
    setTimeout(choose);
  });
  document.querySelector("#list").addEventListener("change", choose);
  offer();
  choose();
}

async function follow() {
  try {
    const answer = await fetch("/");
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const ticked = new Set(rows().filter((row) => row.querySelector("input").checked)
      .map((row) => row.dataset.name));
    body().replaceWith(page.querySelector("#list tbody"));
    document.querySelector("#parts").replaceWith(page.querySelector("#parts"));
    rows().forEach((row) => {
      row.querySelector("input").checked = ticked.has(row.dataset.name);
    });
    offer();
    sort();
    choose();
    setTimeout(follow, 1000 * document.body.dataset.seconds);
  } catch {
    document.querySelector("#live").textContent = "Nobody answers any more; this is how it was.";
  }
}

begin();
if (document.body.dataset.seconds) setTimeout(follow, 1000 * document.body.dataset.seconds);
