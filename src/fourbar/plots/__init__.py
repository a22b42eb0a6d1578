"""Pictures of robots and motions, by matplotlib: functions that return a figure and change nothing outside of it."""
