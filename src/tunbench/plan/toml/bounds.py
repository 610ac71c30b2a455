"""Bounds of a plan's file, which anybody may have written: what is beyond them is refused with its line, at once."""

MAX_FILE_BYTES = 1 << 18
"""The largest that is shipped has some 76,000."""

MAX_NESTING = 40
"""Steps of a key, and tables and lists within each other; for a key, tomllib takes time with their square."""

MAX_NUMBER = 10**30
"""TOML's own whole numbers have 64 bits."""

MAX_LIST_ENTRIES = 1_000
MAX_TABLE_NAMES = 1_000

MAX_SWEPT_VALUES = 10_000
"""Values that one entry of a list sweeps over, and values of an axis."""

MAX_LAYERS = 5_000
"""Layers of all stacks of a plan: to read one takes ten times as long as another value."""

MAX_SPELLING_CHARACTERS = 1_000
"""Characters of a stack, of a workload, and of the swept values behind another name."""

MAX_NAME_CHARACTERS = 64

MAX_CUT_TABLES = 100
"""Tables of `include`, and of `exclude`."""

MAX_PATTERN_CHARACTERS = 200
"""What it takes to read a pattern grows by their square."""

MAX_SYSCTLS = 100
"""Sysctls of a tuning: each is read for every value of its sweeps."""

MAX_SCALES = 10
MAX_VALUES_OF_SCALES = 5_000
"""Scales of a plan, and values that the axes of all of them have together: each is read as a plan of its own."""

MAX_SEED = (1 << 63) - 1
MAX_REPEATS = 10_000

MAX_SHARDS, MAX_TRIALS = 250_000, 1_000_000
"""A plan that is larger is a mistake: it would take months."""

MAX_MISTAKES, MAX_MISTAKES_OF_SCALE, MAX_MISTAKES_SHOWN = 1_000, 100, 50
"""Mistakes that are looked for in a file, and in the cells that a study names at a scale; and that are told at once."""

MAX_SHOWN_CHARACTERS, MAX_SHOWN_NESTING = 200, 5
"""Characters of a value, and lists within lists of it, that a message shows."""
