"""Algorithms on factor graphs, a file each."""
