"""How things are shown.

`escaping` makes text of strangers fit for a terminal, JSON, Markdown or a page; `objects` shows what the library
returns, as aligned columns in a terminal and as a table in a notebook; `words` puts numbers into sentences.
"""
