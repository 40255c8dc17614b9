"""The settings of a training: their names, values and defaults, and a configuration that has all of them."""
