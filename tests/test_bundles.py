"""Bundles: what kernels are given reads the same compiled and not."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
from helpers.streams import COMPILED
from numba import typeof

from efcml._jit import kernel
from efcml._jit.bundle_types import _kind_of
from efcml.model.params import Params
from efcml.model.steering import Settings, settings_of
from efcml.support.bundles import Bundle, bundle

compiled = pytest.mark.skipif(not COMPILED, reason="only compiled kernels read tables")

Inner = bundle("Inner", "vector factor", __name__)
Outer = bundle("Outer", ["flag", "matrix", "inner", "count", "cube", "marks", "ratio"], __name__)
Pair = bundle("Pair", "a b", __name__)
Other = bundle("Other", "a b", __name__)


def make_outer(seed=0, *, n=4, flag=True):
    rng = np.random.default_rng(seed)
    inner = Inner(rng.normal(size=n), float(rng.normal()))
    return Outer(
        flag=flag,
        matrix=rng.normal(size=(3, n)),
        inner=inner,
        count=-(2**40) + seed,
        cube=rng.integers(-9, 9, size=(2, 3, n)),
        marks=rng.uniform(size=n) < 0.5,
        ratio=-0.25,
    )


@kernel
def read_all(outer, out):
    """Write one number for every entry, each by its place."""
    place = 0
    for i in range(outer.matrix.shape[0]):
        for j in range(outer.matrix.shape[1]):
            out[place] = outer.matrix[i, j]
            place += 1
    for i in range(outer.cube.shape[0]):
        for j in range(outer.cube.shape[1]):
            for k in range(outer.cube.shape[2]):
                out[place] = outer.cube[i, j, k]
                place += 1
    for i in range(outer.marks.shape[0]):
        out[place] = 1.0 if outer.marks[i] else 0.0
        place += 1
    for i in range(outer.inner.vector.shape[0]):
        out[place] = outer.inner.vector[i]
        place += 1
    out[place] = outer.inner.factor
    out[place + 1] = outer.count
    out[place + 2] = outer.ratio
    out[place + 3] = 1.0 if outer.flag else 0.0
    return place + 4


@kernel
def first_of(pair):
    """Return the first entry of the first array."""
    return pair.a[0]


@kernel
def total_of(pair):
    """Return a sum in which both fields take part."""
    total = 0.0
    for value in pair.a:
        total += value
    return total + pair.b


@kernel
def give(pair):
    """Return a field that is a number."""
    return pair.b


@kernel
def shapes_of(pair):
    """Return the lengths of a matrix and of one of its rows."""
    return pair.a.shape[0], pair.a.shape[1], pair.a[pair.a.shape[0] - 1].shape[0]


@kernel
def write_into(outer, value):
    """Change what is in the arrays."""
    outer.matrix[1, 2] = value
    outer.inner.vector[0] = value


def as_python(function):
    return getattr(function, "py_func", function)


@pytest.mark.parametrize("n", [1, 4, 0])
@pytest.mark.parametrize("flag", [True, False])
def test_all_kinds_of_fields_read_alike(n, flag):
    outer = make_outer(3, n=n, flag=flag)
    found, expected = np.full((2, 100), np.nan)
    assert (
        read_all(outer, found) == as_python(read_all)(outer, expected) == 3 * n + 6 * n + 2 * n + 4
    )
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16"])
def test_arrays_of_many_types(dtype):
    array = np.array([5, 1, 0]).astype(dtype)
    assert first_of(Pair(array, 0.0)) == array[0]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (2.5, float),
        (7, int),
        (-(2**63), int),
        (True, bool),
        (False, bool),
        (np.float64(-0.5), float),
    ]
    + [(np.int64(3), int), (np.bool_(True), bool), (np.inf, float), (-0.0, float)],
)
def test_numbers_and_flags(given, kind):
    found = give(Pair(np.zeros(1), given))
    assert found == given
    assert isinstance(found, kind | np.generic)
    assert np.copysign(1.0, float(found)) == np.copysign(1.0, float(given))


def test_nan_is_a_number_too():
    assert np.isnan(give(Pair(np.zeros(1), np.nan)))


@pytest.mark.parametrize("shape", [(2, 3), (1, 5), (5, 1), (3, 0)])
def test_shapes(shape):
    assert shapes_of(Pair(np.zeros(shape), 0.0)) == (*shape, shape[1])


def test_arrays_can_be_written_to():
    outer = make_outer()
    matrix, vector = outer.matrix.copy(), outer.inner.vector.copy()
    write_into(outer, 9.0)
    matrix[1, 2] = vector[0] = 9.0
    assert np.array_equal(outer.matrix, matrix)
    assert np.array_equal(outer.inner.vector, vector)


def test_a_part_of_an_array_is_read_where_it_lies():
    array = np.arange(12.0).reshape(4, 3)
    assert total_of(Pair(array[2], 0.5)) == 6 + 7 + 8 + 0.5
    assert shapes_of(Pair(array[1:3], 0.0)) == (2, 3, 3)


# What a bundle is in Python


def test_fields_are_given_by_place_or_by_name():
    array = np.zeros(2)
    for pair in (Pair(array, 1.0), Pair(array, b=1.0), Pair(b=1.0, a=array)):
        assert pair.a is array
        assert pair.values() == (array, 1.0)


@pytest.mark.parametrize(
    ("values", "named"),
    [((1.0,), {}), ((1.0, 2.0, 3.0), {}), ((1.0,), {"c": 2.0}), ((1.0, 2.0), {"b": 3.0}), ((), {})],
)
def test_all_fields_and_no_others(values, named):
    with pytest.raises(TypeError, match="Pair has the fields a, b"):
        Pair(*values, **named)


def test_a_bundle_cannot_be_changed():
    pair = Pair(np.zeros(2), 1.0)
    for name in ("a", "b", "c", "_address"):
        with pytest.raises(AttributeError, match="Pair cannot be changed; its arrays can"):
            setattr(pair, name, 2.0)
    with pytest.raises(AttributeError):
        pair.c  # noqa: B018
    assert pair.values()[1] == 1.0
    assert not hasattr(pair, "__dict__")


def test_replace_gives_another_bundle():
    pair = Pair(np.zeros(2), 1.0)
    total_of(pair)
    other = pair.replace(b=3.0)
    assert type(other) is Pair
    assert other.a is pair.a
    assert (pair.b, other.b) == (1.0, 3.0)
    assert (total_of(pair), total_of(other)) == (1.0, 3.0)
    with pytest.raises(TypeError, match="has the fields"):
        pair.replace(c=1.0)


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("again", [lambda b: pickle.loads(pickle.dumps(b)), copy.deepcopy])
def test_pickles_and_copies_stand_alone(again, used):
    outer, out, same = make_outer(), np.zeros(100), np.zeros(100)
    if used:
        read_all(outer, out)
    other = again(outer)
    assert type(other) is Outer
    assert type(other.inner) is Inner
    assert not np.shares_memory(other.matrix, outer.matrix)
    assert not np.shares_memory(other.inner.vector, outer.inner.vector)
    read_all(outer, out)
    read_all(other, same)
    assert np.array_equal(out, same)
    write_into(other, 77.0)
    read_all(outer, same)
    assert np.array_equal(out, same)


def test_settings_of_parameters_are_a_bundle():
    settings = settings_of(Params(), 3, 2, 1.0, split_share=0.3)
    assert isinstance(settings, Settings)
    assert isinstance(settings, Bundle)
    again = pickle.loads(pickle.dumps(settings))
    assert (again.vigilance, again.split_share) == (settings.vigilance, 0.3)


# Types


def test_equal_fields_have_one_type():
    one, two = (Pair(np.zeros(n), float(n)) for n in (2, 5))
    assert typeof(one) == typeof(two)
    assert hash(typeof(one)) == hash(typeof(two))
    assert typeof(make_outer(0)) == typeof(make_outer(1, n=7, flag=False))
    assert str(typeof(one)) == str(typeof(two))


@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "?", "f4"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 1, 4)])
@pytest.mark.parametrize("writeable", [True, False])
def test_an_array_is_what_numba_says(dtype, shape, writeable):
    array = np.zeros(shape, dtype)
    array.flags.writeable = writeable
    for seen in (array, array.T, array[..., ::2] if shape else array):
        assert _kind_of(seen) == typeof(seen)


def test_other_fields_have_other_types():
    different = [
        Pair(np.zeros(2), 1.0),
        Pair(np.zeros((2, 2)), 1.0),
        Pair(np.zeros(2, dtype=np.int64), 1.0),
        Pair(np.zeros(2), 1),
        Pair(np.zeros(2), True),
        Pair(np.zeros(2), np.zeros(2)),
        Pair(np.zeros(2), Inner(np.zeros(1), 1.0)),
        Pair(np.zeros(2), Inner(np.zeros(1), 1)),
        Other(np.zeros(2), 1.0),
    ]
    assert len({typeof(one) for one in different}) == len(different)
    assert len({str(typeof(one)) for one in different}) == len(different)


@pytest.mark.parametrize(
    "array",
    [np.zeros(6)[::2], np.zeros((3, 3)).T[:, :2], np.asfortranarray(np.zeros((2, 3)))],
    ids=["steps", "part of columns", "columns first"],
)
def test_arrays_with_gaps_are_refused(array):
    with pytest.raises(TypeError, match=r"a bundle cannot hold array\(float64, \dd, [AF]\)"):
        typeof(Pair(array, 1.0))
    with pytest.raises(TypeError, match="a bundle cannot hold array"):
        typeof(Pair(1.0, array))


@pytest.mark.parametrize("value", ["word", None, 1j, np.float32(1.0), (1.0, 2.0), 2**63])
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match="a bundle cannot hold "):
        typeof(Pair(np.zeros(1), value))


@compiled
def test_a_call_tells_what_is_refused():
    with pytest.raises(TypeError, match="a bundle cannot hold array"):
        total_of(Pair(np.zeros(6)[::2], 1.0))
    with pytest.raises(TypeError, match="a bundle cannot hold unicode_type"):
        total_of(Pair(np.zeros(6), "word"))


@compiled
def test_a_field_that_is_not_there_is_not_compiled():
    @kernel
    def wrong(pair):
        return pair.colour

    with pytest.raises(Exception, match="colour"):
        wrong(Pair(np.zeros(1), 1.0))


# Memory


def test_arrays_live_as_long_as_their_bundle():
    arrays = [np.arange(1000.0) + k for k in range(50)]
    small = make_outer(n=1)
    bundles = [small.replace(inner=Inner(array, 1.0)) for array in arrays]
    watched = [weakref.ref(array) for array in arrays]
    out = np.zeros(2000)
    for one in bundles:
        read_all(one, out)
    del arrays
    gc.collect()
    _ = [np.full(1000, np.nan) for _ in range(200)]  # would take the place of what was freed
    assert all(ref() is not None for ref in watched)
    for k, one in enumerate(bundles):
        read_all(one, out)
        assert out[10] == float(k)  # after 3 + 6 + 1 entries
    del bundles, one
    gc.collect()
    assert all(ref() is None for ref in watched)


def test_a_new_bundle_brings_new_arrays():
    old = Pair(np.ones(3), 1.0)
    assert total_of(old) == 4.0
    for n in (1, 3, 10):
        new = old.replace(a=np.full(n, 2.0))
        assert total_of(new) == 2.0 * n + 1.0
        assert total_of(old) == 4.0


def test_a_new_bundle_within_brings_new_arrays():
    old, out = make_outer(), np.zeros(100)
    n = read_all(old, out)
    before = out[n - 8 : n - 4].copy()
    assert np.array_equal(before, old.inner.vector)
    new = old.replace(inner=old.inner.replace(vector=np.arange(4.0)))
    read_all(new, out)
    assert out[n - 8 : n - 4].tolist() == [0.0, 1.0, 2.0, 3.0]
    read_all(old, out)
    assert np.array_equal(out[n - 8 : n - 4], before)
