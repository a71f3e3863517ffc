"""The sample of a survey: its design in columns, weighted cells, and changes of its weights."""
