"""What is copied to respondents' devices; it imports nothing of the package."""
