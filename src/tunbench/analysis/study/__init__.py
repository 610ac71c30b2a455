"""A run beside a publication: tables, ranks, clusters and claims."""
