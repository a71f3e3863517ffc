"""Designs of blocks: which categories each label of a report stands for.

`base` says what every design answers, `hadamard`, `projective` and `single` are the designs.
"""
