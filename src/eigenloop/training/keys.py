"""The former place of `eigenloop.training.settings.keys`."""

from eigenloop.former import forwarding

__getattr__ = forwarding("eigenloop.training.keys", "eigenloop.training.settings.keys")
