// The reports: sent and then shown, or shown and then sent or handed over; and the end.

/** Reports that were agreed to: they are sent at once, and shown when they have arrived. */
function underway(text, again) {
  waiting = true;
  const { elements, send } = sending({ text, exact: exactText(text), code: null, again });
  show(
    headline(say("underway")),
    paragraph(say(again ? "underway_again" : "underway_help")),
    keeps ? null : make("div", { class: "note warn" }, paragraph(say("reports_not_kept"))),
    elements,
  );
  announce("");
  if (!again) send.click();
}

/** Reports before it is decided whether they leave. */
function reports(text, again) {
  waiting = true;
  const sheet = { text, exact: exactText(text), code: null, again };
  show(
    headline(say("reports")),
    paragraph(say(again ? "reports_again" : "reports_help")),
    keeps ? null : make("div", { class: "note warn" }, paragraph(say("reports_not_kept"))),
    shownSheet(sheet),
    DATA.post === null ? handing(text, sheet.exact) : sending(sheet).elements,
  );
  announce("");
}

const exactText = (text) =>
  make("pre", { tabindex: "0", role: "region", "aria-labelledby": "exact" }, text);

/** What is sent for each question, what follows from it, and its characters. */
function shownSheet({ text, exact, again }) {
  const { sheet } = JSON.parse(text);
  return [
    QUESTIONS.map((one) => conclusions(one, sheet[one.name], again)),
    make("h2", {}, say("together")),
    totalTexts(),
    make("h2", { id: "exact" }, say("exact")),
    paragraph(say(DATA.client.link ? "exact_help_linked" : "exact_help"), "soft small"),
    exact,
  ];
}

/** What is sent: its text, the element that shows it, and the field of its code if it was refused. */
function sending(sheet) {
  const state = make("p", { role: "status" });
  const field = make("div", {});
  const retype = () => {
    sheet.code ??= codeField(JSON.parse(sheet.text).invitation);
    field.replaceChildren(sheet.code.element);
    field.querySelector("input").focus();
  };
  const unsent = () => current(sheet.text) && !recalled()?.left; // another window may have sent them
  const withdraw = button("withdraw", () => (unsent() ? withdrawn() : arrive()), "quiet");
  const note = paragraph(say("withdraw_help"), "soft small");
  withdraw.hidden = note.hidden = !SHOWS_FIRST || recalled()?.left === true;
  const hide = () => {
    withdraw.hidden = note.hidden = true;
  };
  const send = button("send", () => deliver(sheet, send, hide, state, retype), "main");
  return { elements: [state, field, make("div", { class: "buttons" }, send, withdraw), note], send };
}

/** Delete reports that were shown; the receiver hears that some were, and nothing else. */
function withdrawn() {
  gone("withdrawn");
  attempt(JSON.stringify(new Client(DATA.client).withdrawal()), DATA.withdraw);
}

async function deliver(sheet, send, hide, state, retype) {
  if (busy || sheet.code?.read() === false) return;
  busy = true;
  send.disabled = true;
  hide();
  state.textContent = say("sending");
  const status = await alone(async () => {
    if (!current(sheet.text)) return -1;
    if (sheet.code !== null) sheet.text = sheet.exact.textContent = withCode(sheet.text);
    keep(sheet.text, true);
    return posted(sheet.text);
  });
  busy = false;
  if (status === false) return show(headline(say("other_tab")), paragraph(say("other_tab_help")));
  if (status === -1) return arrive();
  if (status === 200) return gone("sent", SHOWS_FIRST ? null : sheet);
  if (status === 409) return gone("outdated");
  if (status === "complete") return gone("complete");
  send.disabled = false;
  send.textContent = say("again");
  state.textContent = problem(status);
  return status === "code" || status === "spent" ? retype() : send.focus();
}

function problem(status) {
  if (status === "code") return say("code_unknown");
  if (status === "spent") return say("code_spent");
  if (status === 0) return sayKept("offline", "offline_not_kept");
  if (status === 429 || status >= 500) return sayKept("busy", "busy_not_kept");
  return sayKept("not_accepted", "not_accepted_not_kept", { status });
}

function handing(text, exact) {
  const state = make("p", { role: "status" });
  const file = `reports-${DATA.client.survey}-${JSON.parse(text).token.slice(0, 8)}.json`;
  const leave = () => {
    if (current(text)) keep(text, true);
    waiting = false;
  };
  const save = () => {
    leave();
    saveFile(text, file);
    state.textContent = say("saved", { file });
  };
  const copy = async () => {
    leave();
    state.textContent = say((await copyText(text, exact)) ? "copied" : "copy_failed");
  };
  const remove = button("delete", () => gone("deleted"), "quiet");
  const row = make("div", { class: "buttons" }, button("save", save, "main"), button("copy", copy), remove);
  return [make("div", { class: "note" }, paragraph(say("save_help"))), row, state];
}

/** The end: the device keeps that it has taken part, and nothing else; `sheet` is shown. */
function gone(how, sheet = null) {
  keep(null, true);
  waiting = false;
  const thanks = how === "sent" || how === "deleted" ? paragraphs(DATA.texts.thanks) : null;
  const plainly = how === "outdated" || how === "complete";
  const words = plainly ? say(`${how}_help`) : sayKept(`${how}_help`, `${how}_not_kept`);
  const sent = () => [make("h2", {}, say("was_sent")), paragraph(say("was_sent_help")), shownSheet(sheet)];
  show(headline(say(how)), thanks, paragraph(words), sheet === null ? null : sent());
}
