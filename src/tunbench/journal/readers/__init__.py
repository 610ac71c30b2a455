"""Readers: each yields the record of a folder of results, whoever wrote them."""
