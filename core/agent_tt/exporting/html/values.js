"use strict";
// Values and what changed in them, as `packing.py` writes them and `history/changes/ops.py` describes the operations.
// A dict is a Map, which keeps the order of its keys; a number that a browser would round is an Exact.

class Exact {
  constructor(text) { this.text = text; }
}

function unpack(packed) {
  if (!Array.isArray(packed)) return packed;
  if (packed[0] === 2) return new Exact(packed[1]);
  if (packed[0] === 1) return packed.slice(1).map(unpack);
  const dict = new Map();
  for (let at = 1; at < packed.length; at += 2) dict.set(packed[at], unpack(packed[at + 1]));
  return dict;
}

// ---- operations: each gives a new value, which shares with the old one what it left alone

function child(parent, key) {
  const found = parent instanceof Map ? parent.get(key) : Array.isArray(parent) ? parent[key] : undefined;
  if (found === undefined) throw new Error("a change does not fit the state");
  return found;
}

function changed(value, path, change, depth = 0) {
  if (depth === path.length) return change(value);
  const key = path[depth], last = depth === path.length - 1;
  const before = last && value instanceof Map ? value.get(key) : child(value, key);
  const after = changed(before, path, change, depth + 1);
  const copy = value instanceof Map ? new Map(value) : value.slice();
  if (value instanceof Map) copy.set(key, after); else copy[key] = after;
  return copy;
}

function without(value, path) {
  return changed(value, path.slice(0, -1), (dict) => {
    child(dict, path.at(-1));
    const copy = new Map(dict);
    copy.delete(path.at(-1));
    return copy;
  });
}

const APPLY = {
  s: (value, [path, item]) => changed(value, path, () => unpack(item)),
  d: (value, [path]) => without(value, path),
  a: (value, [path, , items]) => changed(value, path, (list) => list.concat(unpack(items))),
  x: (value, [path, start, removed, items]) => changed(value, path,
    (list) => [...list.slice(0, start), ...unpack(items), ...list.slice(start + removed)]),
  t: (value, [path, , suffix]) => changed(value, path, (text) => text + suffix),
  o: (value, [path, keys]) => changed(value, path, (dict) => new Map(keys.map((key) => [key, child(dict, key)]))),
  m: (value, [from, to]) => {
    const moved = from.reduce(child, value);
    return changed(without(value, from), to, () => moved);
  },
};

function apply(value, ops) {
  return ops.reduce((now, [code, ...rest]) => APPLY[code](now, rest), value);
}

// ---- versions: values of which each is what changed since an earlier one

const KEPT_EVERY = 64;

class Versions {
  // `entry(number)` gives `[whole]`, or `[undefined, before, ops]`; it throws where there is none.
  constructor(entry) {
    this.entry = entry;
    this.known = new Map();
    this.last = [-1, null];
  }

  at(number) {
    if (this.last[0] === number) return this.last[1];
    const way = [];
    let at = number, value;
    for (;;) {
      if (this.known.has(at)) { value = this.known.get(at); break; }
      if (this.last[0] === at) { value = this.last[1]; break; }
      const [whole, before, ops] = this.entry(at);
      if (whole !== undefined) { value = unpack(whole); this.known.set(at, value); break; }
      way.push([at, ops]);
      at = before;
    }
    for (const [step, ops] of way.reverse()) {
      value = apply(value, ops);
      if (step % KEPT_EVERY === 0) this.known.set(step, value);
    }
    this.last = [number, value];
    return value;
  }
}

// ---- what differs between two values, as `{op, path, old, new}`

function same(a, b) {
  if (a === b) return true;
  if (a instanceof Exact) return b instanceof Exact && a.text === b.text;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at]));
  if (!(a instanceof Map) || !(b instanceof Map) || a.size !== b.size) return false;
  for (const [key, item] of a) if (!b.has(key) || !same(item, b.get(key))) return false;
  return true;
}

function differences(a, b, path = [], found = []) {
  if (a === b) return found;
  if (a instanceof Map && b instanceof Map && kindOf(a) === kindOf(b)) {
    for (const [key, item] of b) {
      if (a.has(key)) differences(a.get(key), item, [...path, key], found);
      else found.push({ op: "add", path: [...path, key], new: item });
    }
    for (const [key, item] of a) if (!b.has(key)) found.push({ op: "remove", path: [...path, key], old: item });
  } else if (Array.isArray(a) && Array.isArray(b)) {
    const shorter = Math.min(a.length, b.length);
    let front = 0, back = 0;
    while (front < shorter && same(a[front], b[front])) front++;
    while (back < shorter - front && same(a[a.length - 1 - back], b[b.length - 1 - back])) back++;
    const both = shorter - back;
    for (let at = front; at < both; at++) differences(a[at], b[at], [...path, at], found);
    for (let at = both; at < b.length - back; at++) found.push({ op: "add", path: [...path, at], new: b[at] });
    for (let at = both; at < a.length - back; at++) found.push({ op: "remove", path: [...path, at], old: a[at] });
  } else if (!same(a, b)) {
    found.push({ op: "change", path, old: a, new: b });
  }
  return found;
}

// ---- values as text

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

// What does not print, or changes the direction of what follows, as its escape.
function shown(text) {
  return String(text).replace(HIDDEN, (one) => `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`);
}

// The type of an envelope, such as "tuple"; undefined of anything else.
function kindOf(value) {
  return value instanceof Map && typeof value.get("$type") === "string" && value.has("$v") ? value.get("$type") : undefined;
}

function typeOf(value) {
  const kind = kindOf(value);
  if (kind) return value.get("class")?.toString().split(/[:.]/).at(-1) ?? kind;
  if (value === null) return "null";
  if (typeof value === "string") return `str ${[...value].length}`;
  if (Array.isArray(value)) return `list ${value.length}`;
  if (value instanceof Map) return `dict ${value.size}`;
  return typeof value === "boolean" ? "bool" : value instanceof Exact && /[.e]/i.test(value.text) ? "float" : "int";
}

function brief(value, limit = 200) {
  if (typeof value === "string") {
    return shown(JSON.stringify(value.length > limit ? `${value.slice(0, limit)}…` : value));
  }
  if (value instanceof Exact) return value.text;
  if (kindOf(value)) {
    const inside = value.get("$v");
    return `${typeOf(value)}(${typeof inside === "string" ? shown(inside).slice(0, limit) : brief(inside, limit)})`;
  }
  if (!(value instanceof Map) && !Array.isArray(value)) return String(value);
  let text = "";
  for (const part of value instanceof Map ? value : value.map((item) => [undefined, item])) {
    if (text.length > limit) return cut(value, `${text.slice(0, limit)}…`);
    const [key, item] = part;
    text += (text && ", ") + (key === undefined ? "" : `${brief(key, limit)}: `) + brief(item, limit);
  }
  return cut(value, text);
}

function cut(value, inside) {
  return value instanceof Map ? `{${inside}}` : `[${inside}]`;
}

function pathText(path) {
  return path.filter((key) => key !== "$v").reduce((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    if (/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(key)) return text ? `${text}.${key}` : key;
    return `${text}[${shown(JSON.stringify(key))}]`;
  }, "");
}

// All words and numbers in a packed value, for the search.
function words(packed, found = []) {
  if (!Array.isArray(packed)) found.push(packed);
  else for (const part of packed.slice(1)) words(part, found);
  return found;
}

// The same of operations: what they brought, and where to.
function wordsOf(ops, found = []) {
  for (const [code, path, ...rest] of ops) {
    found.push(...path);
    if (code === "t") found.push(rest[1]);
    else if (code === "m") found.push(...rest[0]);
    else if (code !== "d" && code !== "o") words(rest.at(-1), found);
  }
  return found;
}
