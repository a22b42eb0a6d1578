"""Scenes: robots, what they may touch, their motions and live worlds."""
