"""The differentiable operations: forward and backward formula of each in one place."""
