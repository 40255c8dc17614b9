"""An experiment of one's own is a file."""

from importlib.resources import files

TABLE1 = files("eigenloop_example").joinpath("example-table1.yaml")
