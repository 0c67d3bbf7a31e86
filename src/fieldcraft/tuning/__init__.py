"""Choosing how to train: bake-offs."""
