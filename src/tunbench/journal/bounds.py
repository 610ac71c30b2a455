"""The bounds of a journal, which may come from someone else: what no run writes, and what no report can be made of."""

LARGEST_JOURNAL = 8 << 30
"""Bytes. A journal of a million samples has some hundred million."""

LONGEST_LINE = 512 << 20
"""Bytes. The longest hold the outputs of a trial: one of 600,000 round trips has some 100 million."""

MOST_VALUES = 64_000_000
"""Signs in front of a value, in a whole journal; a sample has seven. Each may become 100 bytes of memory."""

LONGEST_NAME = 4000
"""Characters; a stack of ten layers with all of their options has some hundreds."""

LARGEST_NUMBER = 1e30
"""Of facts and moments; squares of it are still finite. A year has 3e16 ns, a disk 1e14 B."""

LEAST_SAMPLE = 1e-30
"""Of the values of samples that are not zero: what is told of them, such as a ratio, is a float of full precision."""

LONGEST_SAMPLE_SECONDS = 1e9
"""A month on each of a machine's processors."""

LARGEST_WHOLE_NUMBER = (1 << 63) - 1
"""Of repeats, seeds and numbers of trials: 64 bits with a sign."""

DEEPEST_TABLE = 20
"""Tables within tables of a manifest."""

MOST_FACTS = 200_000
"""Names and values of a manifest; one of 10,000 profiles has about 100,000."""
