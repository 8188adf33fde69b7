"""Words for where a value lies among those of its feature, in sentences and in pictures."""

# In standard deviations of a feature. The inner cuts split a normal feature into thirds (31, 38
# and 31 %), the outer ones take the last 7 % off on either side.
CUTS = (-1.5, -0.5, 0.5, 1.5)
LEVELS = ("very low", "low", "medium", "high", "very high")
