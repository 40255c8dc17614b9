"""The old name of `eigenloop.comparison`."""

from eigenloop.former import forwarding

__getattr__ = forwarding("eigenloop.published", "eigenloop.comparison")
