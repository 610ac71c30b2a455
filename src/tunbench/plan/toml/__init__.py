"""TOML that anybody may have written: read within bounds, with the line of each value."""
