"""Charts of a run beside a publication: ranks, and what one number predicts of the others."""
