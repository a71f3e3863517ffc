// The invitation: a code that is typed, or that the page's link has as its fragment, which browsers
// send to nobody.

let invitation = null; // as it goes with the reports

/** The code in the address of the page, as it is written there. */
function linkedCode() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
}

/** The field of the code, with what is known of it; `read` says whether it has a code. */
function codeField(given) {
  const wrong = make("p", { class: "wrong", role: "alert", id: "code-wrong" });
  const help = make("p", { class: "soft small", id: "code-help" }, say("code_help"));
  const input = make("input", {
    type: "text",
    id: "code",
    autocomplete: "off",
    autocapitalize: "characters",
    spellcheck: "false",
    "aria-describedby": "code-help code-wrong",
  });
  input.value = given ?? "";
  const read = () => {
    try {
      invitation = invitationCode(input.value);
      input.value = invitation.match(/.{4}/g).join("-");
      wrong.textContent = "";
      return true;
    } catch {
      wrong.textContent = say(input.value.trim() === "" ? "code_missing" : "code_wrong");
      input.focus();
      return false;
    }
  };
  const label = make("label", { class: "field" }, say("code"), input);
  return { element: make("div", {}, label, help, wrong), read };
}

/** Reports with another code; their token stays. */
function withCode(text) {
  return JSON.stringify({ ...JSON.parse(text), invitation }, null, 2);
}
