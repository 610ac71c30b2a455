"""The bounds of a page, so that it is written, opened and read in bearable time; an export has all."""

MAX_ROWS_OF_A_TABLE = 3000

MAX_ROWS_OF_CHARTS = 5000
"""Rows of the charts of all metrics; beyond them those are left out that answer no question at first hand."""

MAX_CHARACTERS_OF_CHARTS = 5_000_000

MAX_TRIAL_LINKS = 20_000

MAX_CHARACTERS_OF_A_LOG = 6000
"""Characters of a log's end; the whole log is in the trial's folder."""

MAX_UNFOLDED_COMPARISONS = 3
"""Comparisons of a claim that are shown without being asked for."""
