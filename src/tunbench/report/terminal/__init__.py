"""The report for a terminal of 80 columns."""
