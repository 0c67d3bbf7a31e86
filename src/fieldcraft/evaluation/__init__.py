"""Scores of predicted labels: per token, sequence and span; significance tests."""
