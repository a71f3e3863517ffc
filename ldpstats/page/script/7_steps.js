// The steps before anything is sent: introduction, questions, review.

let client = null; // opened anew with the respondent's own categories, from the same random bytes
let openingBytes = [];
let asked = [];
let answers = new Map(); // true answers by name of question, in memory alone; null if skipped
let own = new Map(); // the respondent's own category of an answer, by name of question
let busy = false;
let ended = false; // this window has made reports, or was refused

function open(tags) {
  if (tags === undefined) openingBytes = []; // no byte may be drawn from twice
  const replayed = openingBytes.slice();
  const random = (n) => {
    const bytes = replayed.shift() ?? crypto.getRandomValues(new Uint8Array(n));
    if (tags === undefined) openingBytes.push(bytes);
    return bytes;
  };
  // no more than the page says: in all, and of each question
  const some = QUESTIONS.filter((question) => !question.isPrivate || question.protected !== null);
  const limit = { maxEpsilon: DATA.total?.epsilon, unprotected: some.map(({ name }) => name) };
  const made = recalled()?.made ?? 0;
  const { secret } = earlier();
  const opened = new Client(DATA.client, { reports: 1, made, random, secret, tags, ...limit });
  return QUESTIONS.every(isHonest) ? opened : refuse("epsilon", "the draws spend more than is said");
}

/** Forget all answers, and what shows them. */
function forget() {
  answers = new Map();
  own = new Map();
  client = null;
  openingBytes = [];
}

// ---- Introduction -------------------------------------------------------------------------------

function introduction() {
  const { title, introduction: words } = DATA.texts;
  const code = DATA.invited ? codeField(invitation ?? linkedCode()) : null;
  const start = () => (code === null || code.read() ? ask(0) : null);
  const happens = ["happens_device", SHOWS_FIRST ? "happens_look" : "happens_agree"].map((key) => say(key));
  const chance = QUESTIONS.filter((question) => question.isPrivate);
  if (chance.length > 0 && chance.every(bounded)) happens.push(say("happens_anybody"));
  if (QUESTIONS.some((question) => !question.isPrivate)) {
    happens.push(say("happens_observed", { observed: say("observed") }));
  }
  const { wave, link } = DATA.client;
  if (wave !== undefined) happens.push(say(link ? "happens_linked" : "happens_wave", { wave }));
  const kept = wave === undefined || !keeps ? [] : [say("kept_waves"), ...(link ? [say("kept_linked")] : [])];
  show(
    headline(title),
    paragraphs(words),
    paragraph(countText(), "soft"),
    make("h2", {}, say("what_happens")),
    bullets(happens),
    make("h2", {}, say("how_protected")),
    totalTexts(),
    make("h2", {}, say("what_is_kept")),
    paragraph(sayKept("kept", "kept_not")),
    paragraphs(kept),
    code?.element ?? null,
    make("div", { class: "buttons" }, button("start", start, "main")),
  );
}

function countText() {
  const all = QUESTIONS.filter((question) => question.isPrivate).length;
  const { ask: drawn } = DATA.client;
  const total = numberText(asked.length);
  if (drawn === null || drawn === all) return say("how_many", { total });
  return say("how_many_asked", { total, private: numberText(drawn), all: numberText(all) });
}

// ---- Questions ----------------------------------------------------------------------------------

/** Show question number i of those that are asked; `back` leads to the review. */
function ask(i, toReview = false) {
  const question = byName(asked[i]);
  const given = answers.get(question.name) ?? null;
  const field = answerField(question, given);
  const tag = tagField(question, own.get(question.name) ?? null);
  const wrong = make("p", { class: "wrong", role: "alert", id: "wrong" });
  const go = () => (toReview || i + 1 === asked.length ? review() : ask(i + 1));
  const take = (event) => {
    event.preventDefault();
    const problem = refusal(question, field.read());
    wrong.textContent = problem ?? "";
    if (problem !== null) return field.first()?.focus();
    answers.set(question.name, field.read());
    own.set(question.name, tag === null ? null : tag.read());
    return go();
  };
  const skip = () => {
    answers.set(question.name, null);
    own.delete(question.name);
    go();
  };
  const form = { autocomplete: "off", novalidate: true, onsubmit: take };
  show(
    above(question, i),
    make(
      "form",
      form,
      make("fieldset", {}, make("legend", {}, headline(question.text)), help(question), field.element),
      tag === null ? null : tag.element,
      wrong,
      questionButtons(question, i, toReview, skip),
      paragraph(skipText(question), "soft small skipping"),
    ),
  );
  announce(progressText(i));
}

const progressText = (i) =>
  say("progress", { number: numberText(i + 1), total: numberText(asked.length) });

/** Whether what is sent leaves some doubt about every protected answer. */
const bounded = ({ spent }) => spent !== null && spent.factor <= FAR;

/** Whether the answers to a question are protected: "protected", "partly" or "observed". */
function protection(question) {
  if (!question.isPrivate) return "observed";
  return question.protected === null && bounded(question) ? "protected" : "partly";
}

function above(question, i) {
  const how = protection(question);
  const kind = how === "protected" ? "badge good" : "badge warn";
  const bar = { max: asked.length, value: i + 1, "aria-label": progressText(i) };
  return make(
    "div",
    { class: "above" },
    make("progress", bar),
    paragraph(progressText(i), "soft small"),
    make("span", { class: kind }, say(how)),
  );
}

function help(question) {
  const { protected: some } = question;
  const how = protection(question);
  const notes = [question.help ? paragraph(question.help) : null];
  if (how === "protected") notes.push(paragraph(say("protected_help"), "soft small"));
  else {
    const only = some?.length && bounded(question);
    const named = () => say("some_protected", { answers: listText(some, MOST) });
    const text = only ? named() : say(how === "partly" ? "partly_help" : "observed_help");
    notes.push(make("div", { class: "note warn" }, paragraph(text)));
  }
  return notes;
}

function questionButtons({ skip: allowed }, i, toReview, skip) {
  const back = () => (toReview ? review() : i === 0 ? introduction() : ask(i - 1));
  return make(
    "div",
    { class: "buttons" },
    make("button", { type: "submit", class: "main" }, say("next")),
    button("back", back),
    allowed ? button("skip", skip, "quiet") : null,
  );
}

function skipText(question) {
  if (!question.skip) return say("required");
  if (question.refused === null) return say("skip_empty");
  return say("skip_refused", { answer: shownAnswer(question, question.refused) });
}

/** Why an answer cannot be taken, in words; null if it can. */
function refusal(question, answer) {
  const verb = question.size === null ? "write" : "choose";
  if (answer === null) return say(question.skip ? `${verb}_or_skip` : verb);
  return question.size !== null || usable(question, answer) ? null : say("cannot_use");
}

// ---- Review -------------------------------------------------------------------------------------

function review() {
  show(
    headline(say("review")),
    paragraph(say("review_help"), "soft"),
    SHOWS_FIRST ? null : paragraph(say("prospects"), "soft"),
    asked.map((name, i) => reviewed(byName(name), i)),
    make("div", { class: "note" }, paragraph(say(SHOWS_FIRST ? "make_help" : "agree_help"))),
    make(
      "div",
      { class: "buttons" },
      button(SHOWS_FIRST ? "make" : "agree", (event) => privatise(event.currentTarget), "main"),
      button("back", () => ask(asked.length - 1)),
    ),
  );
  announce("");
}

function reviewed(question, i) {
  const label = say("change_one", { question: question.text });
  const change = button("change", () => ask(i, true), "little");
  change.setAttribute("aria-label", label);
  const words = make("dl", {}, make("dt", {}, question.text), make("dd", {}, answerWords(question)));
  const row = make("div", { class: "row" }, words, change);
  const isEmpty = !answers.get(question.name) && question.refused === null;
  const may = isEmpty ? paragraph(say("report_none"), "soft small") : prospects(question);
  return make("div", { class: "entry" }, row, SHOWS_FIRST ? null : may);
}

function answerWords(question) {
  const given = answers.get(question.name) ?? null;
  if (given === null) return say("skipped");
  const answer = shownAnswer(question, given);
  const tag = own.get(question.name) ?? null;
  if (tag === null) return answer;
  const words = question.tags[question.document.draw.tags.indexOf(tag)];
  return say("under_tag", { answer, tag: words });
}

/** Make the reports, once on this device, forget the answers, and send them at once. */
async function privatise(pressed) {
  if (busy) return;
  busy = true;
  pressed.disabled = true;
  const text = await alone(made).catch(() => null);
  busy = false;
  if (text === null) broken();
  else if (text === false) arrive();
  else if (SHOWS_FIRST) reports(text, false);
  else underway(text, false);
}

/** The reports, if this window was the first to make any; else false. */
async function made() {
  if (ended || recalled() !== null) return false;
  const text = JSON.stringify(message(), null, 2); // what is sent: no other characters
  if (!(await claimed(text))) return false;
  keepWave(client.secret);
  ended = true;
  forget();
  return text;
}

/** The message to the collector, which holds reports of all answers. */
function message() {
  const given = Object.create(null);
  for (const name of asked) given[name] = answers.get(name) ?? null;
  const tags = Object.create(null);
  for (const [name, tag] of own) {
    if (tag !== null && given[name] !== null) tags[name] = { [tag]: [given[name]] };
  }
  return (Object.keys(tags).length ? open(tags) : client).message(given, invitation);
}
