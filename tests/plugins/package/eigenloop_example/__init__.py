"""What a package of a user's own adds to eigenloop; the names stand in pyproject.toml."""
