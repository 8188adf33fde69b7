"""What the drivers are given besides the rules: numbers that steer them, and scratch arrays."""

from efcml._jit import bundle

# Modes of `correlation`; here, where no numba is, because parameters name them.
SHIFT, LAPLACIAN, SIGNED, RAW, NONE = 0, 1, 2, 3, 4

# alpha and beta are arrays, one entry for every pair of them that is carried along; `corrects`
# tells whether any is above zero.
Settings = bundle(
    "Settings",
    "vigilance bandwidth density joint_bandwidth forgetting max_support activation_floor "
    "variance_floor product_space alpha beta corrects correlation exact_length n_steps "
    "step_interval weight_limit birth_learning merging merge_overlap prior_slope", __name__)

AntecedentWork = bundle("AntecedentWork", "z e v u distances activation ahead", __name__)

ConsequentWork = bundle(
    "ConsequentWork",
    "row heights weights keeps gain scaled known error step product label_product corr squares "
    "bounds waiting", __name__)

# Changes of P and G that wait (kernels/waiting.py): the vector of each P with its scale and with
# its root (kernels/consequent.py); the rows for all G with weight and forgetting by rule, how many
# rows wait and how many of them each G has.
Waiting = bundle("Waiting", "shrink scale roots rows weight keep done count scaled", __name__)

# Rows to be scored on the way, and their scores; `own` if they are the rows that are learned.
Watch = bundle("Watch", "rows scores own", __name__)

# What an active learner wants; the words behind the numbers are in kernels/querying.py.
Ask = bundle(
    "Ask",
    "budget by_label window step adaptation novelty ambiguity instability chance always", __name__)

# Remembered rows (kernels/cases.py): state, two numbers that steer it, and scratch arrays.
Cases = bundle(
    "Cases",
    "rows kernel inverse covariance weights age count width noise "
    "place similar share gain step line turn waits expected errors", __name__)
