"""Does a client, in any language, make the reports of the specification?

`vectors` are those that come with the package; `random_vectors` makes others, from the draws of
`random_draws`. `program` runs a client, and `comparison` says where it differs.
"""

from __future__ import annotations

from ldpstats.clients.conformance.comparison import Conformance, Difference, compared

__all__ = ["Conformance", "Difference", "compared"]
