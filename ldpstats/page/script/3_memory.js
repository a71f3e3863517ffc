// What the device keeps: that it has taken part in this survey, and reports until they are
// delivered. Never an answer.

const PLACE = `ldpstats ${DATA.client.survey}`;

const ROOM = 1 << 14; // characters that reports may need

/** Whether the browser keeps anything for this page, and has room for it. */
function remembers() {
  try {
    localStorage.setItem(`${PLACE} test`, "1".repeat(ROOM));
    localStorage.removeItem(`${PLACE} test`);
    return true;
  } catch {
    return false;
  }
}

let keeps = remembers();
let waiting = false; // reports that are neither delivered nor handed over

/** The text that is kept, null if there is none; a full storage can still be read. */
function keptText() {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null;
  }
}

const isSheet = ({ token, sheet }) => typeof token === "string" && sheet instanceof Object;

/** Whether these reports are still to be delivered: another window may have sent or deleted them. */
function current(text) {
  const kept = recalled();
  return kept === null || kept.pending === text;
}

/** What is kept, null if this device has not taken part. What cannot be read counts as taken part. */
function recalled() {
  const text = keptText();
  if (text === null) return null;
  try {
    const { made, left, pending = null } = JSON.parse(text);
    if (pending !== null && !isSheet(JSON.parse(pending))) throw new TypeError();
    return { made, left: left === true, pending };
  } catch {
    return { made: 1, left: true, pending: null };
  }
}

/** Keep that reports were made, whether they may have left, and those that are not delivered. */
function keep(pending, left) {
  const { survey } = DATA.client;
  try {
    localStorage.setItem(PLACE, JSON.stringify({ survey, made: 1, left, pending }));
    keeps = true;
  } catch {
    keeps = false;
  }
}

// Of a survey that comes back it also keeps how many waves were answered, and the secret of the
// pseudonym where they are joined.

const WAVES = `ldpstats waves ${DATA.client.family}`;

/** How many waves were answered before, and the secret, null if none is kept. */
function earlier() {
  try {
    const { waves, secret } = JSON.parse(localStorage.getItem(WAVES)) ?? {};
    const bytes = /^[0-9a-f]{64}$/.test(secret) ? secret.match(/../g) : null;
    return {
      waves: Number.isSafeInteger(waves) ? waves : 0,
      secret: bytes && Uint8Array.from(bytes, (byte) => parseInt(byte, 16)),
    };
  } catch {
    return { waves: 0, secret: null };
  }
}

/** Keep that one more wave was answered, and the secret, if there is one. */
function keepWave(secret) {
  if (!keeps || DATA.client.wave === undefined) return;
  const kept = { waves: earlier().waves + 1, secret: secret && hexadecimal(secret) };
  try {
    localStorage.setItem(WAVES, JSON.stringify(kept));
  } catch {
    keeps = false;
  }
}

/** A text that says what is kept, or another one where nothing is. */
const sayKept = (key, other, values) => say(keeps ? key : other, values);

/** Run what only one window may do at a time; false if another one does it now. */
async function alone(act) {
  if (globalThis.navigator?.locks && globalThis.origin !== "null") {
    return navigator.locks.request(PLACE, { ifAvailable: true }, (lock) => lock !== null && act());
  }
  return act();
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Keep new reports, unless another window was first; whether these are the ones kept. */
async function claimed(pending) {
  if (recalled() !== null) return false;
  keep(pending, false);
  if (!keeps) return true;
  await pause(100); // without locks, two windows may both have found nothing: the later one has won
  return recalled()?.pending === pending;
}
