"""The engine of posteriors that attacks share.

knowledge            who knows what of a person and asks for which attribute; what is promised then; the prior
candidate_rows       which published rows a person may be
group_values         what groups hold, side by side, as tables
published_values     what rows say of one attribute, as arrays
posterior            how likely each value of a person is then, and how often the likeliest is right (the tie rule)
group_guess          the results of that, question by question; worlds of a decomposed release
subtable_posterior   the posterior by several subtables, over `consistent_worlds` where these can be counted
several_releases     what several releases leave possible
enumerated_originals, sampled_originals   originals that fit a release, for whoever knows the method
parquet_footers      what files name beside their cells
"""
