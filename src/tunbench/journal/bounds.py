"""The bounds of what is read, which may come from someone else: what no run or publication has, and no report bears."""

MAX_JOURNAL_BYTES = 8 << 30
"""A journal of a million samples has some hundred million."""

MAX_LINE_BYTES = 512 << 20
"""The longest hold the outputs of a trial: one of 600,000 round trips has some 100 million."""

MAX_VALUES = 64_000_000
"""Signs in front of a value, in a whole journal; a sample has seven. Each may become 100 bytes of memory."""

MAX_NAME_CHARACTERS = 4000
"""A stack of ten layers with all of their options has some hundreds."""

MAX_NUMBER = 1e30
"""Of facts and moments; squares of it are still finite. A year has 3e16 ns, a disk 1e14 B."""

MIN_SAMPLE = 1e-30
"""Of the values of samples that are not zero: what is told of them, such as a ratio, is a float of full precision."""

MAX_SAMPLE_SECONDS = 1e9
"""A month on each of a machine's processors."""

MAX_WHOLE_NUMBER = (1 << 63) - 1
"""Of repeats, seeds and numbers of trials: 64 bits with a sign."""

MAX_NESTING = 20
"""Tables within tables of a manifest."""

MAX_FACTS = 200_000
"""Names and values of a manifest; one of 10,000 profiles has about 100,000."""

MAX_MANIFEST_BYTES = 16 << 20
"""One of 10,000 profiles has about 5 million."""

MAX_REFERENCE_BYTES, MAX_REFERENCE_ROWS = 4 << 20, 20_000
"""The largest reference that is shipped has some 400,000 bytes and 4,000 rows."""

MAX_REFERENCE_MISTAKES = 20
"""Mistakes of a reference that are told at once."""
