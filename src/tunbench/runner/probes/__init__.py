"""One file a probe: its name, its metrics, and how it looks at the machine."""
