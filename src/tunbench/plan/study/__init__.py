"""What stands in a plan besides what is run: studies, tables, claims, and the cells that they name."""
