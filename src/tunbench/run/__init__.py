"""A run from its order to its report: what is asked for, what is executed, what is kept."""
