"""What the drivers are given besides the rules: numbers that steer them, and scratch arrays."""

from collections import namedtuple

Settings = namedtuple(
    "Settings",
    "vigilance bandwidth joint_bandwidth forgetting max_support activation_floor variance_floor "
    "product_space alpha beta correlation exact_length n_steps weight_limit birth_learning "
    "merging merge_overlap prior_slope",
)

AntecedentWork = namedtuple("AntecedentWork", "z e v distances activation")

ConsequentWork = namedtuple(
    "ConsequentWork", "row gain scaled known error step product label_product corr"
)
