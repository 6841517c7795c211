"""From a Plan to a release in memory: the tables of each kind, what they promise, what they do not stop.

`kinds/<kind>.py` has the tables of a kind. It stands above the audit, which chooses between tables that a plan leaves
open.
"""
