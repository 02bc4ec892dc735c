"""What an update may gain and cost: functions of the ratios between a new policy and the one that acted."""
