"use strict";
// The page: a timeline, the state after a step, what the step changed, its calls; two runs side by side; a search.

const ROW = 24;  // pixels of a row of the timeline, as `page.css` has it
const ADDRESS_MS = 200;  // after the last key, before the address says where one is
const SHOWN = 2;  // messages that are shown of what a model was sent, the last ones
const at = (id) => document.getElementById(id);

// A list that only has the rows in sight, whatever its length.
class Rows {
  constructor(box, draw, choose) {
    this.box = box;
    this.draw = draw;
    this.inside = make("div", "rows");
    box.append(this.inside);
    box.addEventListener("scroll", () => this.refresh());
    window.addEventListener("resize", () => this.refresh());
    this.inside.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) choose(Number(row.dataset.at));
    });
  }

  set(count) {
    this.count = count;
    this.inside.style.height = `${count * ROW}px`;
    this.refresh();
  }

  show(number) {
    const top = number * ROW, { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + ROW > scrollTop + clientHeight) this.box.scrollTop = top + ROW - clientHeight;
    this.refresh();
  }

  refresh() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 5);
    const stop = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 5);
    const rows = [];
    for (let number = first; number < stop; number++) {
      const row = this.draw(number);
      row.classList.add("row");
      row.dataset.at = number;
      row.style.top = `${number * ROW}px`;
      rows.push(row);
    }
    this.inside.replaceChildren(...rows);
  }
}

// One run: its steps, and its states and calls as they are asked for.
class Run {
  constructor(told) {
    Object.assign(this, told);
    this.states = new Versions((number) => {
      const { state, base, ops, lost } = this.steps[number];
      if (lost !== undefined) throw new Error(lost);
      return [state, base, ops];
    });
    const calls = this.steps.flatMap((step) => step.calls ?? []);
    calls.forEach((call, number) => { call.number = number; });
    this.calls = new Versions((number) => [calls[number].value, calls[number].after, calls[number].ops]);
    this.found = [];
  }

  // What of a step can be searched: its name, errors, calls, and what it wrote into the state.
  text(number) {
    return this.found[number] ??= [...this.told(number)].join("\n").toLowerCase();
  }

  *told(number) {
    const { name, facts, decision, error, calls = [], state, ops = [] } = this.steps[number];
    yield* [name, ...facts ?? [], decision, error?.text];
    for (const call of calls) {
      yield* [call.name, call.error?.text];
      yield* call.ops ? wordsOf(call.ops) : words(call.value);
    }
    yield* state === undefined ? wordsOf(ops) : words(state);
  }
}

class Page {
  constructor(data) {
    this.runs = data.runs.map((run) => new Run(run));
    this.pairs = data.pairs;
    this.opened = new Map();
    this.run = data.start.run;
    this.pair = null;
    this.place = data.start.step;
    this.query = "";
    this.hits = [];
    this.rows = new Rows(at("timeline"), (number) => this.drawRow(number), (number) => this.go(number));
    this.runs.forEach((run, number) => {
      const option = make("option", "", run.name);
      option.value = `r${number}`;
      at("run").append(option);
    });
    this.pairs.forEach(({ a, b }, number) => {
      const option = make("option", "", `${this.runs[a].name} ⇄ ${this.runs[b].name}`);
      option.value = `c${number}`;
      at("run").append(option);
    });
    at("run").addEventListener("change", (event) => {
      const [kind, number] = [event.target.value[0], Number(event.target.value.slice(1))];
      event.target.blur();
      if (kind === "c") this.compare(number); else this.open(number);
    });
    at("scrub").addEventListener("input", (event) => this.go(Number(event.target.value)));
    at("before").addEventListener("click", () => this.go(this.place - 1));
    at("after").addEventListener("click", () => this.go(this.place + 1));
    at("failed").addEventListener("click", () => this.go(this.nextFailed(1) ?? this.nextFailed(-1) ?? this.place));
    at("search").addEventListener("input", (event) => this.search(event.target.value));
    document.addEventListener("keydown", (event) => this.press(event));
    window.addEventListener("hashchange", () => this.follow());
    if (!this.follow()) this.open(this.run, this.place);
  }

  get steps() { return this.runs[this.run].steps; }

  get count() { return this.pair === null ? this.steps.length : this.pairs[this.pair].rows.length; }

  // ---- where one is

  // The place that the address names: `#7` a step, `#2:7` one of the second run, `#c1:7` a row of the first comparison.
  follow() {
    const found = /^#(?:(c?)(\d+):)?(\d+)$/.exec(location.hash);
    if (!found) return false;
    const number = found[2] === undefined ? 0 : Number(found[2]) - 1, place = Number(found[3]);
    if (found[1] ? !this.pairs[number] : !this.runs[number]) return false;
    if (found[1]) this.compare(number, place); else this.open(number, place);
    return true;
  }

  open(run, place) {
    this.run = run;
    this.pair = null;
    const failed = this.steps.findIndex((step) => step.status === "error");
    this.begin(place ?? (failed < 0 ? this.count - 1 : failed));
  }

  compare(pair, place) {
    this.pair = pair;
    const { diverged, rows } = this.pairs[pair];
    this.begin(place ?? Math.max(0, diverged === null ? rows.length - 1 : rows.findIndex(([, , same]) => !same)));
  }

  begin(place) {
    document.body.classList.toggle("comparing", this.pair !== null);
    at("run").value = this.pair === null ? `r${this.run}` : `c${this.pair}`;
    at("scrub").max = this.count - 1;
    this.drawHead();
    this.place = Math.max(0, Math.min(place, this.count - 1));
    this.rows.set(this.count);
    this.search(this.query);
    this.go(place);
  }

  address() {
    if (this.pair !== null) return `#c${this.pair + 1}:${this.place}`;
    return this.run ? `#${this.run + 1}:${this.place}` : `#${this.place}`;
  }

  go(place) {
    if (!this.count) return;
    this.place = Math.max(0, Math.min(place, this.count - 1));
    at("scrub").value = this.place;
    clearTimeout(this.telling);  // browsers let the address be changed only so often in a minute
    this.telling = setTimeout(() => history.replaceState(null, "", this.address()), ADDRESS_MS);
    this.rows.show(this.place);
    at("where").textContent = `${this.place} / ${this.count - 1}`;
    const sides = this.stepsAt(this.place);
    at("state").replaceChildren(...this.pair === null ? this.drawState() : this.drawBoth(sides));
    at("calls").replaceChildren(...sides.flatMap(([run, step]) => this.drawStep(this.runs[run], step)));
  }

  press(event) {
    const isTyping = event.target === at("search");
    if (event.ctrlKey || event.altKey || event.metaKey || event.target === at("run")) return;
    if (isTyping && event.key !== "Escape" && event.key !== "Enter") return;
    const moves = {
      ArrowRight: this.place + 1, ArrowDown: this.place + 1, j: this.place + 1,
      ArrowLeft: this.place - 1, ArrowUp: this.place - 1, k: this.place - 1,
      PageDown: this.place + 10, PageUp: this.place - 10, Home: 0, End: this.count - 1,
      n: this.nextHit(1), N: this.nextHit(-1), Enter: isTyping ? this.nextHit(0) : undefined,
      "}": this.nextFailed(1), "{": this.nextFailed(-1),
    };
    if (event.key === "/") at("search").focus();
    else if (event.key === "Escape") at("search").blur();
    else if (event.key === "c" && this.pairs.length) {
      if (this.pair === null) this.compare(0); else this.open(this.run);
    } else if (event.key === "r") this.open((this.run + 1) % this.runs.length);
    else if (moves[event.key] !== undefined) {
      this.go(moves[event.key]);
      if (isTyping) at("search").blur();
    } else return;
    event.preventDefault();
  }

  nextFailed(direction) {
    for (let place = this.place + direction; place >= 0 && place < this.count; place += direction) {
      if (this.isFailed(place)) return place;
    }
    return undefined;
  }

  isFailed(place) {
    return this.stepsAt(place).some(([run, step]) => this.runs[run].steps[step].status === "error");
  }

  // The steps that stand at a place: `[run, step]`, one, or of a comparison those that took it.
  stepsAt(place) {
    if (this.pair === null) return [[this.run, place]];
    const { a, b, rows } = this.pairs[this.pair], [stepA, stepB] = rows[place];
    return [[a, stepA], [b, stepB]].filter(([, step]) => step !== null);
  }

  // ---- the search

  search(query) {
    this.query = query;
    const wanted = query.trim().toLowerCase();
    this.hits = [];
    for (let place = 0; wanted && place < this.count; place++) {
      if (this.stepsAt(place).some(([run, step]) => this.runs[run].text(step).includes(wanted))) this.hits.push(place);
    }
    at("hits").textContent = wanted ? `in ${this.hits.length} of ${this.count}` : "";
    this.rows.refresh();
  }

  // The next place that holds what is searched for; with 0 also this one.
  nextHit(direction) {
    if (!this.hits.length) return undefined;
    if (direction < 0) return this.hits.findLast((hit) => hit < this.place) ?? this.hits.at(-1);
    return this.hits.find((hit) => hit >= this.place + direction) ?? this.hits[0];
  }

  // ---- drawing

  drawHead() {
    const told = this.pair === null ? this.runs[this.run] : null;
    const box = at("about");
    if (told) {
      document.title = `${shown(told.name)} · agent-tt`;
      box.replaceChildren(make("b", `status ${told.status}`, told.status));
      for (const [name, said] of told.facts) box.append(make("span", "fact", make("i", "", name), ` ${said}`));
      if (told.error) box.append(make("span", "failed", told.error.short));
    } else {
      const { a, b, diverged, because, unread } = this.pairs[this.pair];
      document.title = "comparison · agent-tt";
      const said = diverged === null ? (because || "no step differs") : `≠ parted at ${diverged}: ${because}`;
      const names = [[a, "A"], [b, "B"]].map(([run, name]) => make("span", "fact", make("i", "", name), ` ${this.runs[run].name}`));
      box.replaceChildren(make("b", "", said), ...names, ...unread.map((one) => make("span", "failed", one)));
    }
  }

  drawRow(place) {
    const row = make("div", "");
    if (this.pair === null) row.append(this.drawCell(this.run, place));
    else {
      const { a, b, rows } = this.pairs[this.pair], [stepA, stepB, isSame] = rows[place];
      row.append(this.drawCell(a, stepA), make("span", "mark", isSame ? "=" : "≠"), this.drawCell(b, stepB));
      row.classList.toggle("same", isSame);
    }
    row.classList.toggle("here", place === this.place);
    row.classList.toggle("hit", this.isHit(place));
    return row;
  }

  isHit(place) {
    let low = 0, high = this.hits.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.hits[middle] < place) low = middle + 1; else high = middle;
    }
    return this.hits[low] === place;
  }

  drawCell(run, number) {
    if (number === null) return make("span", "cell none", "–");
    const step = this.runs[run].steps[number];
    const glyph = step.status === "error" ? "✗" : { llm: "◆", write: "◉" }[step.kind] ?? "●";
    return make("span", `cell ${step.status === "error" ? "failed" : ""}`, make("span", "number", String(number)),
      make("span", `kind ${step.kind ?? ""}`, glyph), make("span", "name", ...step.agent ? [make("i", "agent", `${step.agent}: `)] : [], step.name),
      make("span", "took", step.took ?? ""));
  }

  drawState() {
    const run = this.runs[this.run], step = this.steps[this.place];
    const title = make("h2", "", this.place ? `STATE after ${this.place} ${step.name}` : "STATE of the input");
    try {
      const value = run.states.at(this.place);
      const isFirst = step.base === undefined;
      const changes = isFirst ? [] : differences(run.states.at(step.base), value);
      const heading = isFirst ? [] : [make("h2", "", `DIFF ${step.base} → ${this.place}`), this.drawDiff(changes, "Nothing in the state changed.")];
      return [title, new Tree(changes, this.opened).draw(value), ...heading];
    } catch (error) {
      return [title, make("p", "failed", error.message)];
    }
  }

  drawBoth(sides) {
    const [b, stepB] = sides.at(-1), [a, stepA] = sides[0], isAlone = sides.length < 2;
    const against = isAlone ? ", a step that only this run took" : `, against ${this.runs[a].name} after ${stepA}`;
    const title = `STATE of ${this.runs[b].name} after ${stepB}${against}`;
    try {
      const value = this.runs[b].states.at(stepB);
      const changes = isAlone ? [] : differences(this.runs[a].states.at(stepA), value);
      const diff = isAlone ? [] : [make("h2", "", "DIFF"), this.drawDiff(changes, "The states are the same.")];
      return [make("h2", "", title), new Tree(changes, this.opened).draw(value), ...diff];
    } catch (error) {
      return [make("h2", "", title), make("p", "failed", error.message)];
    }
  }

  drawDiff(changes, none) {
    return changes.length ? drawChanges(changes) : make("p", "muted", none);
  }

  drawStep(run, number) {
    const step = run.steps[number];
    const of = this.pair === null ? "" : `${run.name}: `;
    const drawn = [make("h2", "", `${of}${number} ${step.agent ? `${step.agent}: ` : ""}${step.name}`)];
    if (number) drawn.push(make("p", "muted", [step.status, ...(step.took ? [step.took] : []), ...step.facts].join(" · ")));
    if (step.damaged) drawn.push(make("p", "failed", step.damaged));
    if (step.decision) drawn.push(make("p", "decision", step.decision));
    if (step.error) drawn.push(make("pre", "failed", step.error.text));
    for (const call of step.calls ?? []) drawn.push(this.drawCall(run, call));
    return drawn;
  }

  drawCall(run, call) {
    const head = make("h3", "", make("b", "", call.name), ` ${[call.kind, ...call.facts, call.status].join(" · ")}`);
    const box = make("article", "", head);
    if (call.damaged) box.append(make("p", "failed", call.damaged));
    let value;
    try {
      value = run.calls.at(call.number);
    } catch (error) {
      box.append(make("p", "failed", error.message));
      return box;
    }
    const sent = value.get("sent"), said = value.get("said");
    if (sent?.length > SHOWN) {
      box.append(this.folded(`${sent.length - SHOWN} messages before`, () => drawMessages("", sent.slice(0, -SHOWN)), false));
    }
    if (sent?.length) box.append(drawMessages("sent", sent.slice(-SHOWN)));
    if (said?.length) box.append(drawMessages("said", said));
    for (const name of ["asked", "gave"]) {
      const draw = () => new Tree([], new Map()).draw(value.get(name));
      if (value.has(name)) box.append(this.folded(name, draw, !said?.length));
    }
    if (call.error) box.append(make("pre", "failed", call.error.text || call.error.short));
    return box;
  }

  folded(title, draw, open) {
    const box = make("details", "part", make("summary", "", title));
    let drawn = open;
    box.open = open;
    if (open) box.append(draw());
    box.addEventListener("toggle", () => { if (box.open && !drawn) { drawn = true; box.append(draw()); } });
    return box;
  }
}

async function load() {
  const box = at("data");
  if (box.dataset.form !== "deflate") return JSON.parse(box.textContent);
  const bytes = Uint8Array.from(atob(box.textContent), (one) => one.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(unpacked).json();
}

load().then((data) => { window.page = new Page(data); }).catch((error) => {
  at("about").textContent = `This page cannot be shown: ${error.message}`;
});
