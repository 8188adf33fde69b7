"""What the drivers are given besides the rules: numbers that steer them, and scratch arrays."""

from collections import namedtuple

# alpha and beta are arrays, one entry for every pair of them that is carried along; `corrects`
# tells whether any is above zero.
Settings = namedtuple(
    "Settings",
    "vigilance bandwidth density joint_bandwidth forgetting max_support activation_floor "
    "variance_floor product_space alpha beta corrects correlation exact_length n_steps "
    "weight_limit birth_learning merging merge_overlap prior_slope",
)

AntecedentWork = namedtuple("AntecedentWork", "z e v distances activation")

ConsequentWork = namedtuple(
    "ConsequentWork",
    "row gain scaled known error step product label_product corr squares bounds",
)

Watch = namedtuple("Watch", "rows scores")  # rows to be scored on the way, and their scores

# What an active learner wants; the words behind the numbers are in kernels/querying.py.
Ask = namedtuple(
    "Ask",
    "budget by_label window step adaptation novelty ambiguity instability chance always",
)

# Remembered rows (kernels/cases.py): state, two numbers that steer it, and scratch arrays.
Cases = namedtuple(
    "Cases",
    "rows kernel inverse covariance answer age count width noise "
    "place similar share gain step expected errors",
)
