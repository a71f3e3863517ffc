"""A questionnaire as a page that respondents fill in on their own devices.

A page is one file without any request to others: its script, the client of
`clients/portable/ldpstats-client.mjs` and its style stand in it, and its content security policy
allows these alone, by their hashes, and connections to the collector alone. True answers are in the
memory of the page until the reports are made, and nowhere else: not in storage, addresses, history,
forms that a browser restores, logs or messages. The browser's local storage has the fingerprint of
the survey, that reports were made, and the reports until they are delivered. A device without
storage, such as a private window, may take part and is told that the page cannot know it later.

Answers that are typed lose the spaces at both ends, and their letters are composed (Unicode NFC),
since keyboards write one word with different characters.

With `ask=` of the questionnaire, questions are drawn when the page is opened, and anew when it is
loaded again: this costs no privacy, but respondents may look for questions that they like.
"""

from ldpstats.page.page import page_text, write_page
from ldpstats.page.texts import page_texts

__all__ = ["page_text", "page_texts", "write_page"]
