"""Processing of rollouts: episode statistics, augmentation, returns, advantages, and scenes to replay."""
