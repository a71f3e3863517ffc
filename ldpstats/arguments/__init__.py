"""What a caller may pass: checks of arguments, and labels of categories."""
