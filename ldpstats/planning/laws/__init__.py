"""Tests of a survey that is planned: when they reject, and how often."""
