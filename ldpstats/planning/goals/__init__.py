"""What a survey is to find out, in terms of a test that its results will run."""
