"""Files that appear complete or not at all: commits, locks, permissions, interruptions."""
