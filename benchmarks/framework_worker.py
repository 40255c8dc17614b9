"""Time one framework's training step on request: a worker process of `frameworks.py`, one line of JSON per request.

``{"row": {"kind": "LSTM", "T": 220, ...}}`` builds a step; ``{"seconds": 0.1}`` repeats it for at least that long and
answers with the mean seconds of one. A step is forward and backward with the loss on h_n and gradients of all weights,
not of the input.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
Step = Callable[[], object]


def eigenloop_steps(row: Row) -> list[Step]:
    """Return the step of our recurrence, as in `eigenloop bench`."""
    from eigenloop.bench.contenders import Problem
    from eigenloop.bench.rows import Row as BenchRow

    return [Problem(BenchRow(**row, eager_goal=1, torch_goal=1)).ours]


def keras_steps(row: Row) -> list[Step]:
    """Return two steps of Keras' SimpleRNN (ReLU), GRU or LSTM on TensorFlow: as a graph, and compiled by XLA."""
    import keras
    import tensorflow as tf

    x = tf.random.normal((row["B"], row["T"], row["m"]))
    gradient = tf.random.normal((row["B"], row["n"]))
    if row["kind"] == "RNN":
        layer = keras.layers.SimpleRNN(row["n"], activation="relu", recurrent_initializer="orthogonal")
    else:
        layer = getattr(keras.layers, row["kind"])(row["n"])
    layer.build(x.shape)
    weights = [weight.value for weight in layer.trainable_weights]

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x) * gradient)
        return tape.gradient(loss, weights)

    def ready(compiled: Any) -> Step:
        return lambda: [part.numpy() for part in compiled()]

    return [ready(tf.function(step)), ready(tf.function(step, jit_compile=True))]


def jax_steps(row: Row) -> list[Step]:
    """Return the compiled step of the same cells as ours in a `lax.scan` over time, with one product for all inputs."""
    import jax
    import jax.numpy as jnp

    T, B, n, m = row["T"], row["B"], row["n"], row["m"]
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[row["kind"]]
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    x, gradient = jax.random.normal(keys[0], (T, B, m)), jax.random.normal(keys[1], (B, n))
    W = jnp.concatenate([jnp.linalg.qr(jax.random.normal(key, (n, n)))[0] for key in jax.random.split(keys[2], gates)])
    weights = {"W": W, "U": 0.1 * jax.random.normal(keys[0], (gates * n, m)), "b": jnp.full((gates * n,), 0.01)}

    def modrelu(z: Any, b: Any) -> Any:
        return jnp.sign(z) * jax.nn.relu(jnp.abs(z) + b)

    def cell(w: dict[str, Any], state: Any, p: Any) -> Any:
        h, c = state
        if row["kind"] == "RNN":
            return modrelu(p + h @ w["W"].T, w["b"]), c
        if row["kind"] == "GRU":
            r, u = jnp.split(jax.nn.sigmoid(p[:, : 2 * n] + h @ w["W"][: 2 * n].T), 2, axis=-1)
            candidate = modrelu(p[:, 2 * n :] + (r * h) @ w["W"][2 * n :].T, w["b"][:n])
            return (1 - u) * h + u * candidate, c
        i, f, g, o = jnp.split(p + w["b"] + h @ w["W"].T, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def loss(w: dict[str, Any]) -> Any:
        zero = jnp.zeros((B, n))
        (h, _), _ = jax.lax.scan(lambda state, p: (cell(w, state, p), None), (zero, zero), x @ w["U"].T)
        return jnp.sum(h * gradient)

    compiled = jax.jit(jax.grad(loss))
    return [lambda: jax.block_until_ready(compiled(weights))]


def seconds_of(step: Step, at_least: float) -> float:
    """Return the mean seconds of one step; the first step of a turn is not counted."""
    step()
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < at_least:
        step()
        calls += 1
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Answer requests until the input ends."""
    builders = {"eigenloop": eigenloop_steps, "keras": keras_steps, "jax": jax_steps}
    build, steps = builders[sys.argv[1]], []
    for line in sys.stdin:
        request = json.loads(line)
        if "row" in request:
            steps = build(request["row"])
            for step in steps:
                step()
            answer: object = "ready"
        else:
            answer = min(seconds_of(step, request["seconds"]) for step in steps)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
