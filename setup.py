"""Builds the kernel in csrc/ beside the package; everything else about the package is in pyproject.toml.

The result is a plain shared library that Python never imports (eigenloop.recurrence.kernel opens it), so one binary
serves every Python and torch version. Without a C compiler the package installs all the same and runs in plain PyTorch.
"""

from pathlib import Path

from setuptools import Extension, setup

kernel = Extension(
    "eigenloop._kernel",
    sources=["csrc/kernel.c", "csrc/pool.c", "csrc/workspace.c"],
    depends=[str(header) for header in sorted(Path("csrc").glob("*.h"))],
    extra_compile_args=[
        "-O3",
        "-std=gnu11",
        "-fvisibility=hidden",
        "-ffp-contract=fast",  # a * b + c rounds once, where the machine can
        "-fno-math-errno",
        "-fno-trapping-math",  # lets comparisons become vectors; NaN and infinity keep their meaning
        "-Wno-psabi",
        "-g0",
    ],
    extra_link_args=["-pthread"],
    py_limited_api=True,
    optional=True,
)

setup(ext_modules=[kernel], options={"bdist_wheel": {"py_limited_api": "cp310"}})
