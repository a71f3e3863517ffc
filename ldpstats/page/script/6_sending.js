// How reports leave the device: to a collector, as a file, or as text to copy.

const PATIENCE = [0, 1000, 2000]; // milliseconds before each attempt
const LONGEST = 30000; // milliseconds of one

/** Post reports; the status of the answer, or the reason that it gives; 0 if there was none. */
async function posted(text) {
  let status = 0;
  for (const wait of PATIENCE) {
    await pause(wait);
    status = await attempt(text);
    if (status !== 0 && status !== 429 && !(status >= 500)) return status;
  }
  return status;
}

async function attempt(text, address = DATA.post) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), LONGEST);
  try {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: text,
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      redirect: "error",
      signal: late.signal,
    });
    if (answer.status === 403) {
      const { reason } = await answer.json().catch(() => ({})); // a proxy may refuse, too
      return ["code", "spent", "complete"].includes(reason) ? reason : 403;
    }
    if (answer.status !== 200) return answer.status;
    return (await answer.json()).accepted === true ? 200 : 0; // another page may answer 200, too
  } catch {
    return 0;
  } finally {
    clearTimeout(timer);
  }
}

function saveFile(text, file) {
  const place = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: place, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(place), 60000);
}

/** Copy text; where that is not allowed, mark it in its element. */
async function copyText(text, element) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(element);
    element.focus();
    return false;
  }
}
