// Reads the value of 'descr' in a header: a string, or a list of fields (name, descr[, shape]).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "npyfs/format/dtype.h"

#include "format/python_literal.h"

namespace npyfs {

// Reads one descr and leaves what follows it. Lists are taken for tuples too, as JSON has them.
// Throws Error (EIO), also past kMaxDtypeDepth or kMaxFields.
Dtype read_descr(LiteralReader& in);

// The same of the content of a string.
Dtype descr_of_string(std::string_view text);

}  // namespace npyfs
