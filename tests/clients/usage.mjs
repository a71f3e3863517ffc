// The client in JavaScript as programs use it; the argument is the module. Ends well, and says
// nothing, where all holds.

import assert from "node:assert/strict";
import process from "node:process";

const { Client, Refused, VERSION, fingerprint } = await import(process.argv[2]);

const sealed = (fields) => {
  const made = {
    format: "ldpstats-client",
    version: VERSION,
    survey: "s",
    epsilon: "inf",
    ...fields,
  };
  return { ...made, fingerprint: fingerprint(made) };
};
const refusal = (reason) => (error) => {
  assert(error instanceof Refused && error instanceof Error && error.name === "Refused");
  assert.equal(error.reason, reason);
  assert(!/nurse|teacher|secretive/.test(`${error.message}${error.stack}`), "an answer is shown");
  assert(error.cause === undefined);
  return true;
};
const always = String(2n ** 64n);
const labels = ["nurse", "teacher", "__proto__", "constructor", "toString"];
const question = {
  answers: labels,
  reports: labels,
  draw: { kind: "keep", k: labels.length, keep: always },
};

// what is done to the document afterwards changes nothing; nor do names that objects have
const document = structuredClone(sealed({ question }));
const client = new Client(document, { reports: labels.length });
document.question.draw.keep = "0";
document.question.answers.reverse();
for (const label of labels) assert.equal(client.report(label), label);
assert.throws(() => client.report("nurse"), refusal("budget"));
assert.deepEqual([client.made, client.survey, client.epsilon], [labels.length, "s", Infinity]);
assert.deepEqual([client.asked, client.secret], [null, null]);
assert.throws(() => (client.made = 0), TypeError);
assert.equal(JSON.stringify(client), "{}");

// invalid answers
const open = () => new Client(sealed({ question: { ...question, draw: { kind: "same" } } }));
for (const answer of [
  "secretive",
  1,
  null,
  undefined,
  NaN,
  {},
  [],
  Symbol("x"),
  new String("nurse"),
]) {
  assert.throws(() => open().report(answer), refusal("answer"));
}

// a sheet
const named = (name, more = {}) => ({
  ...question,
  draw: { kind: "same" },
  name,
  private: true,
  ...more,
});
const names = ["__proto__", "constructor", "b", "a"];
const sheets = sealed({
  questions: [
    ...names.map((name) => named(name)),
    named("r", { refused: "nurse", private: false }),
  ],
  ask: null,
});
const several = new Client(sheets, { reports: null });
assert.deepEqual(several.asked, [...names, "r"]);
const answers = JSON.parse('{"__proto__": "nurse", "constructor": "teacher", "b": null}');
const sheet = several.report(answers);
assert.equal(
  JSON.stringify(sheet),
  '{"__proto__":"nurse","constructor":"teacher","b":null,"a":null,"r":"nurse"}',
);
assert(Object.isFrozen(sheet) && Object.isFrozen(several.asked));
for (const wrong of [null, [], "nurse", { toString: "nurse" }, { a: "nurse", secretive: null }]) {
  assert.throws(() => several.report(wrong), refusal("answer"));
}
assert.throws(() => several.report({ a: "nurse", b: "secretive" }), refusal("answer"));
assert.equal(several.made, 1);
assert.equal(
  JSON.stringify(several.report({})),
  JSON.stringify(several.report(Object.create(null))),
);

// a message is made of true answers: they are privatised and spent, never sent as they are
const flipped = { ...question, answers: ["no", "yes"], reports: ["no", "yes"] };
flipped.draw = { kind: "rows", rows: [{ upper: ["0", always1()] }, { upper: [always1(), always1()] }] };
function always1() {
  return String(2n ** 64n - 1n);
}
const late = { ...flipped, name: "late", private: true };
const sender = new Client(sealed({ questions: [late], ask: null }), { reports: 2 });
const message = sender.message({ late: "yes" });
assert.deepEqual({ ...message, token: null, sheet: { ...message.sheet } }, {
  format: "ldpstats-sheet",
  version: 1,
  survey: "s",
  token: null,
  sheet: { late: "no" },
});
assert.match(message.token, /^[0-9a-f]{32}$/);
assert.equal(sender.made, 1);
assert.throws(() => sender.message({ late: "secretive" }), refusal("answer"));
const returned = sender.report({ late: "yes" });
assert.deepEqual({ ...sender.message(returned).sheet }, { late: "no" }); // as it was made
assert.notEqual(sender.message(returned).token, sender.message(returned).token);
assert.equal(sender.made, 2);
const deleted = { format: "ldpstats-withdrawal", version: 1, survey: "s" };
assert.deepEqual(sender.withdrawal(), deleted); // no token, and nothing of a report
for (const copy of [{ ...returned }, { late: "yes" }]) {
  assert.throws(() => sender.message(copy), refusal("budget"));
}
const other = new Client(sealed({ questions: [late], ask: null }), { reports: null });
assert.throws(() => other.message(returned), refusal("answer"));
assert.throws(() => other.report(returned), refusal("answer"));
assert.equal(other.made, 0);
const alone = new Client(sealed({ question: flipped }));
assert.deepEqual(alone.message("yes").sheet, { report: "no" });
assert.throws(() => alone.message("no"), refusal("budget"));

// an answer to a question that is not asked is not looked at
const one = new Client(sealed({ questions: [named("a"), named("b")], ask: 1 }));
const asked = one.asked[0];
const trap = { enumerable: true, get: () => assert.fail("it was looked at") };
const half = Object.defineProperty({ [asked]: "nurse" }, asked === "a" ? "b" : "a", trap);
assert.equal(one.report(half)[asked], "nurse");

// what was made before, and reports within reports
assert.throws(
  () => new Client(sealed({ question }), { made: 1 }).report("nurse"),
  refusal("budget"),
);
for (const options of [
  { reports: 0 },
  { reports: 1.5 },
  { reports: "1" },
  { made: -1 },
  { made: null },
]) {
  assert.throws(() => new Client(sealed({ question }), options), refusal("budget"));
}
let inner = null;
const nested = new Client(sealed({ question }), {
  random: (n) => {
    assert.throws(() => nested.report("nurse"), refusal("budget"));
    inner = n;
    return new Uint8Array(n);
  },
});
assert.equal(nested.report("nurse"), "nurse");
assert.equal(inner, 8);

// randomness that is none spends nothing
for (const random of [() => new Uint8Array(7), () => [0, 0, 0, 0, 0, 0, 0, 0], () => undefined]) {
  const failing = new Client(sealed({ question }), { random });
  assert.throws(() => failing.report("nurse"), refusal("random"));
  assert.equal(failing.made, 0);
}
const endless = sealed({ question });
assert.equal(new Client(endless).epsilon, Infinity);
assert.throws(() => new Client(endless, { maxEpsilon: "inf" }), refusal("epsilon"));

// documents that no JSON is
const circle = { format: "ldpstats-client" };
circle.question = circle;
for (const wrong of [
  undefined,
  null,
  3,
  () => 3,
  circle,
  { a: undefined },
  { a: 1n },
  new Array(3),
  { a: NaN },
]) {
  assert.throws(() => new Client(wrong), refusal("document"));
  assert.throws(() => fingerprint(wrong), refusal("document"));
}

// a secret that the device keeps
const hash = { cohorts: 1000, cells: 8, hashes: 2, hash: "ldpstats", digest: "d", once: false };
const limits = { owned: String(3n << 62n), absent: String(1n << 62n), one: always, zero: "0" };
const rappor = sealed({
  question: { answers: null, reports: null, draw: { kind: "rappor", ...hash, ...limits } },
});
const first = new Client(rappor);
const again = new Client(rappor, { secret: first.secret });
assert.equal(first.report("nurse"), again.report("nurse"));
assert.equal(first.report("nurse"), first.report("nurse"));
first.secret.fill(0);
assert.deepEqual(first.secret, again.secret);
assert.throws(() => new Client(rappor, { secret: new Uint8Array(31) }), refusal("random"));
assert.throws(() => new Client(rappor, { secret: "00".repeat(32) }), refusal("random"));

// a random source that fails, or that always gives the same: refused, not waited for
const three = { answers: 3, reports: 3, draw: { kind: "keep", k: 3, keep: "0" } };
const never = { kind: "others", law: { upper: [], rest: [], total: "1" }, accepted: [["0", "1"]] };
const stuck = [
  [three, "2", (n) => new Uint8Array(n)],
  [{ answers: 1, reports: 1, draw: never }, "0", undefined],
  [three, "2", () => { throw new Error("nurse"); }],
];
for (const [asked, answer, random] of stuck) {
  const one = new Client(sealed({ question: asked }), { random });
  assert.throws(() => one.report(answer), refusal("random"));
  assert.equal(one.made, 0);
}

// the largest epsilon is a decimal number, as in documents, and what draws spend is computed
const noisy = { ...question, draw: { ...question.draw, keep: String(2n ** 63n) } }; // spends ln 6
for (const most of ["1.8", 2, "inf", Infinity, "2e0"]) {
  new Client(sealed({ question: noisy, epsilon: "1.8" }), { maxEpsilon: most });
}
for (const most of ["", "1", 0, "0x10", " 2 ", "much", NaN, -1, true, []]) {
  const options = { maxEpsilon: most };
  const said = sealed({ question: noisy, epsilon: "1.8" });
  assert.throws(() => new Client(said, options), refusal("epsilon"));
}
assert.throws(() => new Client(sealed({ question: noisy, epsilon: "1.79" })), refusal("epsilon"));
const forged = sealed({ question, epsilon: "0.1" }); // 1,000 of 1,000 reports would be the answer
for (const maxEpsilon of [undefined, "0.1", 1, "1e300", "inf"]) {
  assert.throws(() => new Client(forged, { maxEpsilon }), refusal("epsilon"));
}
const shown = { name: "r", private: false, ...question, draw: { kind: "same" } };
const region = sealed({ questions: [{ ...noisy, name: "a", private: true }, shown], ask: null, epsilon: "1.8" });
for (const unprotected of [undefined, [], ["a"], "r"]) {
  assert.throws(() => new Client(region, { maxEpsilon: 2, unprotected }), refusal("epsilon"));
}
new Client(region, { maxEpsilon: 2, unprotected: ["r"] });
