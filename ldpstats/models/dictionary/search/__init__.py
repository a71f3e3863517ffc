"""Finding strings that nobody listed: grams, then pairs of grams, then whole strings.

Each stage is a function of the reports of the grams alone (FPE16 section IV-A, steps 3 to 7): the
reports of whole strings are kept for the test of the candidates that come out.
"""
