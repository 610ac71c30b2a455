"""A run that goes from its author to others: packed, read as what a stranger wrote, and executed again in part."""
