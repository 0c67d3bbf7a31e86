"""Experiments: claims about accuracy that can be run again."""
