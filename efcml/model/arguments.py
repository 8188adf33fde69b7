"""What kernels are given besides single arrays: bundles of what travels together.

One more, `Settings`, is made from the parameters (efcml/model/params.py). To a type checker they
are Any: most of their fields come from tables.
"""

from typing import Any

from efcml.model.fields import CASE_FIELDS, FIELDS, FOLLOW_FIELDS
from efcml.model.label_fields import (
    CALIBRATION_FIELDS,
    CALIBRATION_SCRATCH,
    THRESHOLD_FIELDS,
    THRESHOLD_SCRATCH,
    TOGETHER_FIELDS,
    TOGETHER_SCRATCH,
)
from efcml.model.scratch import CASE_SCRATCH, SCRATCH
from efcml.model.sequel_fields import SEQUEL_FIELDS, SEQUEL_SCRATCH
from efcml.support.bundles import bundle

Rules: Any = bundle("Rules", [field.name for field in FIELDS], __name__)

# Remembered rows: state, the two numbers that steer them, and scratch arrays.
Cases: Any = bundle(
    "Cases", [field.name for field in CASE_FIELDS + CASE_SCRATCH] + ["width", "noise"], __name__
)

# What follows rules and cases: state, scratch arrays, and what of it is in use.
Sequel: Any = bundle(
    "Sequel",
    [field.name for field in SEQUEL_FIELDS + SEQUEL_SCRATCH] + ["trusts", "times"],
    __name__,
)

Scratch: Any = bundle("Scratch", [field.name for field in SCRATCH], __name__)

# Everything that learns. `start_variance` is S_0. Of what follows, the brief memory of the rules
# and the recent cases, nothing is used under a fixed forgetting. `amounts` are weights of rows.
Model: Any = bundle(
    "Model",
    "rules cases settings scratch start_variance brief brief_scratch recent recent_trial sequel"
    " amounts",
    __name__,
)

# What is remembered of the last rows, to see whether their scale still fits.
Follow: Any = bundle("Follow", [field.name for field in FOLLOW_FIELDS], __name__)

# What errors teach of the labels: their covariance, probabilities, thresholds; with scratch arrays.
Together: Any = bundle(
    "Together", [field.name for field in TOGETHER_FIELDS + TOGETHER_SCRATCH], __name__
)
Calibration: Any = bundle(
    "Calibration", [field.name for field in CALIBRATION_FIELDS + CALIBRATION_SCRATCH], __name__
)
Thresholds: Any = bundle(
    "Thresholds", [field.name for field in THRESHOLD_FIELDS + THRESHOLD_SCRATCH], __name__
)

Labels: Any = bundle("Labels", "together calibration thresholds", __name__)

# Rows to be scored on the way, and their scores; `own` if they are the rows that are learned, else
# they are so many rows `ahead` of these. Where there is room, also the scores that learned rows had
# before, and what each leaves of the others.
Watch: Any = bundle("Watch", "rows scores own ahead learned kept", __name__)

# What an active learner wants; the words behind the numbers are in kernels/querying.py.
Ask: Any = bundle(
    "Ask",
    "budget by_label window step adaptation novelty ambiguity instability chance always",
    __name__,
)

# The state of an active learner, and the labels that it wants to know of a row.
Asking: Any = bundle("Asking", "ask state wanted", __name__)
