"""Speed, memory and accuracy beside python-crfsuite: ``python -m benchmarks``."""
