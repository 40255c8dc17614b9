"""How numbers, durations and lists of names are written, for every page, table and line on the screen.

Two kinds of numbers, for two places. `numbers` is for plain text (the terminal, Markdown): ASCII, a fixed count of
significant digits with its zeros, as tables in papers have them. `typography` is for pages in a browser: a true minus
sign, powers of ten, no zeros at the end. `durations` and `names` serve both. Nothing here imports torch.
"""
