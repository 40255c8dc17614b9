"""Benchmarks of training steps and inference against torch's layers, an eager loop and the cost of the arithmetic."""
