// The fields of a question: a list to choose from, a long list to search, a text to write.

const MANY = 12; // answers, from which on they are searched
const MOST = 60; // answers that are shown at once

/** One of several to choose. */
function choice(name, value, text, chosen, act) {
  const how = { type: "radio", name, value, checked: chosen, autocomplete: "off", onchange: act };
  return make("label", { class: "choice" }, make("input", how), make("span", {}, text));
}

/** A field for a question: its element, and the answer in it, null if there is none. */
function answerField(question, given) {
  if (question.size === null) return textField(question, given);
  const numbers = choices(question);
  return numbers.length > MANY ? searched(question, numbers, given) : listed(question, numbers, given);
}

function listed(question, numbers, given) {
  const list = make("div", {}, numbers.map((x) => answerChoice(question, x, given, null)));
  const read = () => {
    const chosen = list.querySelector("input:checked");
    return chosen === null ? null : question.label(Number(chosen.value));
  };
  return { element: list, read, first: () => list.querySelector("input") };
}

function answerChoice(question, x, given, act) {
  return choice("answer", String(x), question.shown(x), question.label(x) === given, act);
}

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLocaleLowerCase(LANGUAGE);

function searched(question, numbers, given) {
  let chosen = given;
  const search = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const list = make("div", { class: "scroll" });
  const count = make("p", { class: "soft small", role: "status" });
  const choose = (event) => {
    chosen = question.label(Number(event.target.value));
  };
  const fill = () => {
    const part = plain(search.value.trim());
    const found = numbers.filter((x) => plain(question.shown(x)).includes(part));
    const first = found.filter((x) => question.label(x) === chosen);
    const shown = [...first, ...found.filter((x) => question.label(x) !== chosen)].slice(0, MOST);
    shown.sort((a, b) => a - b);
    list.replaceChildren(...shown.map((x) => answerChoice(question, x, chosen, choose)));
    if (!found.some((x) => question.label(x) === chosen)) chosen = null; // what is not seen
    const values = { shown: numberText(shown.length), total: numberText(numbers.length) };
    const all = shown.length === numbers.length;
    count.textContent = say(!shown.length ? "found_none" : all ? "found_all" : "found", values);
  };
  search.addEventListener("input", fill);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // ends the search, not the question
  });
  fill();
  const label = make("label", { class: "field" }, say("find"), search);
  const element = make("div", {}, label, count, list);
  return { element, read: () => chosen, first: () => search };
}

function textField(question, given) {
  const off = { autocomplete: "off", autocorrect: "off", autocapitalize: "off" };
  const how = { type: "text", spellcheck: "false", ...off }; // a spelling checker may be elsewhere
  const input = make("input", { ...how, "aria-describedby": "hint" });
  input.value = given ?? "";
  const label = make("label", { class: "field" }, say("your_answer"), input);
  const hint = paragraph(question.grams === null ? "" : lettersHint(question), "soft small");
  hint.id = "hint";
  const read = () => input.value.trim().normalize("NFC") || null;
  return { element: make("div", {}, label, hint), read, first: () => input };
}

function lettersHint({ grams: { alphabet, length } }) {
  const letters = Array.from(alphabet, (one) => (one === " " ? say("space") : one));
  return say("letters", { length: numberText(length), alphabet: letters.join(" ") });
}

/** To which of the respondent's own categories an answer belongs; null for a question of none. */
function tagField(question, given) {
  if (question.tags === null) return null;
  const tags = question.document.draw.tags;
  const act = null;
  const element = make(
    "fieldset",
    {},
    make("legend", { class: "minor" }, question.tagQuestion ?? say("tag_question")),
    paragraph(say("tag_help"), "soft small"),
    tags.map((tag, i) => choice("tag", String(i), question.tags[i], tag === given, act)),
    choice("tag", "", say("tag_none"), given === null, act),
  );
  const read = () => {
    const chosen = element.querySelector("input:checked");
    return chosen.value === "" ? null : tags[Number(chosen.value)];
  };
  return { element, read };
}
