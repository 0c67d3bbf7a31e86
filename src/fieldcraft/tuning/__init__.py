"""Choosing how to train: bake-offs, and search over hyper-parameters."""
