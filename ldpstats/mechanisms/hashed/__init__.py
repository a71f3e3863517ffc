"""Mechanisms whose reports are hashed, so that the list of answers can come later.

`answer_hash` says which cells an answer owns, `base` and `bits` hold what the mechanisms share.
`candidates` are the strings that an analyst looks for.
"""
