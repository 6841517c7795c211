"""The embedded table of the demo, and public data sets: found in a folder, or downloaded and verified."""
