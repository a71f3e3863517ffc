"""Mechanisms that protect the sensitive categories alone (utility-optimised LDP, MK19)."""
