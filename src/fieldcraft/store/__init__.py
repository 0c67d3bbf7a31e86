"""Files: models and training snapshots."""
