"""Backward passes over symbolic graphs: what they free, what they are refused, and what they prove."""
