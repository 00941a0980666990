"""The codes of the element types that ml_dtypes adds, and their values."""

import re

import ml_dtypes
import numpy as np

# What the installed release has.
EVERY_TYPE = sorted(name for name, value in vars(ml_dtypes).items()
                    if isinstance(value, type) and issubclass(value, np.generic))


def every_code(name):
    """All codes of one and of two bytes, those that no value has too; of complex types each in either part."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    codes = np.arange(256 if dtype.itemsize == 1 else 65_536, dtype="<u2")
    if dtype.itemsize == 1:
        codes = codes.astype("u1")
    elif dtype.itemsize == 4:
        codes = np.stack([codes, codes * 40_503], axis=-1)
    return codes.reshape(-1).view(dtype).reshape(-1, 16, 2)


def used_bits(dtype):
    """Bits of an element that say something: 4 of int4's 8."""
    small = re.match(r"(?:float|u?int)([1-6])(?:_|$)", dtype.name)
    return int(small[1]) if small else 8 * dtype.itemsize


def values(x):
    """What astype makes of the codes. ml_dtypes takes the unused high bits of its small floats for a sign."""
    codes = np.ascontiguousarray(x).reshape(x.shape)
    if used_bits(x.dtype) < 8:
        codes = (codes.view("u1") & (2 ** used_bits(x.dtype) - 1)).astype("u1").view(x.dtype)
    with np.errstate(invalid="ignore"):
        return codes.astype(np.complex64 if "complex" in x.dtype.name else np.float32)
