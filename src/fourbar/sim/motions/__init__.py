"""Motions: what they are asked for, how samples advance, and the runs that result."""
