"""The settings of a training: their names, types and defaults, and the complete configuration."""
