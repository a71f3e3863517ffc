// A client of ldpstats: it takes a respondent's true answer and gives a report under local
// differential privacy, which is all that leaves the device. It follows the specification
// (SPECIFICATION.md, version 1), whose sections the comments name.
//
// It runs in browsers and in Node, needs nothing else, and sends, stores and prints nothing.
// No error shows an answer.

export const VERSION = 1;

// Node 18 has no global crypto; browsers always do.
const CRYPTO =
  globalThis.crypto ??
  (await import(/* webpackIgnore: true */ /* @vite-ignore */ "node:crypto")).webcrypto;

const W = 1n << 64n;
const HALF = 2 ** 32;
const BLOCK = 1024; // bytes that are taken from the system at a time
const MOST_BITS = 2 ** 24;
const MOST_RANKS = 2 ** 24; // numbers that are ranked for one report
const MOST_TRIES = 2 ** 20; // of one step: a good source needs a few

/** What a client refuses. `reason` is one of section 11; the message shows no answer. */
export class Refused extends Error {
  constructor(reason, message) {
    super(message);
    this.name = "Refused";
    this.reason = reason;
  }
}

const refuse = (reason, message) => {
  throw new Refused(reason, message);
};
const stuck = () => refuse("random", "a step was drawn again and again: the source is no good");
const broken = (message) => refuse("document", `this is no client document: ${message}`);

// ---- Documents (section 2) ----------------------------------------------------------------------

/** A deep-frozen copy of what JSON can hold; objects have no prototype. */
function copied(value, depth = 0) {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (Number.isSafeInteger(value)) return value;
  if (typeof value !== "object" || depth > 64) broken("it holds what no such document can");
  if (Array.isArray(value)) {
    return Object.freeze(Array.from(value, (entry) => copied(entry, depth + 1)));
  }
  const copy = Object.create(null);
  for (const name of Object.keys(value)) copy[name] = copied(value[name], depth + 1);
  return Object.freeze(copy);
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A field of an object, which must be there; null counts as there. */
function field(object, name) {
  if (!isObject(object) || !(name in object)) broken(`it has no field "${name}"`);
  return object[name];
}

function integer(value, least, most = Number.MAX_SAFE_INTEGER) {
  if (!Number.isInteger(value) || value < least || value > most) broken("a number is out of range");
  return value;
}

function list(value, length = null) {
  if (!Array.isArray(value)) broken("a list is missing");
  if (length !== null && value.length !== length)
    broken("a list has another length than it should");
  return value;
}

/** Numbers of things of which there are so many. */
const numbers = (value, size) => list(value).map((entry) => integer(entry, 0, size - 1));

const text = (value) => (typeof value === "string" ? value : broken("a text is missing"));

const character = (value) =>
  Array.from(text(value)).length === 1 ? value : broken("a text is no character");

/** An integer of any size, as text. */
function big(value) {
  if (typeof value !== "string" || !/^(0|[1-9][0-9]*)$/.test(value)) broken("a text is no integer");
  return BigInt(value);
}

/** A size, which may be text. */
function size(value) {
  return integer(typeof value === "string" ? Number(big(value)) : value, 1);
}

/** A fraction of two texts. */
function fraction(value) {
  const [numerator, denominator] = list(value, 2).map(big);
  if (denominator === 0n) broken("a fraction has the denominator 0");
  return { numerator, denominator };
}

/** A list of texts, or how many there are of 0, 1, ... */
function texts(value) {
  if (typeof value === "number") {
    const size = integer(value, 1);
    const isNumber = (given) => /^(0|[1-9][0-9]{0,15})$/.test(given) && Number(given) < size;
    const find = (given) => (isNumber(given) ? Number(given) : -1);
    return { given: value, size, at: String, find };
  }
  const places = new Map(list(value).map((label, i) => [text(label), i]));
  if (places.size !== value.length || !value.length) broken("texts are equal, or there are none");
  const find = (label) => places.get(label) ?? -1;
  return { given: value, size: value.length, at: (i) => value[i], find };
}

function byCodePoint(a, b) {
  const first = Array.from(a);
  const second = Array.from(b);
  const at = first.findIndex((letter, i) => letter !== second[i]);
  if (at < 0 || at >= second.length) return first.length - second.length;
  return first[at].codePointAt(0) - second[at].codePointAt(0);
}

const escaped = (letter) => "\\u" + letter.charCodeAt(0).toString(16).padStart(4, "0");

/** The canonical text of section 2.4. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
  if (!isObject(value)) return String(value === 0 ? 0 : value);
  const names = Object.keys(value).sort(byCodePoint);
  return `{${names.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
}

/** The fingerprint of a client document, without regard to the one that it has. */
export function fingerprint(document) {
  return fingerprinted(copied(document));
}

function fingerprinted(copy) {
  if (!isObject(copy)) broken("it is no object");
  const { fingerprint: _, ...rest } = copy;
  return hexadecimal(sha256(utf8(canonical(rest)))).slice(0, 12);
}

// ---- Random words and elementary draws (sections 1 and 3) ---------------------------------------

/** The words of a source of bytes; `next` puts one into `hi` and `lo`. */
class Words {
  #random;
  #block;
  #view = new DataView(new ArrayBuffer(0));
  #at = 0;
  hi = 0;
  lo = 0;

  constructor(random) {
    // of a source that is given, no byte is taken before it is used
    this.#block = random === undefined ? BLOCK : 8;
    this.#random = random ?? ((n) => CRYPTO.getRandomValues(new Uint8Array(n)));
  }

  next() {
    if (this.#at === this.#view.byteLength) this.#fill();
    this.lo = this.#view.getUint32(this.#at, true);
    this.hi = this.#view.getUint32(this.#at + 4, true);
    this.#at += 8;
  }

  #fill() {
    let bytes = null;
    try {
      bytes = this.#random(this.#block);
    } catch {
      // refused below, as a source that gives too few
    }
    if (!(bytes instanceof Uint8Array) || bytes.length !== this.#block) {
      refuse("random", `the random source did not give the ${this.#block} bytes asked for`);
    }
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#at = 0;
  }

  whole() {
    this.next();
    return (BigInt(this.hi) << 32n) | BigInt(this.lo);
  }

  bytes(n) {
    const out = new Uint8Array(n);
    const view = new DataView(out.buffer);
    for (let i = 0; i < n; i += 8) {
      this.next();
      view.setUint32(i, this.lo, true);
      view.setUint32(i + 4, this.hi, true);
    }
    return out;
  }
}

/** A threshold: its halves, its first twelve binary digits, and what they leave. */
class Threshold {
  #digits = null;
  #rest = null;

  constructor(value) {
    this.value = value;
    this.hi = Number(value >> 32n);
    this.lo = Number(value & 0xffffffffn);
  }

  get digits() {
    if (this.#digits === null) {
      const digits = this.value.toString(2).padStart(64, "0").replace(/0+$/, "");
      this.#digits = Array.from(digits.slice(0, 12), Number);
    }
    return this.#digits;
  }

  get rest() {
    this.#rest ??= new Threshold((this.value << 12n) % W);
    return this.#rest;
  }
}

function threshold(value) {
  const number = big(value);
  if (number > W) broken("a threshold is above 2^64");
  return new Threshold(number);
}

/** Lemire's multiply and shift: one of 0 .. k-1 from a half word, and further ones if need be. */
function scaled(low, k, words) {
  const spare = HALF % k;
  const upper = k >>> 16;
  const lower = k & 0xffff;
  for (let tries = 0; Math.imul(low, k) >>> 0 < spare; tries += 1) {
    if (tries === MOST_TRIES) stuck();
    words.next();
    low = words.lo;
  }
  return Math.floor((low * upper + Math.floor((low * lower) / 65536)) / 65536);
}

function kept(x, k, keep, rest, words) {
  words.next();
  const low = words.lo;
  let own = words.hi < keep.hi;
  if (words.hi === keep.hi) {
    words.next();
    own = words.hi < keep.lo || (words.hi === keep.lo && rest !== null && below(rest, words));
  }
  return own ? x : scaled(low, k, words);
}

const NEVER = new Threshold(0n);

const uniform = (k, words) => kept(0, k, NEVER, null, words);

/** True with a probability from 0 to 1: exactly so likely. */
function below({ numerator, denominator }, words) {
  let left = numerator;
  while (left > 0n && left < denominator) left = left * W - words.whole() * denominator;
  return left > 0n;
}

/** 64 n independent bits in 2 n halves of words, the lower half of each first. */
function coins(n, limit, words) {
  const out = new Uint32Array(2 * n);
  if (limit.value === 0n) return out;
  if (limit.value === W) return out.fill(HALF - 1);
  const tied = new Uint32Array(2 * n).fill(HALF - 1);
  for (let start = 0; start < 2 * n; start += 8192) {
    const stop = Math.min(2 * n, start + 8192);
    for (const digit of limit.digits) compare(out, tied, start, stop, digit, words);
  }
  if (limit.rest.value > 0n) settle(out, tied, limit.rest, words);
  return out;
}

/** Compare one more binary digit of the bits that are tied. */
function compare(out, tied, start, stop, digit, words) {
  for (let j = start; j < stop; j += 2) {
    words.next();
    if (digit === 1) {
      out[j] |= tied[j] & ~words.lo;
      out[j + 1] |= tied[j + 1] & ~words.hi;
    }
    tied[j] &= words.lo;
    tied[j + 1] &= words.hi;
  }
}

/** Draw the bits that are tied after the first digits by those that are left. */
function settle(out, tied, limit, words) {
  const places = [];
  for (let j = 0; j < out.length; j += 2) if (tied[j] || tied[j + 1]) places.push(j);
  if (!places.length) return;
  const drawn = coins(places.length, limit, words);
  places.forEach((j, i) => {
    out[j] |= tied[j] & drawn[2 * i];
    out[j + 1] |= tied[j + 1] & drawn[2 * i + 1];
  });
}

function coin(keep, words) {
  return (coins(1, keep, words)[0] & 1) === 1;
}

const ZERO = 48; // the character "0": bits are kept as the characters that they become

/** How bits of one threshold each are drawn: spans of bytes, by increasing threshold. */
function spans(limits) {
  const places = new Map();
  limits.forEach(({ value }, j) => {
    if (!places.has(value)) places.set(value, []);
    places.get(value).push(j);
  });
  const values = Array.from(places.keys()).sort((a, b) => (a < b ? -1 : 1));
  return values.map((value) => {
    const bits = places.get(value);
    const first = bits[0] >> 3;
    const size = ((bits[bits.length - 1] >> 3) - first + 8) >> 3;
    return { limit: limits[bits[0]], bits, first, size };
  });
}

/** BITS: bits of spans, some of which are drawn again by `own(place)`. */
function drawnBits(m, groups, places, own, words) {
  const out = new Uint8Array(m);
  for (const { limit, bits, first, size } of groups) {
    const drawn = coins(size, limit, words);
    for (const j of bits) {
      const b = j - 8 * first;
      out[j] = ZERO + ((drawn[b >> 5] >>> (b & 31)) & 1);
    }
  }
  for (const p of places) out[p] = ZERO + ((coins(1, own(p), words)[0] >>> 7) & 1);
  return out;
}

function bitText(bits) {
  let found = "";
  for (let i = 0; i < bits.length; i += 8192) {
    found += String.fromCharCode.apply(null, bits.subarray(i, i + 8192));
  }
  return found;
}

/** One of 0 .. bound-1, from whole words. */
function number(bound, words) {
  const most = W - (W % bound);
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const word = words.whole();
    if (word < most) return Number(word % bound);
  }
  return stuck();
}

/** How many entries of an increasing list are below a word, or not above it. */
function count(upper, word, equal) {
  let low = 0;
  let high = upper.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (upper[middle] < word || (equal && upper[middle] === word)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function inverted({ upper, rest, total }, words) {
  const word = words.whole();
  const start = count(upper, word, false);
  const stop = count(upper, word, true);
  return start === stop ? start : start + reached(rest.slice(start, stop), total, words);
}

function reached(rest, total, words) {
  let passed = 0;
  let left = rest;
  while (left.length) {
    const word = words.whole();
    const digits = left.map((value) => (value * W) / total);
    const start = count(digits, word, false);
    const stop = count(digits, word, true);
    left = left.slice(start, stop).map((value) => value * W - word * total);
    const positive = left.findIndex((value) => value !== 0n);
    const done = positive < 0 ? left.length : positive;
    passed += start + done;
    left = left.slice(done);
  }
  return passed;
}

/** Words that do not decrease. */
function increasing(value) {
  const upper = list(value).map(big);
  if (upper.some((word, i) => word >= W || word < upper[i - 1])) broken("words decrease");
  return BigUint64Array.from(upper);
}

/** The last words of so many outcomes at most, the last of which is certain. */
function upperWords(value, outcomes) {
  const upper = increasing(value);
  integer(upper.length, 1, outcomes);
  if (upper[upper.length - 1] !== W - 1n) broken("probabilities do not sum to one");
  return upper;
}

function inversion(value, outcomes) {
  const upper = increasing(field(value, "upper"));
  const rest = list(field(value, "rest"), upper.length).map(big);
  const total = big(field(value, "total"));
  if (total === 0n || rest.some((one) => one > total)) broken("a rest is above its total");
  integer(upper.length + 1, 1, outcomes);
  return { upper, rest, total };
}

// ---- Draws of labels (section 5.1): opened, they take the number of an answer and words ---------

const LABELS = new Map([
  ["same", openSame],
  ["keep", openKeep],
  ["rows", openRows],
  ["exact", openExact],
  ["own", openOwn],
  ["others", openOthers],
  ["band", openBand],
  ["replace", openReplace],
  ["block", openBlock],
  ["parts", openParts],
]);

/** Open a draw of labels, with so many answers and reports. */
function openLabels(draw, answers, reports) {
  const open = LABELS.get(field(draw, "kind"));
  if (open === undefined) broken("its draw is of no kind that is known here");
  return open(draw, answers, reports);
}

function openSame(draw, answers, reports) {
  integer(answers, 1, reports);
  return (x) => x;
}

function openKeep(draw, answers, reports) {
  const k = integer(field(draw, "k"), answers, Math.min(reports, HALF - 1));
  const keep = threshold(field(draw, "keep"));
  const rest = "rest" in draw ? fraction(draw.rest) : null;
  if (rest !== null && rest.numerator >= rest.denominator) broken("a rest is not below one");
  return (x, words) => kept(x, k, keep, rest, words);
}

function openRows(draw, answers, reports) {
  const rows = list(field(draw, "rows"), answers).map((row) => {
    const upper = upperWords(field(row, "upper"), reports);
    const outputs = "outputs" in row ? numbers(row.outputs, reports) : null;
    return { upper, outputs: outputs && list(outputs, upper.length) };
  });
  return (x, words) => {
    const { upper, outputs } = rows[x];
    const y = count(upper, words.whole(), false);
    return outputs === null ? y : outputs[y];
  };
}

function openExact(draw, answers, reports) {
  const rows = list(field(draw, "rows"), answers).map((row) => inversion(row, reports));
  return (x, words) => inverted(rows[x], words);
}

function openOwn(draw, answers, reports) {
  const law = inversion(field(draw, "law"), reports + 1);
  integer(answers, 1, reports);
  return (x, words) => {
    const i = inverted(law, words);
    return i === 0 ? x : i - 1;
  };
}

function openOthers(draw, answers, reports) {
  const law = inversion(field(draw, "law"), reports);
  const accepted = list(field(draw, "accepted"), answers).map(fraction);
  return (x, words) => {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const y = inverted(law, words);
      if (y !== x) return y;
      const { numerator, denominator } = accepted[x];
      const word = words.whole();
      const share = (numerator * W) / denominator;
      const bound = share < W ? share : W - 1n;
      const rest = { numerator: numerator * W - bound * denominator, denominator };
      if (word < bound || (word === bound && below(rest, words))) return y;
    }
    return stuck();
  };
}

function openBand(draw, answers, reports) {
  const k = integer(field(draw, "k"), answers, HALF - 1);
  const width = integer(field(draw, "width"), 1, HALF - 1);
  const keep = threshold(field(draw, "keep"));
  integer(k + width - 1, 1, Math.min(reports, HALF - 1));
  return (x, words) => {
    const near = coin(keep, words);
    const a = x + uniform(width, words);
    const b = uniform(k + width - 1, words);
    return near ? a : b;
  };
}

function openReplace(draw, answers, reports) {
  const keep = threshold(field(draw, "keep"));
  const by = numbers(field(draw, "by"), reports);
  const law = "law" in draw ? upperWords(field(draw.law, "upper"), by.length) : null;
  if (law !== null) integer(law.length, by.length);
  if (!by.length && keep.value !== W) broken("it replaces answers by none");
  integer(answers, 1, reports);
  return (x, words) => {
    words.next();
    if (coin(keep, words)) return x;
    return by[law === null ? uniform(by.length, words) : count(law, words.whole(), false)];
  };
}

function openParts(draw, answers, reports) {
  const parts = list(field(draw, "parts")).map((part) => {
    const own = integer(field(part, "answers"), 1);
    const made = integer(field(part, "reports"), 1);
    return { own, made, draw: openLabels(field(part, "draw"), own, made) };
  });
  const product = (name) => parts.reduce((total, part) => total * part[name], 1);
  integer(answers, 1, product("own"));
  integer(product("made"), 1, reports);
  return (x, words) => {
    const own = [];
    for (let i = parts.length - 1, left = x; i >= 0; i -= 1) {
      own[i] = left % parts[i].own;
      left = Math.floor(left / parts[i].own);
    }
    return parts.reduce((y, { made, draw: one }, i) => y * made + one(own[i], words), 0);
  };
}

// ---- Blocks (section 5.2) -----------------------------------------------------------------------

const DESIGNS = new Map([
  ["single", openSingle],
  ["hadamard", openHadamard],
  ["projective", openProjective],
]);

function openBlock(draw, answers, reports) {
  const [own, others] = ["own", "others"].map((name) => size(field(draw, name)));
  const keep = threshold(field(draw, "keep"));
  const open = DESIGNS.get(field(field(draw, "design"), "kind"));
  if (open === undefined) broken("its blocks are of no design that is known here");
  const label = open(draw.design, answers, reports, own, others);
  const sizes = [BigInt(others), BigInt(own)];
  return (x, words) => {
    const isOwn = coin(keep, words);
    return label(x, number(sizes[Number(isOwn)], words), isOwn);
  };
}

function openSingle(design, answers, reports, own, others) {
  integer(own, 1, 1);
  integer(others, answers - 1, reports - 1);
  return (x, i, isOwn) => (isOwn ? x : i + Number(i >= x));
}

function parity(bits) {
  let left = bits;
  for (let shift = 16; shift > 0; shift >>= 1) left ^= left >>> shift;
  return left & 1;
}

function openHadamard(design, answers, reports, own, others) {
  const b = integer(field(design, "order"), 2, 2 ** 30);
  if (b & (b - 1)) broken("an order is no power of two");
  integer(own, b / 2, b / 2);
  const labels = integer(others + own, Math.ceil(answers / (b - 1)) * b, reports);
  if (labels % b) broken("a block is not whole");
  return (x, i, isOwn) => {
    const part = Math.floor(x / (b - 1)) * b;
    if (!isOwn && i >= b / 2) {
      const far = i - b / 2;
      return far >= part ? far + b : far;
    }
    const row = (x % (b - 1)) + 1;
    const low = row & -row;
    const y = (i & (low - 1)) | ((i & ~(low - 1)) << 1);
    return part + (parity(row & y) === Number(isOwn) ? y | low : y);
  };
}

/** Points of projective space over the integers modulo a prime, as vectors and as numbers. */
class Geometry {
  constructor(q) {
    this.q = q;
  }

  before(j) {
    return (this.q ** j - 1) / (this.q - 1); // points whose last place is before j
  }

  digits(n, length) {
    const out = [];
    for (let i = 0, left = n; i < length; i += 1, left = Math.floor(left / this.q)) {
      out.push(left % this.q);
    }
    return out;
  }

  last(n) {
    let j = 0;
    while (this.before(j + 1) <= n) j += 1;
    return j;
  }

  point(n, length) {
    const j = this.last(n);
    const out = this.digits(n - this.before(j), j);
    return [...out, 1, ...new Array(length - j - 1).fill(0)];
  }

  position(vector) {
    const { q } = this;
    let j = vector.length - 1;
    while (vector[j] === 0) j -= 1;
    let inverse = 1;
    while ((inverse * vector[j]) % q !== 1) inverse += 1;
    const digits = vector.slice(0, j).map((entry) => (entry * inverse) % q);
    return this.before(j) + digits.reduceRight((sum, entry) => sum * q + entry, 0);
  }
}

function openProjective(design, answers, reports, own, others) {
  const q = integer(field(design, "q"), 2, 2 ** 20);
  for (let d = 2; d * d <= q; d += 1) if (q % d === 0) broken("an order is no prime");
  const t = integer(field(design, "t"), 2, 52);
  const space = new Geometry(q);
  const points = integer(space.before(t), 1, reports);
  integer(answers, 1, points);
  integer(own, space.before(t - 1), space.before(t - 1));
  integer(others, q ** (t - 1), q ** (t - 1));
  return (x, i, isOwn) => {
    const X = space.point(x, t);
    const j = space.last(x);
    const V = isOwn ? space.point(i, t - 1) : space.digits(i, t - 1);
    V.splice(j, 0, 0);
    const sum = V.reduce((total, entry, place) => (total + entry * X[place]) % q, 0);
    V[j] = (Number(!isOwn) + q - sum) % q;
    return space.position(V);
  };
}

// ---- Draws of bits (section 5.3): opened, they give characters 0 and 1 --------------------------

const BITS = new Map([
  ["bits", openBits],
  ["subset", openSubset],
  ["reveal", openReveal],
]);

/** Thresholds of m bits: a list of them, or one for all. */
function thresholds(value, m) {
  if (!Array.isArray(value)) return new Array(m).fill(threshold(value));
  return list(value, m).map(threshold);
}

function openBits(draw, answers, reports) {
  const m = integer(field(draw, "bits"), answers, MOST_BITS);
  const own = thresholds(field(draw, "own"), m);
  const groups = spans(thresholds(field(draw, "other"), m));
  const sent = integer(field(draw, "sent"), reports, Math.min(m, reports));
  return (x, words) => drawnBits(m, groups, [x], (p) => own[p], words).subarray(0, sent);
}

function openSubset(draw, answers, reports) {
  const k = integer(field(draw, "k"), Math.max(answers, reports, 2), Math.min(reports, MOST_BITS));
  const size = integer(field(draw, "size"), 1, k - 1);
  const keep = threshold(field(draw, "keep"));
  return (x, words) => {
    const own = coin(keep, words);
    const out = chosen(k, own ? size - 1 : size, words);
    out[k - 1] = out[x];
    out[x] = ZERO + Number(own);
    return out;
  };
}

/** The places of the n smallest of k - 1 random keys; the last place stays free. */
function chosen(k, n, words) {
  const keys = new Uint32Array(k - 1 + ((k - 1) % 2));
  for (let drawn = 0; drawn < Math.max(MOST_TRIES, 64 * k); drawn += k) {
    for (let i = 0; i < keys.length; i += 2) {
      words.next();
      keys[i] = words.lo;
      keys[i + 1] = words.hi;
    }
    const sorted = keys.slice(0, k - 1).sort();
    if (n === 0 || n === k - 1 || sorted[n - 1] !== sorted[n]) {
      const bound = n === 0 ? -1 : sorted[n - 1];
      return Uint8Array.from({ length: k }, (_, i) => ZERO + Number(i < k - 1 && keys[i] <= bound));
    }
  }
  return stuck();
}

function openReveal(draw, answers, reports) {
  const sensitive = numbers(field(draw, "sensitive"), answers);
  const S = sensitive.length;
  if (sensitive.some((x, i) => i > 0 && x <= sensitive[i - 1])) broken("a list does not increase");
  const own = [...list(field(draw, "own"), S).map(threshold), threshold(field(draw, "told"))];
  const groups = spans([...list(field(draw, "other"), S).map(threshold), NEVER]);
  const place = new Map(sensitive.map((x, i) => [x, i]));
  integer(answers, reports, Math.min(reports, MOST_BITS));
  return (x, words) => {
    words.next();
    const found = drawnBits(S + 1, groups, [place.get(x) ?? S], (p) => own[p], words);
    const out = new Uint8Array(answers).fill(ZERO);
    sensitive.forEach((at, i) => (out[at] = found[i]));
    if (!place.has(x)) out[x] = found[S];
    return out;
  };
}

// ---- Hashes (section 6) -------------------------------------------------------------------------

const word64 = (value) => BigInt.asUintN(64, value);

function mix64(number64) {
  let z = word64((number64 ^ (number64 >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = word64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

const key = (c, j) => mix64(word64(0x9e3779b97f4a7c15n * BigInt(65536 * c + j + 1)));

const ENCODER = new TextEncoder();
const utf8 = (given) => ENCODER.encode(given);

const HASHES = new Map([
  ["ldpstats", { most: 65535, cells: ownCells }],
  ["md5", { most: 16, cells: md5Cells }],
  ["permutation", { most: 65535, cells: permutedCells }],
]);

function ownCells(answer, c, { m, h }) {
  const hash = new DataView(sha256(utf8(answer.text)).buffer).getBigUint64(0, true);
  return Array.from({ length: h }, (_, j) =>
    Number(((mix64(hash ^ key(c, j)) >> 32n) * BigInt(m)) >> 32n),
  );
}

function md5Cells(answer, c, { m, h }) {
  const bytes = utf8(answer.text);
  const message = new Uint8Array(4 + bytes.length);
  new DataView(message.buffer).setUint32(0, c);
  message.set(bytes, 4);
  return Array.from(md5(message).subarray(0, h), (byte) => byte % m);
}

function permutedCells(answer, c, { m, h, size }) {
  const cells = Array.from({ length: h }, (_, j) => {
    const own = key(c, j);
    const mixed = mix64(BigInt(answer.x) ^ own);
    let rank = 0;
    for (let i = 0; i < size; i += 1) if (mix64(BigInt(i) ^ own) < mixed) rank += 1;
    return rank % m;
  });
  return cells.map((cell, j) => (cells.indexOf(cell) < j ? cells[0] : cell));
}

/** The cells of an answer in a cohort, from the fields of a draw. */
function openHash(draw, labels) {
  const kind = field(draw, "hash");
  const found = HASHES.get(kind);
  if (found === undefined || (kind === "permutation" && !labels)) broken("its hash is not known");
  const shape = {
    C: integer(field(draw, "cohorts"), 1, 2 ** 31),
    m: integer(field(draw, "cells"), 1, kind === "md5" ? 256 : 2 ** 31),
    h: integer(field(draw, "hashes"), 1, found.most),
    size: labels?.size,
  };
  if (kind === "permutation") integer(shape.size * shape.h, 1, MOST_RANKS);
  return { ...shape, cells: (answer, c) => found.cells(answer, c, shape) };
}

// ---- Questions: opened, they read an answer, and draw what is sent for what was read ------------

const QUESTIONS = new Map([
  ["hash", openHashed],
  ["rappor", openRappor],
  ["kept", openKept],
  ["personal", openPersonal],
  ["grams", openGrams],
]);

/** Open a question, which stands "alone", in a "sheet", or is a "part" of another one. */
function openQuestion(question, place) {
  const given = field(question, "answers");
  const labels = given === null ? null : texts(given);
  const reports = field(question, "reports");
  const draw = field(question, "draw");
  const kind = field(draw, "kind");
  const open = QUESTIONS.get(kind);
  if (open !== undefined) return open(draw, labels, reports, place);
  if (labels === null && kind === "same") return { read: wellFormed, send: (answer) => answer };
  if (labels === null) broken("its answers are not listed");
  const send = openSent(draw, labels.size, reports);
  return { read: listed(labels), send };
}

/** Open a draw of labels or bits: what is sent is text. */
function openSent(draw, answers, reports) {
  const open = BITS.get(field(draw, "kind"));
  if (open !== undefined) {
    const made = open(draw, answers, integer(field(reports, "bits"), 1));
    return (x, words) => bitText(made(x, words));
  }
  const { size, at } = texts(reports);
  const made = openLabels(draw, answers, size);
  return (x, words) => at(made(x, words));
}

function listed(labels) {
  return (answer) => {
    const x = typeof answer === "string" ? labels.find(answer) : -1;
    return x < 0 ? refuse("answer", "the answer is none of those that can be given") : x;
  };
}

function wellFormed(answer) {
  if (typeof answer === "string" && !/\p{Surrogate}/u.test(answer)) return answer;
  return refuse("answer", "the answer is no text of whole characters");
}

/** Read an answer to be hashed, from a list or not. */
function hashable(labels) {
  const find = labels === null ? () => -1 : listed(labels);
  return (answer) => ({ text: wellFormed(answer), x: find(answer) });
}

function openHashed(draw, labels) {
  const { C, m, cells } = openHash(draw, labels);
  const then = field(draw, "then");
  const makers = new Map([
    ["keep", hashedLabel],
    ["bits", hashedBits],
  ]);
  const open = makers.get(field(then, "kind"));
  if (open === undefined) broken("its draw is of no kind that is known here");
  const made = open(then, m);
  const send = (answer, words) => {
    const c = uniform(C, words);
    return `${c}:${made(cells(answer, c), words)}`;
  };
  return { read: hashable(labels), send };
}

function hashedLabel(then, m) {
  const keep = threshold(field(then, "keep"));
  return (cells, words) => String(kept(cells[0], m, keep, null, words));
}

function hashedBits(then, m) {
  const own = threshold(field(then, "own"));
  const groups = spans(thresholds(field(then, "other"), integer(m, 1, MOST_BITS)));
  return (cells, words) => bitText(drawnBits(m, groups, cells, () => own, words));
}

/** RAPPOR (sections 5.4 and 8): its permanent response follows from the secret that `begin` gets. */
function openRappor(draw, labels, reports, place) {
  if (place === "part") broken("RAPPOR is no part of a question");
  const { C, m, cells } = openHash(draw, labels);
  const limits = ["owned", "absent", "one", "zero"].map((name) => threshold(field(draw, name)));
  const [owned, absent, one, zero] = limits;
  const digest = text(field(draw, "digest"));
  const once = field(draw, "once");
  if (typeof once !== "boolean") broken("a truth value is missing");
  integer(m, 1, MOST_BITS);
  let secret, cohort, head;
  const begin = (given, words) => {
    secret = given ?? words.bytes(32);
    const w = keyedWords(secret, utf8(`ldpstats cohort 1 ${C}`), 1)[0];
    cohort = Number((w * BigInt(C)) >> 64n);
    head = utf8(`ldpstats permanent 1 ${cohort} ${absent.value} ${digest}\0`);
    return secret;
  };
  const send = (answer, words) => {
    const permanent = keyedWords(secret, joined(head, sha256(utf8(answer.text))), m);
    const places = new Set(cells(answer, cohort));
    const isOne = (word, j) => word < (places.has(j) ? owned : absent).value;
    const groups = spans(permanent.map((word, j) => (isOne(word, j) ? one : zero)));
    return `${cohort}:${bitText(drawnBits(m, groups, [], null, words))}`;
  };
  return { read: hashable(labels), send, begin, once };
}

/** A response to each answer, drawn once, from the secret that `begin` gets, with new noise. */
function openKept(draw, labels, reports, place) {
  if (place === "part" || labels === null) broken("its responses cannot be kept");
  const { size, at } = texts(reports);
  const responses = integer(field(draw, "responses"), 1);
  const first = field(draw, "first");
  if (field(first, "kind") !== "rows") broken("its responses are drawn in another way");
  const respond = openRows(first, labels.size, responses);
  const then = openLabels(field(draw, "then"), responses, size);
  const law = { answers: labels.given, digest: text(field(draw, "digest")), first };
  const head = joined(utf8("ldpstats kept 1 "), sha256(utf8(canonical(law))));
  let secret;
  const begin = (given, words) => (secret = given ?? words.bytes(32));
  const send = (x, words) => {
    const number = new DataView(new ArrayBuffer(8));
    number.setBigUint64(0, BigInt(x));
    const [word] = keyedWords(secret, joined(head, new Uint8Array(number.buffer)), 1);
    return at(then(respond(x, { whole: () => word }), words));
  };
  return { read: listed(labels), send, begin, once: false };
}

/** A question with categories of the respondent's own, which only her device knows. */
function openPersonal(draw, labels, reports, place) {
  if (place === "part" || labels === null) broken("it has categories of the respondent's own");
  const inner = field(draw, "draw");
  if (!["replace", "reveal"].includes(field(inner, "kind"))) broken("its draw is of another kind");
  const names = texts(list(field(draw, "tags")));
  const send = openSent(inner, labels.size + names.size, reports);
  const tags = new Map(); // numbers of tags by those of answers
  const tag = (given) => {
    for (const [name, answers] of given) {
      const i = names.find(name);
      if (i < 0 || !Array.isArray(answers)) refuse("tags", "a tag is none, or has no list");
      for (const answer of answers) own(answer, i);
    }
  };
  const own = (answer, i) => {
    const x = typeof answer === "string" ? labels.find(answer) : -1;
    if (x < 0) refuse("tags", "a tag was given an unknown answer");
    if ((tags.get(x) ?? i) !== i) refuse("tags", "two tags share an answer");
    tags.set(x, i);
  };
  const find = listed(labels);
  const read = (answer) => {
    const x = find(answer);
    return tags.has(x) ? labels.size + tags.get(x) : x;
  };
  return { read, send, tag };
}

/** Strings of letters, of which two pieces are reported, and the whole. */
function openGrams(draw, labels, reports) {
  if (labels !== null || reports !== null) broken("strings have no lists of texts");
  const length = integer(field(draw, "length"), 2, 2 ** 16);
  const gram = integer(field(draw, "gram"), 1, length);
  const step = integer(field(draw, "step"), 1, length);
  const letters = new Set(text(field(draw, "alphabet")));
  const pad = character(field(draw, "pad"));
  const replace = field(draw, "replace") === null ? null : character(draw.replace);
  const grams = openQuestion(field(draw, "gram_question"), "part");
  const strings = openQuestion(field(draw, "string_question"), "part");
  const starts = [];
  for (let i = 0; i + gram <= length; i += step) starts.push(i);
  if (starts.length < 2) broken("there are no two pieces of a string");

  const read = (answer) => {
    if (answer === "") refuse("answer", "the answer is empty");
    const given = Array.from(wellFormed(answer), (letter) => {
      if (letters.has(letter)) return letter;
      return replace ?? refuse("answer", "the answer has a letter that cannot be");
    });
    const whole = Array.from({ length }, (_, i) => given[i] ?? pad);
    let end = length;
    while (end > 0 && whole[end - 1] === pad) end -= 1;
    const pieces = starts.map((i) => grams.read(whole.slice(i, i + gram).join("")));
    return { pieces, string: strings.read(whole.slice(0, end).join("")) };
  };
  const send = ({ pieces, string }, words) => {
    const K = starts.length;
    let j = uniform((K * (K - 1)) / 2, words);
    let i = 0;
    for (; j >= K - 1 - i; i += 1) j -= K - 1 - i;
    const pair = [i, i + 1 + j];
    return Object.freeze({
      positions: Object.freeze(pair.map((place) => starts[place])),
      grams: Object.freeze(pair.map((place) => grams.send(pieces[place], words))),
      string: strings.send(string, words),
    });
  };
  return { read, send };
}

// ---- What a report spends (section 5.5) ----------------------------------------------------------
// Each function takes a draw that was opened, for n answers, and returns epsilon: the largest
// logarithm of two probabilities of one report; Infinity where a report can tell for certain.

/** ln of a positive number of any size. */
function logarithm(value) {
  const digits = value.toString(16);
  const rest = Math.max(digits.length - 14, 0);
  return Math.log(Number(`0x${digits.slice(0, 14)}`)) + 4 * rest * Math.LN2;
}

/** ln(a / b) of two numbers that are not negative; 0 where both are 0. */
function logRatio(a, b) {
  if (a < b) return -logRatio(b, a);
  if (b === 0n) return a ? Infinity : 0;
  if (a >= 2n * b) return logarithm(a) - logarithm(b);
  return Math.log1p(Number(((a - b) << 1000n) / b) / 2 ** 1000);
}

const cumulated = (weights) => weights.map((end, i) => end - (i ? weights[i - 1] : 0n));
const sum = (values) => values.reduce((total, value) => total + value, typeof values[0] === "bigint" ? 0n : 0);
const largest = (values) => values.reduce((most, value) => (value > most ? value : most), 0);

/** The largest log ratio of two probabilities of a column; each is a numerator and a denominator. */
function widest(columns) {
  const less = ([a, b], [c, d]) => a * d < c * b;
  return largest(
    columns.map((column) => {
      const [a, b] = column.reduce((most, one) => (less(most, one) ? one : most));
      const [c, d] = column.reduce((least, one) => (less(one, least) ? one : least));
      return logRatio(a * d, c * b);
    }),
  );
}

/** Bits whose probability of being what they are may rise and fall so much: two of them. */
function farthest(bits) {
  const first = (side) =>
    Array.from(bits.keys())
      .sort((i, j) => bits[j][side] - bits[i][side])
      .slice(0, 2);
  const falls = first(1);
  const pairs = first(0).flatMap((i) => falls.filter((j) => j !== i).map((j) => bits[i][0] + bits[j][1]));
  return largest(pairs);
}

/** How much likelier, and less likely, a bit of an answer's own may be than another's bit. */
function riseAndFall(own, other, total = W) {
  const ones = logRatio(own, other);
  const zeros = logRatio(total - own, total - other);
  return [Math.max(ones, zeros), Math.max(-ones, -zeros)];
}

/** The weights of outcomes with these `upper` and `rest`: of W, or of W times their total. */
function weights({ upper, rest, total }) {
  if (rest === undefined) return cumulated(upper.map((word) => BigInt(word) + 1n));
  const ends = upper.map((word, i) => BigInt(word) * BigInt(total) + BigInt(rest[i]));
  return cumulated([...ends, W * BigInt(total)]);
}

function spentKeep({ k, keep, rest = ["0", "1"] }) {
  const [numerator, denominator] = rest.map(BigInt);
  const own = BigInt(keep) * denominator + numerator;
  const all = W * denominator;
  return logRatio(all + BigInt(k - 1) * own, own < all ? all - own : 0n);
}

/** Of rows of weights, with the reports that they are of, and what each sums to. */
function spentTable(rows) {
  const columns = new Map();
  rows.forEach(({ found, outputs }, x) => {
    const total = sum(found);
    found.forEach((weight, i) => {
      const y = outputs?.[i] ?? i;
      if (!columns.has(y)) columns.set(y, new Map());
      const column = columns.get(y);
      column.set(x, [(column.get(x)?.[0] ?? 0n) + weight, total]);
    });
  });
  const others = (column) => (column.size < rows.length ? [[0n, 1n]] : []);
  return widest(Array.from(columns.values(), (one) => [...one.values(), ...others(one)]));
}

const spentRows = ({ rows }) =>
  spentTable(rows.map((row) => ({ found: weights(row), outputs: row.outputs })));

function spentOwn({ law }, n) {
  const [own, ...any] = weights(law);
  return largest(
    Array.from({ length: n }, (_, x) => logRatio(own + (any[x] ?? 0n), any[x] ?? 0n)),
  );
}

function spentOthers({ law, accepted }, n) {
  const found = weights(law);
  const total = sum(found);
  const shares = accepted.map((pair) => pair.map(BigInt)).map(([a, b]) => (a < b ? [a, b] : [b, b]));
  // what a try gives, over the denominator of the share of the answer itself
  const ends = shares.map(([a, b], x) => [total * b - (found[x] ?? 0n) * (b - a), b]);
  if (ends.some(([end]) => end === 0n)) return Infinity;
  const order = Array.from(ends.keys()).sort((i, j) => {
    const difference = ends[i][0] * ends[j][1] - ends[j][0] * ends[i][1];
    return difference < 0n ? -1 : Number(difference > 0n);
  });
  const far = [...new Set([...order.slice(0, 2), ...order.slice(-2)])]; // of all but any one answer
  const columns = found.map((weight, y) => {
    const column = far.filter((x) => x !== y).map((x) => [ends[x][1], ends[x][0]]);
    if (y < n) column.push([shares[y][0], ends[y][0]]);
    return weight ? column : [[0n, 1n]];
  });
  return widest(columns);
}

function spentBand({ k, width, keep }) {
  const far = (W - BigInt(keep)) * BigInt(width);
  return logRatio(BigInt(keep) * BigInt(k + width - 1) + far, far);
}

function spentBlock({ own, others, keep }) {
  return Math.abs(logRatio(BigInt(keep) * BigInt(others), (W - BigInt(keep)) * BigInt(own)));
}

/** Of the answers that `by` has: others are sent as they are. */
function spentReplace({ keep, by, law }, n) {
  const shares = law === undefined ? by.map(() => 1n) : weights(law);
  const ofAnswer = new Map();
  by.forEach((y, i) => {
    if (y < n) ofAnswer.set(y, (ofAnswer.get(y) ?? 0n) + shares[i]);
  });
  const own = BigInt(keep);
  if (!ofAnswer.size) return own ? Infinity : 0;
  const least = Array.from(ofAnswer.values()).reduce((a, b) => (b < a ? b : a)) * (W - own);
  return logRatio(own * sum(shares) + least, least);
}

function spentBits({ own, other, sent }, n) {
  const shown = Math.min(n, sent);
  const [owns, others] = [own, other].map((one) => (Array.isArray(one) ? (i) => one[i] : () => one));
  const times = new Map();
  const few = Array.isArray(own) || Array.isArray(other) ? shown : Math.min(shown, 2);
  for (let i = 0; i < few; i += 1) {
    const kind = `${owns(i)} ${others(i)}`;
    times.set(kind, Math.min((times.get(kind) ?? 0) + 1, 2));
  }
  const bits = Array.from(times).flatMap(([kind, count]) =>
    new Array(count).fill(riseAndFall(...kind.split(" ").map(BigInt))),
  );
  return farthest([...bits, ...new Array(Math.min(n - shown, 2)).fill([0, 0])]);
}

function spentSubset({ k, size: ones, keep }) {
  return Math.abs(logRatio(BigInt(keep) * BigInt(k - ones), (W - BigInt(keep)) * BigInt(ones)));
}

/** Of the sensitive answers: another one may be shown, and else looks like all bits of others. */
function spentReveal({ sensitive, own, other, told }, n) {
  const s = sensitive.length;
  const shown = BigInt(told);
  if (s === 0 || (s < n && shown === W)) return shown ? Infinity : 0;
  const hidden = logRatio(W, W - shown);
  const bits = own.map((one, i) => riseAndFall(BigInt(one), BigInt(other[i])));
  return farthest([...bits, ...new Array(Math.min(n - s, 2)).fill([-hidden, hidden])]);
}

/** Of m bits, of which an answer owns one at least, and as many as it has hashes at most. */
function spentCells(own, other, m, hashes, total = W) {
  if (m === 1) return 0;
  const [less, more] = riseAndFall(own, other, total).sort((a, b) => a - b);
  const most = Math.min(hashes, m - 1);
  return most * more + Math.min(hashes, m - most) * less;
}

function spentHash({ cells: m, hashes, then }) {
  if (then.kind === "keep") return spentKeep({ k: m, keep: then.keep });
  return spentCells(BigInt(then.own), BigInt(then.other), m, hashes);
}

/** Of the permanent response, which all reports come from; of the report, if there is one. */
function spentRappor({ owned, absent, one, zero, once, cells: m, hashes }) {
  const kept = [owned, absent].map(BigInt);
  if (!once) return spentCells(...kept, m, hashes);
  const shown = kept.map((share) => share * BigInt(one) + (W - share) * BigInt(zero));
  return spentCells(...shown, m, hashes, W * W);
}

function spentParts({ parts }) {
  if (parts.some(showsAnswers)) return Infinity;
  return sum(parts.map(({ answers, draw }) => spentDraw(draw, answers)));
}

const SPENT = new Map([
  ["same", () => Infinity],
  ["keep", spentKeep],
  ["rows", spentRows],
  ["exact", spentRows],
  ["own", spentOwn],
  ["others", spentOthers],
  ["band", spentBand],
  ["replace", spentReplace],
  ["block", spentBlock],
  ["parts", spentParts],
  ["bits", spentBits],
  ["subset", spentSubset],
  ["reveal", spentReveal],
  ["hash", spentHash],
  ["rappor", spentRappor],
  ["kept", ({ first }) => spentRows(first)], // all reports come from it
]);

/** Epsilon of a draw for n answers; nothing can be told of one answer alone. */
const spentDraw = (draw, n) => (n === 1 ? 0 : SPENT.get(draw.kind)(draw, n));

const answersOf = ({ answers }) => (answers === null ? 2 : texts(answers).size);

/** Epsilon of a question that was opened; of the answers that it protects, if some are not. */
function spentQuestion(question) {
  const { draw } = question;
  const n = answersOf(question);
  if (draw.kind === "grams") {
    return 2 * spentQuestion(draw.gram_question) + spentQuestion(draw.string_question);
  }
  if (draw.kind === "personal") return spentDraw(draw.draw, n + draw.tags.length);
  return spentDraw(draw, n);
}

const questionsOf = ({ question, questions }) => questions ?? [question];

/** Epsilon of a report, or of the private questions of a sheet. */
function spentDocument(opened) {
  const own = questionsOf(opened).filter((question) => question.private !== false);
  const each = own.map(spentQuestion).sort((a, b) => b - a);
  return sum(each.slice(0, opened.ask ?? each.length));
}

/** Whether draws spend more than is said, beyond rounding. */
const exceeds = (spent, said) => spent > said + 1e-9 * Math.max(1, said);

/** Whether a report can be the proof of an answer that the question does not protect. */
function showsAnswers(question) {
  const { draw } = question;
  if (question.private === false) return true;
  if (draw.kind === "grams") return [draw.gram_question, draw.string_question].some(showsAnswers);
  const { kind, by, keep, told, sensitive } = draw.kind === "personal" ? draw.draw : draw;
  const n = answersOf(question) + (draw.kind === "personal" ? draw.tags.length : 0);
  if (kind === "replace") return keep !== "0" && new Set(by.filter((y) => y < n)).size < n && n > 1;
  if (kind === "reveal") return told !== "0" && sensitive.length < n;
  return kind === "same" && n > 1;
}

// ---- Invitations (section 10.1) ------------------------------------------------------------------

const LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"; // 31, a prime number; none looks like another

/**
 * An invitation code in 20 letters, of one that may be typed in another way. Refused where a letter,
 * or two that changed places, show that it was typed wrong.
 */
export function invitationCode(given) {
  const code = typeof given === "string" ? given.replace(/[ \-\u2010-\u2015]/g, "") : "";
  if (/^[2-9A-HJKMNP-Za-hjkmnp-z]{20}$/.test(code)) {
    const places = Array.from(code.toUpperCase(), (letter) => LETTERS.indexOf(letter));
    const check = places.pop();
    if (places.reduce((sum, place, i) => sum + (i + 1) * place, 0) % LETTERS.length === check) {
      return code.toUpperCase();
    }
  }
  return refuse("invitation", "the invitation code has a typing error: compare it with the one given");
}

// ---- The client (sections 7, 9 and 10) -----------------------------------------------------------

const MADE_BY = new WeakMap(); // the client of each sheet, which so is told from answers

/** One respondent's client: it makes as many reports as it is allowed, one if not told otherwise. */
export class Client {
  #words;
  #questions; // by name; of a mechanism there is one
  #single;
  #ask;
  #asked = null;
  #limit;
  #made;
  #survey;
  #epsilon;
  #secret = null;
  #token = null; // of all waves

  constructor(document, options = {}) {
    const { random, reports = 1, made = 0, secret, tags, maxEpsilon, unprotected } = options;
    const opened = openedDocument(document);
    this.#survey = opened.survey;
    this.#single = "question" in opened;
    this.#questions = this.#single ? [openQuestion(opened.question, "alone")] : several(opened);
    this.#ask = this.#single ? null : checkedAsk(opened, this.#private().length);
    if (this.#single) tagged(this.#questions[0], tags ?? {});
    else tagQuestions(this.#questions, tags ?? {});
    this.#epsilon = accepted(opened, maxEpsilon, unprotected ?? []);
    const { once, begin } = this.#single ? this.#questions[0] : {};
    this.#limit = once === undefined ? checkedNumber("reports", reports, 1) : once ? 1 : null;
    this.#made = checkedNumber("made", made, 0);
    this.#words = new Words(random);
    if (begin !== undefined) this.#secret = begin(checkedSecret(secret), this.#words);
    if (!this.#single && opened.link) {
      this.#secret = checkedSecret(secret) ?? this.#words.bytes(32);
      this.#token = pseudonym(this.#secret, opened);
      for (const question of this.#questions) question.begin?.(secretOf(this.#secret, question.name));
    }
    if (!this.#single) this.#draw();
  }

  /** The fingerprint of the survey, which goes with every report. */
  get survey() {
    return this.#survey;
  }

  /** What one report, or one sheet, spends, in nats. */
  get epsilon() {
    return this.#epsilon;
  }

  /** How many reports, or sheets, were made, those before this client was opened included. */
  get made() {
    return this.#made;
  }

  /** The names of the questions that the next sheet asks; null for a client of one mechanism. */
  get asked() {
    return this.#single ? null : (this.#asked ?? Object.freeze([]));
  }

  /** A copy of the 32 bytes of the secret, for the device to keep; null where there is none. */
  get secret() {
    return this.#secret?.slice() ?? null;
  }

  /** The report of an answer, or the sheet of answers by name of question. */
  report(answer) {
    if (this.#limit !== null && this.#made >= this.#limit) {
      refuse("budget", "all reports that this client may make were made");
    }
    this.#made += 1; // before anything is drawn: a report within a report counts, too
    try {
      if (MADE_BY.has(answer)) refuse("answer", "this is a report: give the answer");
      const report = this.#single ? this.#one(answer) : this.#sheet(answer);
      if (typeof report !== "string") MADE_BY.set(report, this);
      return report;
    } catch (error) {
      this.#made -= 1;
      throw error;
    }
  }

  /**
   * Make the report of true answers, as `report` does, and return what is sent to a collector.
   * In place of answers it takes an object that `report` of this client returned, which is sent as
   * it was made. A text is an answer always.
   *
   * `invitation` is the code of a survey that takes one sheet for each; one with a typing error is
   * refused before anything is spent.
   */
  message(answers, invitation = null) {
    const invited = invitation === null ? {} : { invitation: invitationCode(invitation) };
    const maker = MADE_BY.get(answers);
    if (maker !== undefined && maker !== this) {
      refuse("answer", "this is a report that another client made");
    }
    const report = maker === this ? answers : this.report(answers);
    const token = this.#token ?? hexadecimal(CRYPTO.getRandomValues(new Uint8Array(16)));
    const sheet = this.#single ? { report } : report;
    const survey = this.#survey;
    return { format: "ldpstats-sheet", version: 1, survey, token, ...invited, sheet };
  }

  /**
   * What a collector is sent at /withdrawn for a report that its respondent saw and deleted: that it
   * happened, and nothing else. To make no such choice possible explain what may be sent first, send
   * the `message`, and show it afterwards (section 10).
   */
  withdrawal() {
    return { format: "ldpstats-withdrawal", version: 1, survey: this.#survey };
  }

  #one(answer) {
    const { read, send } = this.#questions[0];
    return send(read(answer), this.#words);
  }

  #sheet(answers) {
    if (this.#asked === null) this.#draw();
    if (!isObject(answers)) refuse("answer", "answers must be an object with those of questions");
    const names = new Set(Object.keys(answers));
    const known = new Set(this.#questions.map(({ name }) => name));
    for (const name of names) if (!known.has(name)) refuse("answer", "a name is no question");
    const asked = new Set(this.#asked);
    const given = this.#questions.map(({ name, read, refused }) => {
      const answer = asked.has(name) ? ((names.has(name) ? answers[name] : null) ?? refused) : null;
      return answer === null ? null : { found: read(answer) };
    });
    const sheet = Object.create(null); // has no names but those of questions
    this.#questions.forEach(({ name, send }, i) => {
      sheet[name] = given[i] === null ? null : send(given[i].found, this.#words);
    });
    try {
      this.#draw();
    } catch {
      this.#asked = null; // the sheet stands: the next one draws again
    }
    return Object.freeze(sheet);
  }

  #private() {
    return this.#questions.filter(({ isPrivate }) => isPrivate);
  }

  /** Draw the questions of the next sheet. */
  #draw() {
    const ask = this.#ask;
    const left = this.#private().map(({ name }) => name);
    const n = left.length;
    const drawn = new Set();
    const isDrawn = ask === null || ask === n ? null : ask <= n - ask;
    for (let i = 0; isDrawn !== null && i < Math.min(ask, n - ask); i += 1) {
      const j = i + uniform(n - i, this.#words);
      drawn.add(left[j]);
      left[j] = left[i];
    }
    const asks = ({ name, isPrivate }) =>
      !isPrivate || isDrawn === null || drawn.has(name) === isDrawn;
    this.#asked = Object.freeze(this.#questions.filter(asks).map(({ name }) => name));
  }
}

const DECIMAL = /^(inf|[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?)$/;

/** A copy of a client document whose fields at the top are right. */
function openedDocument(document) {
  const found = copied(document);
  if (!isObject(found) || found.format !== "ldpstats-client") broken("it has another format");
  if (found.version !== VERSION) broken("it has another version");
  if (field(found, "fingerprint") !== fingerprinted(found))
    broken("its fingerprint is of another one");
  text(field(found, "survey"));
  if (!DECIMAL.test(text(field(found, "epsilon")))) broken("its epsilon is no number");
  if ("question" in found === "questions" in found) broken("it has no question");
  return found;
}

/** The epsilon of a document, if its draws spend no more, and the device accepts it (section 5.5). */
function accepted(opened, most, unprotected) {
  const said = opened.epsilon === "inf" ? Infinity : Number(opened.epsilon);
  const spent = spentDocument(opened);
  if (exceeds(spent, said)) {
    refuse("epsilon", `its draws spend epsilon ${spent}, more than the document says, ${said}`);
  }
  if (most === undefined || most === null) return said;
  const text = String(most);
  const limit = /^inf/i.test(text) ? Infinity : DECIMAL.test(text) ? Number(text) : NaN;
  if (said === Infinity || !(said <= limit)) {
    refuse("epsilon", `the survey spends ${opened.epsilon}, more than this device accepts`);
  }
  if (!Array.isArray(unprotected)) refuse("epsilon", "unprotected must be a list of questions");
  for (const question of questionsOf(opened)) {
    const { name = "report" } = question;
    if (showsAnswers(question) && !unprotected.includes(name)) {
      refuse("epsilon", `question "${name}" is not protected, or not for all answers`);
    }
  }
  return said;
}

function checkedSecret(secret) {
  if (secret === undefined || secret === null) return null;
  if (secret instanceof Uint8Array && secret.length === 32) return secret.slice();
  return refuse("random", "secret must be a Uint8Array of 32 random bytes");
}

function checkedNumber(name, value, least) {
  if (value === null && name === "reports") return null;
  if (Number.isSafeInteger(value) && value >= least) return value;
  return refuse("budget", `${name} must be an integer from ${least} on`);
}

function several(opened) {
  const found = list(opened.questions).map((question) => {
    const name = text(field(question, "name"));
    const isPrivate = field(question, "private");
    if (typeof isPrivate !== "boolean") broken("a truth value is missing");
    const made = openQuestion(question, "sheet");
    const refused = "refused" in question ? text(question.refused) : null;
    if (refused !== null) checkedRefused(made, refused);
    if (made.begin !== undefined && (made.once || !("link" in opened))) broken("it keeps nothing");
    return { ...made, name, isPrivate, refused };
  });
  if ("wave" in opened || "family" in opened) {
    if (!text(field(opened, "wave"))) broken("its wave has no name");
    text(field(opened, "family"));
  }
  if ("link" in opened && !(opened.link === true && "wave" in opened)) broken("it links no waves");
  const names = new Set(found.map(({ name }) => name));
  if (!found.length || names.size !== found.length) broken("questions have no names of their own");
  return found;
}

/** What an object has by name. */
function entries(tags) {
  return isObject(tags)
    ? Object.keys(tags).map((name) => [name, tags[name]])
    : refuse("tags", "tags must be an object");
}

/** Give a question the categories that are the respondent's own. */
function tagged({ tag }, tags) {
  const given = entries(tags);
  if (tag !== undefined) tag(given);
  else if (given.length) refuse("tags", "tags are for no such question");
}

function tagQuestions(questions, tags) {
  for (const [name, own] of entries(tags)) {
    const question = questions.find((one) => one.name === name);
    tagged(question ?? refuse("tags", "a name is no question"), own ?? {});
  }
}

function checkedRefused({ read }, refused) {
  try {
    read(refused);
  } catch {
    broken("what stands for a missing answer is none");
  }
}

function checkedAsk(opened, n) {
  const ask = field(opened, "ask");
  return ask === null ? null : integer(ask, 1, n);
}

// ---- SHA-256 (FIPS 180-4), HMAC (FIPS 198-1) and MD5 (RFC 1321): those of browsers cannot be
// called at once, nor on pages without TLS. The constants are the first binary digits of roots of
// primes, and of sines.

/** The first 32 binary digits, after the point, of a root of a number. */
function rootDigits(value, power) {
  let root = 0n;
  for (let bit = 1n << 35n; bit > 0n; bit >>= 1n) {
    if ((root + bit) ** power <= value << (32n * power)) root += bit;
  }
  return Number(BigInt.asIntN(32, root));
}

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n += 1) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const CUBE_ROOTS = Int32Array.from(PRIMES, (p) => rootDigits(BigInt(p), 3n));
const SQUARE_ROOTS = Int32Array.from(PRIMES.slice(0, 8), (p) => rootDigits(BigInt(p), 2n));

const joined = (first, second) => {
  const out = new Uint8Array(first.length + second.length);
  out.set(first);
  out.set(second, first.length);
  return out;
};

/** A message filled up to whole blocks of 64 bytes; so many bytes came before it. */
function padded(message, before, littleEndian) {
  const out = new Uint8Array((message.length + 72) & ~63);
  out.set(message);
  out[message.length] = 0x80;
  const bits = 8n * BigInt(before + message.length);
  new DataView(out.buffer).setBigUint64(out.length - 8, bits, littleEndian);
  return new DataView(out.buffer);
}

const turned = (x, n) => (x >>> n) | (x << (32 - n));

const SCHEDULE = new Int32Array(64);

/** The state of SHA-256 after blocks of 64 bytes. */
function absorbed(start, view) {
  const state = start.slice();
  const w = SCHEDULE;
  for (let at = 0; at < view.byteLength; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const s0 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3);
      const s1 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    mixed(state, w);
  }
  return state;
}

function mixed(state, w) {
  let a = state[0],
    b = state[1],
    c = state[2],
    d = state[3];
  let e = state[4],
    f = state[5],
    g = state[6],
    h = state[7];
  for (let i = 0; i < 64; i += 1) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const first = (h + s1 + ((e & f) ^ (~e & g)) + CUBE_ROOTS[i] + w[i]) | 0;
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => (state[i] += value));
}

function sha256(message, start = SQUARE_ROOTS, before = 0) {
  const state = absorbed(start, padded(message, before, false));
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((value, i) => out.setInt32(4 * i, value));
  return new Uint8Array(out.buffer);
}

/** The first n words of a message under a secret (section 8). */
function keyedWords(secret, message, n) {
  const key64 = (mask) => joined(secret, new Uint8Array(32)).map((byte) => byte ^ mask);
  const inner = joined(key64(0x36), message);
  const size = inner.length & ~63;
  const start = absorbed(SQUARE_ROOTS, new DataView(inner.buffer, 0, size));
  const outer = absorbed(SQUARE_ROOTS, new DataView(key64(0x5c).buffer));
  const last = joined(inner.subarray(size), new Uint8Array(8));
  const counter = new DataView(last.buffer, last.length - 8);
  const words = [];
  for (let i = 0; words.length < n; i += 1) {
    counter.setBigUint64(0, BigInt(i));
    const block = new DataView(sha256(sha256(last, start, size), outer, 64).buffer);
    for (let j = 0; j < 32; j += 8) words.push(block.getBigUint64(j, true));
  }
  return words.slice(0, n);
}

/** The secret of a question that keeps responses, in a questionnaire (section 8). */
function secretOf(secret, name) {
  const bytes = new DataView(new ArrayBuffer(32));
  const message = utf8(`ldpstats question 1 ${canonical(name)}`);
  keyedWords(secret, message, 4).forEach((word, i) => bytes.setBigUint64(8 * i, word, true));
  return new Uint8Array(bytes.buffer);
}

/** The token that a device sends in all waves of a linked questionnaire (section 10.2). */
function pseudonym(secret, { ask, family, questions }) {
  const message = utf8(`ldpstats token 1 ${canonical({ ask, family, questions })}`);
  const bytes = new DataView(new ArrayBuffer(16));
  keyedWords(secret, message, 2).forEach((word, i) => bytes.setBigUint64(8 * i, word, true));
  return hexadecimal(new Uint8Array(bytes.buffer));
}

const MD5_TURNS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const SINES = Int32Array.from({ length: 64 }, (_, i) => Math.abs(Math.sin(i + 1)) * HALF);

function md5(message) {
  const view = padded(message, 0, true);
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  for (let at = 0; at < view.byteLength; at += 64) md5Mixed(state, view, at);
  const out = new DataView(new ArrayBuffer(16));
  state.forEach((value, i) => out.setInt32(4 * i, value, true));
  return new Uint8Array(out.buffer);
}

function md5Mixed(state, view, at) {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i += 1) {
    const turn = i >> 4;
    const f = [(b & c) | (~b & d), (b & d) | (c & ~d), b ^ c ^ d, c ^ (b | ~d)][turn];
    const place = [i, 5 * i + 1, 3 * i + 5, 7 * i][turn] & 15;
    const sum = (a + f + SINES[i] + view.getInt32(at + 4 * place, true)) | 0;
    const n = MD5_TURNS[4 * turn + (i & 3)];
    [a, b, c, d] = [d, (b + turned(sum, 32 - n)) | 0, b, c];
  }
  [a, b, c, d].forEach((value, i) => (state[i] += value));
}

const hexadecimal = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
