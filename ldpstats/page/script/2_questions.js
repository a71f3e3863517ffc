// The questions: those of the client document with the words of the page.

const QUESTIONS = DATA.client.questions.map((question, i) => {
  const page = DATA.questions[i];
  const { answers, draw } = question;
  const size = answers === null ? null : typeof answers === "number" ? answers : answers.length;
  const label = (x) => (typeof answers === "number" ? String(x) : answers[x]);
  const shown = (x) => page.labels?.[x] ?? label(x);
  return {
    ...page,
    name: question.name,
    isPrivate: question.private,
    refused: question.refused ?? null,
    document: question,
    size,
    label,
    shown,
    believed: (x) => (x < size ? shown(x) : page.tagBeliefs[x - size]), // what a report may be of
    grams: draw.kind === "grams" ? draw : null,
    isKept: ["kept", "rappor"].includes(draw.kind), // one response to each answer, in all waves
  };
});

/** Whether the draws spend no more than the page says of each question, which is null for no bound. */
const isHonest = ({ isPrivate, spent, document: question }) =>
  spent === null || (isPrivate && !exceeds(spentQuestion(question), spent.epsilon));

const byName = (name) => QUESTIONS.find((question) => question.name === name);

/** The number of the answer with a label. */
function answerNumber(question, label) {
  if (typeof question.document.answers === "number") return Number(label);
  return question.document.answers.indexOf(label);
}

/** An answer as the respondent reads it. */
function shownAnswer(question, label) {
  return question.size === null ? label : question.shown(answerNumber(question, label));
}

/** Numbers of the answers to choose from: what stands for a skipped question is not among them. */
function choices(question) {
  return Array.from({ length: question.size }, (_, x) => x).filter(
    (x) => question.label(x) !== question.refused || !question.skip,
  );
}

/** Whether an answer that was typed can be reported: a client of this question alone tries it. */
function usable(question, answer) {
  const { answers, reports, draw } = question.document;
  const { format, version, survey } = DATA.client;
  const alone = { format, version, survey, epsilon: "inf", question: { answers, reports, draw } };
  try {
    new Client({ ...alone, fingerprint: fingerprint(alone) }).report(answer);
    return true;
  } catch (error) {
    if (error instanceof Refused && error.reason === "answer") return false;
    throw error;
  }
}
