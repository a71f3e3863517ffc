"""Finding strings that nobody listed: grams, then pairs of grams, then whole strings.

`DictionaryModel.fit` runs the steps in this order (FPE16 section IV-A, steps 3 to 7):

1. screening: which grams are frequent at each position. Hashed grams share cells: `hashed_grams`
   tells them apart, with sums over their cells from `owners`.
2. pairs: how often two grams are in one string, for every pair of positions.
3. evidence: which pairs are edges of the graph, and what the pairs say of whole strings.
4. paths: strings grown gram by gram along the edges, the best first.
5. explained: a second search, for strings that a few frequent ones hide.

`detection` says how frequent a string must be to pass all steps; plans and plots use it. `progress`
tells how far a step has come. Every step sees the reports of the grams alone: those of whole
strings are kept for the test of the candidates.
"""
