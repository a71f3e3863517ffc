"""Mechanisms whose reports are blocks of categories: the answer is in the block more often.

A report y stands for a set of categories, its block, and ``Q[x, y]`` is e^eps times larger for the
categories x in it than for all others. In `subset` the blocks are all subsets of one size.
"""
