"""Losses, constraints, penalties and targets of an update: functions of the ratios of a new policy to the old one."""
