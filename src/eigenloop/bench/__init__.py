"""How fast a training step is, beside torch's own layers, an eager loop and what the arithmetic alone would cost."""
