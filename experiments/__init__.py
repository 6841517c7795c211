"""The papers' experiments, a folder for each, and what runs and judges them (`reproduce`). Not installed."""
