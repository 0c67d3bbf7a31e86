"""Structures: from potentials to log Z, marginals, best labellings."""
