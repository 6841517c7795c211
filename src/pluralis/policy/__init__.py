"""What the publisher decides: a policy, its attributes and rules, read strictly from YAML or JSON.

Nothing here reads a table. Whoever encodes, plans, publishes or drafts gets a Policy from here.
"""
