"""What is wrong with results, by a closed set of rules."""
