// The first step, and what happens when the page is left or another window was faster.

/** The first step, which depends on what the device keeps. */
function arrive() {
  const kept = recalled();
  if (kept !== null && kept.pending !== null) {
    ended = true;
    forget();
    return SHOWS_FIRST ? reports(kept.pending, true) : underway(kept.pending, true);
  }
  if (kept !== null) {
    ended = true;
    forget();
    return show(headline(say("before")), paragraph(say("before_help")));
  }
  client = open();
  asked = client.asked;
  return introduction();
}

/** The browser asks whoever would lose answers, or reports that it does not keep, by leaving. */
addEventListener("beforeunload", (event) => {
  if (answers.size > 0 || (waiting && !keeps)) event.preventDefault();
});
addEventListener("pagehide", () => {
  forget(); // of what a browser may keep of a page that was left
  document.getElementById("page").replaceChildren();
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
addEventListener("hashchange", () => {
  if (DATA.invited && !busy && !ended && answers.size === 0) {
    invitation = null; // another link
    arrive();
  }
});
addEventListener("storage", (event) => {
  if (event.key === PLACE && !busy && !ended) arrive(); // another window has made reports
});

/** Without the error: nothing of a page with answers is logged. */
function broken() {
  forget();
  show(headline(say("broken")));
}

try {
  arrive();
} catch {
  broken();
}
