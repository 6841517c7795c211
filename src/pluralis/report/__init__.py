"""What people look at: the publisher's report, section by section, and the pictures of reports and comparisons."""
