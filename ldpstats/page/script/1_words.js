// What the page is made of: its data, its words, its elements. All words come from data, and reach
// the page as text alone, never as markup.

const DATA = JSON.parse(document.getElementById("data").textContent);
/** Whether reports are shown before it is decided if they leave, as where the page sends none. */
const SHOWS_FIRST = DATA.post === null || DATA.showFirst;
const LANGUAGE = known(document.documentElement.lang);

/** A language that browsers can be asked for; undefined, their own, for another. */
function known(lang) {
  try {
    return Intl.getCanonicalLocales(lang)[0];
  } catch {
    return undefined;
  }
}

/** A text of the page, with values in its places: {name}. */
function say(key, values = {}) {
  return DATA.texts.words[key].replace(/\{([a-z]+)\}/g, (_, name) => String(values[name]));
}

/** Texts in a row, the first of them if there are many. */
function listText(texts, most = 12) {
  const answers = texts.slice(0, most).join(say("list_separator"));
  const number = texts.length - most;
  return number > 0 ? say("list_rest", { answers, number: numberText(number) }) : answers;
}

function numberText(value, options) {
  return new Intl.NumberFormat(LANGUAGE, options).format(value);
}

/** A share between zero and one: two digits of a small one, and never 100% of one that is less. */
function percent(value) {
  const style = "percent";
  if (value < 0.0995) return numberText(value, { style, maximumSignificantDigits: 2 });
  const digits = value < 0.9005 ? 0 : Math.max(1, Math.ceil(-Math.log10(1 - value)) - 2);
  return numberText(value, { style, maximumFractionDigits: Math.min(digits, 9) });
}

/** A positive number with so many digits, never rounded down. */
function upward(value, digits) {
  if (value === 0) return 0;
  const step = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
  return Math.ceil(value / step - 1e-9) * step;
}

/** How many times as likely an epsilon may make something. */
function factorText(factor) {
  return numberText(upward(factor, factor < 100 ? 3 : 2), { maximumSignificantDigits: 3 });
}

/** An element with attributes, listeners ("onclick") and children; text is text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null));
  return element;
}

const paragraph = (text, kind = null) => make("p", { class: kind }, text);
const paragraphs = (texts) => texts.map((text) => paragraph(text));
const bullets = (texts) => make("ul", { class: "plain" }, texts.map((text) => make("li", {}, text)));

function button(key, act, kind = null) {
  return make("button", { type: "button", class: kind, onclick: act }, say(key));
}

const headline = (text) => make("h1", { tabindex: "-1" }, text);

/** Show a step in place of the one before, and take the reader to its heading. */
function show(...children) {
  const page = document.getElementById("page");
  document.querySelector("header").hidden = children[0].textContent === DATA.texts.title;
  page.replaceChildren(...children.flat(Infinity).filter((child) => child !== null));
  window.scrollTo(0, 0);
  page.querySelector("h1").focus({ preventScroll: true });
}

/** Say something to those who hear the page. */
function announce(text) {
  document.getElementById("live").textContent = text;
}
