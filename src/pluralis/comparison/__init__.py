"""Methods tried on a table, measured and weighed: trials, the frontier, the one to take, what was worked out before."""
