"""The former place of `eigenloop.training.settings.config`."""

from eigenloop.former import forwarding

__getattr__ = forwarding("eigenloop.training.config", "eigenloop.training.settings.config")
