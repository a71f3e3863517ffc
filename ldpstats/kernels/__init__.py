"""Compiled loops, and nothing else. Import them where they are used: numba takes seconds."""
