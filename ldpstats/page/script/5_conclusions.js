// What will be sent, in words, and what anyone could conclude from it.

const FAR = 1e4; // times as likely: hardly any protection

/** What epsilon allows at most, in words. */
function boundText(keys, spent, more = {}) {
  if (spent === null) return say(keys.none);
  const values = {
    ...more,
    factor: spent.factor > FAR ? numberText(FAR) : factorText(spent.factor),
    epsilon: numberText(upward(spent.epsilon, 4), { maximumSignificantDigits: 4 }),
  };
  return say(spent.factor > FAR ? keys.huge : keys.bound, values);
}

/** What all reports together allow, and for which answers that holds. */
function totalTexts() {
  const none = QUESTIONS.some((question) => question.isPrivate) ? "total_open" : "total_none";
  const text = boundText({ bound: "total", huge: "total_huge", none }, DATA.total);
  const all = QUESTIONS.every((question) => question.isPrivate && question.protected === null);
  const waves = DATA.client.wave === undefined || DATA.total === null ? [] : [wavesText()];
  return paragraphs([text, ...waves, ...(DATA.total === null || all ? [] : [say("total_some")])]);
}

/** What the waves that were answered allow together, this one included: two at least. */
function wavesText() {
  const number = Math.max(earlier().waves + (ended ? 0 : 1), 2);
  const spent = { epsilon: number * DATA.total.epsilon, factor: DATA.total.factor ** number };
  const waves = { waves: numberText(number) };
  if (!QUESTIONS.some(({ isKept }) => isKept)) {
    return boundText({ bound: "waves", huge: "waves_huge" }, spent, waves);
  }
  const sum = (epsilons) => epsilons.reduce((one, other) => one + other, 0);
  const own = (kept) =>
    QUESTIONS.filter(({ isPrivate, isKept }) => isPrivate && isKept === kept)
      .map((question) => question.spent.epsilon)
      .sort((a, b) => b - a);
  const fresh = sum(own(false).slice(0, DATA.client.ask ?? QUESTIONS.length));
  const epsilon = Math.min(spent.epsilon, number * fresh + sum(own(true)));
  const bounded = { epsilon, factor: Math.exp(Math.min(epsilon, 700)) };
  return boundText({ bound: "waves_kept", huge: "waves_huge" }, bounded, waves);
}

/** How likely an unchanged answer may become over linked waves; null where that is not known. */
function believedOverWaves({ size, spent, protected: some, isPrivate, isKept }) {
  if (!DATA.client.link || !isPrivate || spent === null || some !== null || !(size > 1)) return null;
  const most = (waves) => percent(1 / (1 + (size - 1) * spent.factor ** -waves));
  if (isKept) {
    const kept = say("believe_kept", { before: percent(1 / size), most: most(1) });
    return paragraph(kept, "soft small");
  }
  const values = { before: percent(1 / size), two: most(2), five: most(5), ten: most(10) };
  return paragraph(say("believe_waves", values), "soft small");
}

/** What is sent for a question, and what follows from it. */
function conclusions(question, report, again) {
  const sent = make("dd", {}, reportWords(question, report, again));
  const rows = [make("dt", {}, say("report")), sent];
  if (report !== null) {
    rows.push(make("dt", {}, say("conclude")), make("dd", {}, concluded(question, report)));
  }
  return make("section", { class: "entry" }, make("h2", {}, question.text), make("dl", {}, rows));
}

function reportWords(question, report, again) {
  if (report === null) return say(emptyWords(question, again));
  if (!question.isPrivate && question.size === null) return report;
  if (question.reportsAnswers) return question.believed(reportNumber(question, report));
  const text = typeof report === "string" ? report : JSON.stringify(report);
  const code = () => say(question.size === null ? "report_of_text" : "report_code");
  const words = question.marksAnswers ? bitsWords(question, report) : code();
  return [make("span", { class: "sent" }, text), paragraph(words, "soft")];
}

/** Why there is no report: of reports that were made before it is not known who was asked what. */
function emptyWords({ name, isPrivate }, again) {
  if (again && isPrivate && DATA.client.ask !== null) return "report_empty";
  return again || asked.includes(name) ? "report_none" : "report_not_asked";
}

/** Answers that bits mark. */
function bitsWords(question, report) {
  const marked = Array.from(report, (_, j) => j).filter((j) => report[j] === "1");
  if (marked.length === 0) return say("report_no_bits");
  return say("report_bits", { answers: listText(marked.map((j) => question.believed(j))) });
}

function reportNumber(question, report) {
  const { reports } = question.document;
  if (typeof reports === "number") return Number(report);
  if (Array.isArray(reports)) return reports.indexOf(report);
  return reports?.bits === undefined ? null : parseInt(report, 2);
}

/** P(answer | report) of equally likely answers, in their order; null where it is not known. */
function beliefs(question, report) {
  const y = reportNumber(question, report);
  if (question.beliefs !== null) return question.beliefs[y] ?? null;
  if (question.odds === null) return null;
  const marks = (x) => (question.reportsAnswers ? x === y : report[x] === "1");
  const weights = Array.from({ length: question.size }, (_, x) => (marks(x) ? question.odds : 1));
  const sum = weights.reduce((one, other) => one + other);
  return weights.map((weight) => weight / sum);
}

const FEW = 4; // reports that are possible, of which each is explained before one is drawn

/** What may be sent for a question, and what anyone could conclude then, whatever it is. */
function prospects(question) {
  if (!question.isPrivate) return paragraph(say("observed_report"), "soft small");
  const some = question.protected === null ? "bound" : "bound_some";
  const bound = boundText({ bound: some, huge: "bound_huge", none: "bound_none" }, question.spent);
  const rows = (question.beliefs ?? []).flatMap((law, y) => (law === null ? [] : [[law, y]]));
  const each = rows.length > FEW ? [] : rows.map(([law, y]) => prospect(question, law, y));
  const what = each.length ? bullets(each) : paragraph(say("many_sent"));
  return [what, paragraph(bound, "soft small"), believedOverWaves(question)];
}

function prospect(question, law, y) {
  const { reports } = question.document;
  const bits = () => y.toString(2).padStart(reports.bits, "0");
  const code = typeof reports === "number" ? String(y) : Array.isArray(reports) ? reports[y] : bits();
  const report = question.reportsAnswers ? question.believed(y) : code;
  const order = law.map((_, x) => x).sort((a, b) => law[b] - law[a] || a - b);
  const shares = order.map((x) => say("believed", { answer: question.believed(x), share: percent(law[x]) }));
  const certain = law[order[0]] > 1 - 1e-9;
  const beliefs = listText(certain ? shares.slice(0, 1) : shares, SHOWN);
  return say("if_sent", { report, beliefs });
}

function concluded(question, report) {
  if (!question.isPrivate) return paragraph(say("observed_report"));
  const some = question.protected === null ? "bound" : "bound_some";
  const bound = boundText({ bound: some, huge: "bound_huge", none: "bound_none" }, question.spent);
  const law = beliefs(question, report);
  if (law === null) return paragraph(bound);
  const certain = law.findIndex((share) => share > 1 - 1e-9);
  if (certain >= 0) return paragraph(say("shows", { answer: question.believed(certain) }));
  return [believedTable(question, law), paragraph(bound, "soft small"), believedOverWaves(question)];
}

const SHOWN = 6; // answers in a table; of the others the likeliest is named

function believedTable(question, law) {
  const order = law.map((_, x) => x).sort((a, b) => law[b] - law[a] || a - b);
  const many = order.length > SHOWN;
  const rows = order
    .slice(0, many ? SHOWN - 1 : SHOWN)
    .map((x) => believedRow(question.believed(x), law[x]));
  if (many) {
    const number = numberText(order.length - rows.length);
    rows.push(believedRow(say("believe_rest", { number }), law[order[rows.length]]));
  }
  const before = percent(1 / law.length);
  return [paragraph(say("believe", { before })), make("table", {}, make("tbody", {}, rows))];
}

function believedRow(text, share) {
  const bar = make("span");
  bar.style.inlineSize = `${100 * share}%`;
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, text),
    make("td", { class: "percent" }, percent(share)),
    make("td", { class: "bars", "aria-hidden": "true" }, make("div", { class: "bar" }, bar)),
  );
}
