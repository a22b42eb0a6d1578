"""Learning: scenes as tasks with actions, observations and rewards, and as environments of Gymnasium."""
