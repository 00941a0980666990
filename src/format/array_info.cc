#include "npyfs/format/array_info.h"

#include <algorithm>
#include <utility>

#include "npyfs/format/sniff.h"

namespace npyfs {
namespace {

constexpr std::uint8_t kHeaderMajor = 6;  // where a .npy image has its version
constexpr std::uint8_t kHeaderMinor = 7;

std::string type_text(const ArrayInfo& info) {
  return dtype_name(info.dtype)
      .value_or(info.dtype.descr.empty() ? "structured" : info.dtype.descr);
}

// A meta.json of ours only passes on what another told.
DtypeFrom told_by(const Sidecar& sidecar) {
  for (const DtypeFrom from : {DtypeFrom::kHeader, DtypeFrom::kOption, DtypeFrom::kContainer}) {
    if (sidecar.ours && sidecar.dtype_from == dtype_from_name(from)) {
      return from;
    }
  }
  return DtypeFrom::kSidecar;
}

// Compares the bytes there are with what the header wants.
void check_data_size(ArrayInfo& info, std::uint64_t available) {
  if (available < info.nbytes) {
    info.error.emplace(EIO, text_of("the data is cut short: shape ", shape_text(info.shape), " of ",
                                    type_text(info), " needs ", info.nbytes, " bytes, ", available,
                                    " are there; fetch or write it again"));
    info.damaged = true;
    info.notes.emplace_back("truncated");
    return;
  }
  const std::uint64_t extra = available - info.nbytes;
  if (extra == 0) {
    return;
  }
  info.notes.push_back(text_of("extra_bytes ", extra));
  const bool whole_items = info.count > 0 && available % info.count == 0;
  if (info.dtype.kind == DtypeKind::kStruct && whole_items) {
    info.notes.push_back(text_of("the data has ", available / info.count,
                                 " bytes an element, the dtype ", info.dtype.itemsize,
                                 ": NumPy before 1.10 left trailing padding out of the header"));
  }
}

// An image of `stored_size` bytes that begins so.
ArrayInfo described(NpyHeader header, std::uint64_t stored_size) {
  ArrayInfo info;
  info.known = true;
  info.dtype = std::move(header.dtype);
  info.shape = std::move(header.shape);
  info.fortran_order = header.fortran_order;
  info.count = header.count;
  info.data_offset = header.data_offset;
  info.npy_major = header.major;
  info.npy_minor = header.minor;
  info.notes = std::move(header.notes);
  info.pickled = info.dtype.has_objects;
  if (!info.pickled) {
    info.nbytes = header.nbytes;
    check_data_size(info, stored_size - info.data_offset);
  }
  return info;
}

}  // namespace

std::string_view dtype_from_name(DtypeFrom from) {
  switch (from) {
    case DtypeFrom::kHeader:
      return "header";
    case DtypeFrom::kSidecar:
      return "sidecar";
    case DtypeFrom::kOption:
      return "option";
    case DtypeFrom::kContainer:
      return "container";
  }
  return "header";
}

ArrayInfo unreadable_image(const Error& error) {
  ArrayInfo info;
  info.error = error;
  info.damaged = true;
  return info;
}

ArrayInfo describe_image(Bytes head, std::uint64_t stored_size) {
  try {
    return described(parse_npy_header(head), stored_size);
  } catch (const Error& e) {
    return unreadable_image(e);
  }
}

ArrayInfo describe_image(const Source& image, Bytes head) {
  try {
    return described(read_npy_header(image, head), image.size());
  } catch (const Error& e) {
    return unreadable_image(e);
  }
}

ArrayInfo describe_data(Dtype dtype, DtypeFrom from, Shape shape, bool fortran_order,
                        std::uint64_t stored_size) {
  ArrayInfo info;
  info.known = true;
  info.dtype = std::move(dtype);
  info.dtype_from = from;
  info.shape = std::move(shape);
  info.fortran_order = fortran_order;
  info.count = element_count(info.shape);
  info.nbytes = data_bytes(info.shape, info.dtype.itemsize);
  if (info.nbytes != stored_size) {
    throw_corrupt("shape ", shape_text(info.shape), " of ", type_text(info), " needs ", info.nbytes,
                  " bytes, ", stored_size, " are there", kFetchAgain);
  }
  info.header = write_npy_header(descr_repr(info.dtype), info.shape, info.fortran_order);
  info.data_offset = info.header.size();
  info.npy_major = static_cast<std::uint8_t>(info.header[kHeaderMajor]);
  info.npy_minor = static_cast<std::uint8_t>(info.header[kHeaderMinor]);
  return info;
}

ArrayInfo describe_data(const Sidecar& sidecar, Bytes head, std::uint64_t stored_size) {
  try {
    if (!sidecar.shape) {
      throw_corrupt("no shape for ", stored_size,
                    " bytes that have no header; add \"shape\": [...], a list of lengths");
    }
    if (!sidecar.dtype && !sidecar.descr) {
      throw_corrupt("no dtype for ", stored_size,
                    " bytes that have no header; add \"dtype\": \"...\", such as float32 or "
                    "float8_e4m3fn");
    }
    return describe_data(sidecar_dtype(sidecar), told_by(sidecar), *sidecar.shape,
                         sidecar.fortran_order, stored_size);
  } catch (const Error& e) {
    // Zeros are said to be nothing else: they may well be values.
    const bool has_zeros = std::ranges::all_of(head, [](std::byte b) { return b == std::byte{0}; });
    const auto known = has_zeros ? std::nullopt : recognise_bytes(head, stored_size);
    throw Error(e.errno_value(),
                text_of("the sidecar: ", e.what(), known ? "; the data is " + *known : ""));
  }
}

void set_type(ArrayInfo& info, std::string_view type, DtypeFrom from) {
  if (!info.known) {
    return;
  }
  try {
    info.dtype = with_type(info.dtype, type);
    info.dtype_from = from;
  } catch (const Error& e) {
    if (!info.error) {
      info.error = e.prefixed(from == DtypeFrom::kOption ? "--dtype" : "the sidecar");
    }
  }
}

void set_type(ArrayInfo& info, const Sidecar& sidecar) {
  if (!info.known || info.pickled) {
    return;
  }
  if (sidecar.shape && *sidecar.shape != info.shape) {
    if (!info.error) {
      info.error.emplace(
          EIO, text_of("the sidecar's shape is ", shape_text(*sidecar.shape), ", the header's ",
                       shape_text(info.shape), "; correct or remove the sidecar"));
    }
    return;
  }
  const DtypeFrom from = told_by(sidecar);
  if (sidecar.dtype && from != DtypeFrom::kHeader) {
    set_type(info, *sidecar.dtype, from);
  }
}

}  // namespace npyfs
