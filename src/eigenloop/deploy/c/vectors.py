"""Test vectors: inputs of a network and the reference's outputs after every step, as a C header and a program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.c.source import Source
from eigenloop.deploy.c.text import array, signed
from eigenloop.deploy.inputs import Tokens
from eigenloop.deploy.network import IntegerNetwork


def drawn_inputs(network: IntegerNetwork, steps: int, seed: int = 0) -> NDArray[np.int64]:
    """Return random inputs of a device: codes, counts or tokens, (steps, inputs); ends of the range included."""
    generator, inputs = np.random.default_rng(seed), network.inputs
    if isinstance(inputs, Tokens):
        return generator.integers(0, len(inputs.table), (steps, 1))
    form, size = inputs.format, len(inputs.mean)
    codes = np.clip(np.rint(generator.normal(0, form.largest / 2, (steps, size))), form.low, form.high).astype(np.int64)
    if not inputs.counts:
        return codes
    counts = np.rint(codes * form.step * inputs.scale + inputs.mean)
    return np.clip(counts, -(2**31), 2**31 - 1).astype(np.int64)


def expected_sums(network: IntegerNetwork, fed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the reference's integer outputs after every time step, (steps, outputs)."""
    inputs, state, rows = network.inputs, network.initial_state(), []
    for one in fed:
        if isinstance(inputs, Tokens):
            codes = inputs.codes(one)
        else:
            codes = inputs.codes(one[None]) if inputs.counts else one[None]
        state = network.advance(codes, state)
        rows.append(network.outputs(state)[0])
    return np.stack(rows)


def vectors_header(network: IntegerNetwork, source: Source, name: str, steps: int = 16) -> str:
    """Return NAME_vectors.h with `steps` test vectors."""
    fed = drawn_inputs(network, steps)
    sums = expected_sums(network, fed)
    up = name.upper()
    kind = source.interface.input_type
    inputs = array(kind, f"{name}_inputs", fed.reshape(-1), source.interface.input_bits, "what is fed, step after step")
    outputs = array(
        signed(source.interface.output_bits),
        f"{name}_expected",
        sums.reshape(-1),
        source.interface.output_bits,
        "sums after every step",
    )
    return (
        f"/* Test vectors of {name}: made by the reference in NumPy. */\n"
        f"#ifndef {up}_VECTORS_H\n#define {up}_VECTORS_H\n"
        f'#include "{name}.h"\n\n#define {up}_STEPS {steps}\n\n{inputs}\n{outputs}\n#endif\n'
    )


def test_program(name: str) -> str:
    """Return NAME_test.c, which compares the network with the test vectors on the computer that builds it."""
    up = name.upper()
    return f"""/* Feeds the test vectors and compares every sum with the reference's. */
#include "{name}_vectors.h"

#include <stdio.h>

int main(void)
{{
    {name}_state state;
    {name}_sum sums[{up}_OUTPUTS];
    unsigned t, i, wrong = 0;

    {name}_init(&state);
    for (t = 0; t < {up}_STEPS; t++) {{
        if ({name}_step(&state, {name}_inputs + t * {up}_INPUTS) != 0)
            wrong++;
        {name}_output(&state, sums);
        for (i = 0; i < {up}_OUTPUTS; i++)
            wrong += sums[i] != {name}_expected[t * {up}_OUTPUTS + i];
    }}
    printf("{name}: %u steps, %u sums differ from the reference\\n", (unsigned){up}_STEPS, wrong);
    return wrong != 0;
}}
"""
