"""Mechanisms that protect the sensitive categories alone (utility-optimised LDP, MK19).

`urr` and `urap` are the two mechanisms; `revealing` is the form of the reports of `urap`, `bits`
their channel. In `pum` what is sensitive may differ between respondents, whose device is in
`pum_client`. `combined` prepares such reports for an analysis with others.
"""
