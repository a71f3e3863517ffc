// The reports: shown, then sent or handed over; and the end.

function reports(text, again) {
  const { sheet } = JSON.parse(text);
  waiting = true;
  const exact = make("pre", { tabindex: "0", role: "region", "aria-labelledby": "exact" }, text);
  show(
    headline(say("reports")),
    paragraph(say(again ? "reports_again" : "reports_help")),
    keeps ? null : make("div", { class: "note warn" }, paragraph(say("reports_not_kept"))),
    QUESTIONS.map((one) => conclusions(one, sheet[one.name], again)),
    make("h2", {}, say("together")),
    totalTexts(),
    make("h2", { id: "exact" }, say("exact")),
    paragraph(say("exact_help"), "soft small"),
    exact,
    DATA.post === null ? handing(text, exact) : sending({ text, exact, code: null }),
  );
  announce("");
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
  const withdraw = button("withdraw", () => (unsent() ? gone("withdrawn") : arrive()), "quiet");
  if (recalled()?.left) withdraw.hidden = true;
  const send = button("send", () => deliver(sheet, send, withdraw, state, retype), "main");
  return [state, field, make("div", { class: "buttons" }, send, withdraw)];
}

async function deliver(sheet, send, withdraw, state, retype) {
  if (busy || sheet.code?.read() === false) return;
  busy = true;
  send.disabled = true;
  withdraw.hidden = true;
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
  if (status === 200) return gone("sent");
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

/** The end: the device keeps that it has taken part, and nothing else. */
function gone(how) {
  keep(null, true);
  waiting = false;
  const thanks = how === "sent" || how === "deleted" ? paragraphs(DATA.texts.thanks) : null;
  const plainly = how === "outdated" || how === "complete";
  const words = plainly ? say(`${how}_help`) : sayKept(`${how}_help`, `${how}_not_kept`);
  show(headline(say(how)), thanks, paragraph(words));
}
