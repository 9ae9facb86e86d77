"use strict";
// Drawing values. Text is only ever set as text: nothing that was recorded becomes markup.

function make(tag, className, ...inside) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...inside.map((one) => (one instanceof Node ? one : shown(one))));
  return element;
}

const PAGE = 100;       // entries of a list that are drawn at once
const FOLD_FROM = 4;    // neighbours without a change from which they are folded, in what is long
const LONG = 12;

const MARKS = { add: ["+", "added"], remove: ["−", "removed"], change: ["~", "changed"] };

// A value as a tree that folds. `changes` are those of `differences` that led to it: what they touch is marked and open.
class Tree {
  constructor(changes, opened) {
    this.opened = opened;
    this.marks = new Map();
    for (const change of changes) {
      const path = change.op === "remove" ? change.path.slice(0, -1) : change.path;
      for (let depth = 0; depth < path.length; depth++) this.mark(path.slice(0, depth), "change");
      this.mark(path, change.op === "remove" ? "change" : change.op);
    }
  }

  mark(path, op) {
    const key = JSON.stringify(path);
    if (!this.marks.has(key)) this.marks.set(key, op);
  }

  draw(value) {
    const root = make("div", "tree");
    if (this.parts(value)) this.entries(root, value, []);
    else root.append(this.leaf("", value, []));
    return root;
  }

  // The value whose entries are shown: that of an envelope is inside of it.
  parts(value) {
    const inside = kindOf(value) ? value.get("$v") : value;
    return (inside instanceof Map || Array.isArray(inside)) && inside;
  }

  entries(into, value, path) {
    const inside = this.parts(value), below = kindOf(value) ? [...path, "$v"] : path;
    const all = inside instanceof Map ? [...inside] : inside.map((item, at) => [at, item]);
    const isMarked = ([key]) => this.marks.has(JSON.stringify([...below, key]));
    for (let at = 0; at < all.length;) {
      let end = at;
      while (end < all.length && !isMarked(all[end])) end++;
      if (all.length > LONG && end - at >= FOLD_FROM) {
        into.append(this.fold(all.slice(at, end), below));
      } else {
        for (const [key, item] of all.slice(at, end)) into.append(this.entry(key, item, [...below, key]));
      }
      if (end < all.length) into.append(this.entry(all[end][0], all[end][1], [...below, all[end][0]]));
      at = end + 1;
    }
  }

  fold(entries, path) {
    const box = make("details", "fold", make("summary", "", `┊ ${entries.length.toLocaleString("en")} unchanged`));
    let drawn = 0;
    const more = () => {
      for (const [key, item] of entries.slice(drawn, drawn + PAGE)) box.append(this.entry(key, item, [...path, key]));
      drawn += PAGE;
      if (drawn < entries.length) {
        const button = make("button", "", `${(entries.length - drawn).toLocaleString("en")} more`);
        button.addEventListener("click", () => { button.remove(); more(); });
        box.append(button);
      }
    };
    box.addEventListener("toggle", () => { if (box.open && !drawn) more(); });
    return box;
  }

  entry(key, value, path) {
    const parts = this.parts(value);
    if (!parts || (parts.size ?? parts.length) === 0) return this.leaf(key, value, path);
    const name = JSON.stringify(path), box = make("details", "branch");
    const line = make("summary", "", ...this.head(key, value, path), make("span", "brief", brief(value, 120)));
    box.append(line);
    const isMarked = this.marks.has(name);
    if (isMarked) line.classList.add(MARKS[this.marks.get(name)][1]);
    let drawn = false;
    const draw = () => { if (!drawn) { drawn = true; this.entries(box, value, path); } };
    box.open = this.opened.get(name) ?? isMarked;
    if (box.open) draw();
    box.addEventListener("toggle", () => {
      if (box.open) draw();
      if (box.open !== (this.opened.get(name) ?? isMarked)) this.opened.set(name, box.open);
    });
    return box;
  }

  leaf(key, value, path) {
    const said = typeof value === "string" ? make("span", "text", value) : make("span", "scalar", brief(value, 10_000));
    const line = make("div", "leaf", ...this.head(key, value, path), said);
    const op = this.marks.get(JSON.stringify(path));
    if (op) line.classList.add(MARKS[op][1]);
    return line;
  }

  head(key, value, path) {
    const op = this.marks.get(JSON.stringify(path));
    return [make("span", "mark", op ? MARKS[op][0] : " "), make("span", "key", key), make("span", "type", typeOf(value))];
  }
}

const MOST_CHANGES = 200;

function drawChanges(changes) {
  const box = make("div", "changes");
  for (const { op, path, old, new: now } of changes.slice(0, MOST_CHANGES)) {
    const [mark, name] = MARKS[op];
    const where = make("span", "path", pathText(path) || "(everything)");
    const row = make("div", `change ${name}`, make("span", "mark", mark), " ", where, " ");
    if (op !== "add") row.append(make("del", "", brief(old, 400)));
    if (op === "change") row.append(" → ");
    if (op !== "remove") row.append(make("ins", "", brief(now, 400)));
    box.append(row);
  }
  if (changes.length > MOST_CHANGES) box.append(make("p", "muted", `${changes.length - MOST_CHANGES} more changes`));
  return box;
}

function drawMessages(title, messages) {
  const box = make("div", "talk", make("h4", "", title));
  for (const message of messages) {
    const row = make("div", "message", make("span", "role", message.get("role")), make("span", "said", message.get("text")));
    for (const call of message.get("calls")) row.append(make("code", "", `→ ${call}`));
    box.append(row);
  }
  return box;
}
