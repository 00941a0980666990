"""Images of .npy files: as NumPy writes them, and as others do."""

import contextlib
import io
import struct
import warnings

import numpy as np

MAGIC = b"\x93NUMPY"


def npy(array):
    """What np.save writes."""
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def header_text(descr, shape, fortran_order=False):
    """The dictionary as NumPy spells it; `shape` is a tuple or text."""
    return f"{{'descr': {descr!r}, 'fortran_order': {fortran_order}, 'shape': {shape}, }}"


def image(text, data=b"", version=1, align=64, newline=True, length=None):
    """A .npy with `text` as its header. `length`: what the length field says, if not the truth."""
    header = text.encode("utf-8" if version == 3 else "latin-1")
    prefix = 10 if version == 1 else 12
    if align:
        header += b" " * (-(prefix + len(header) + newline) % align)
    header += b"\n" * newline
    field = struct.pack("<H" if version == 1 else "<I", len(header) if length is None else length)
    return MAGIC + bytes([version, 0]) + field + header + data


def data_of(path):
    """The bytes after the header of the .npy at `path`."""
    content = path.read_bytes()
    wide = content[6] > 1
    (length,) = struct.unpack_from("<I" if wide else "<H", content, 8)
    return content[(12 if wide else 10) + length:]


def c_bytes(array):
    """What NAME.raw holds: the elements in C order."""
    return np.ascontiguousarray(array).tobytes()


def byte_view(array):
    """What NAME.u8view.npy holds: the item size multiplies the last axis, a 0-d array becomes (k,)."""
    array = np.asarray(array)
    shape = (*array.shape[:-1], array.shape[-1] * array.itemsize) if array.ndim else (array.itemsize,)
    return np.frombuffer(c_bytes(array), np.uint8).reshape(shape)


@contextlib.contextmanager
def numpy_1_names(monkeypatch):
    """What is pickled meanwhile names NumPy's functions as NumPy before 2 did."""
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for function in (np._core.multiarray._reconstruct, np._core.multiarray.scalar, np._core.numeric._frombuffer):
            patch.setattr(function, "__module__", function.__module__.replace("numpy._core", "numpy.core"))
        yield
