"""Integer networks for small devices: a NumPy reference that computes in integers only, and its export to C."""

from __future__ import annotations

from eigenloop.deploy.building import integer
from eigenloop.deploy.c.writing import write_c
from eigenloop.deploy.network import IntegerNetwork, IntegerState
from eigenloop.deploy.report import IntegerReport

__all__ = ["IntegerNetwork", "IntegerReport", "IntegerState", "integer", "write_c"]
