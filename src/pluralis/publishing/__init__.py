"""From a table and a policy to a release that is visible: the pipeline, staging and saving, publishing again.

The only writer of releases. Nothing becomes visible that the audit of the staged bytes did not pass.
"""
