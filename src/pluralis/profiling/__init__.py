"""A first look at a table and at rules: profiles of columns, a first policy, a rule set explained."""
