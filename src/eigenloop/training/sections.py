"""The former place of `eigenloop.training.settings.sections`."""

from eigenloop.former import forwarding

__getattr__ = forwarding("eigenloop.training.sections", "eigenloop.training.settings.sections")
