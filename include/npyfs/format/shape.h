// The shape of an array, and what can be counted from it without wrapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace npyfs {

// Lengths of the axes; empty for a 0-d array, which has one element.
using Shape = std::vector<std::uint64_t>;
using ShapeView = std::span<const std::uint64_t>;

// NumPy 2 allows as many axes (1.x: 32).
inline constexpr std::size_t kMaxDimensions = 64;

// The number of elements; 0 if any axis is 0, however long the others are. Throws Error (EIO) with
// the shape in the text if it passes 2^63 - 1.
std::uint64_t element_count(ShapeView shape);

// Bytes of the array's data. Throws Error (EIO) like element_count.
std::uint64_t data_bytes(ShapeView shape, std::uint64_t itemsize);

// The shape of x.view('uint8'): the last axis times the item size; (itemsize,) for a 0-d array.
// Throws Error (EIO) if that axis passes 2^63 - 1.
Shape u8view_shape(ShapeView shape, std::uint64_t itemsize);

// As Python prints a tuple: "()", "(3,)", "(3, 4)".
std::string shape_text(ShapeView shape);

}  // namespace npyfs
