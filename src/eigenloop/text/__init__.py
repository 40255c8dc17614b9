"""Formatting of numbers, durations and lists of names, for every page, table and terminal line.

Numbers are formatted in two ways. `numbers` is for plain text (the terminal, Markdown): ASCII, a fixed number of
significant digits with trailing zeros, as in the tables of papers. `typography` is for pages in a browser: a true minus
sign, powers of ten, no trailing zeros. `durations` and `names` serve both. Nothing here imports torch.
"""
