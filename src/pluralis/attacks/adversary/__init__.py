"""What attacks share: which rows a person may be, what groups hold, and how likely each value is then (posteriors)."""
