"""Readers: each yields the record of a folder of results, or published numbers, whoever wrote them."""
