// Python pickles, protocols 0 to 5, read without running anything.
//
// A pickle is a program for a small stack machine. This one knows a closed set of its instructions
// and does what they say to values of its own: it imports nothing and calls nothing. Where a pickle
// asks for a call, the result is a value that says so (the callable, its arguments, what was set on
// the object afterwards), and whoever reads the pickle decides which of these it understands.
//
// Values lie in arrays of the Pickle and name each other by number, so one that is used in many
// places is there once, cycles are nothing special, and nothing recurses. Long strings and bytes
// aren't copied: they are ranges of the source, which can be served from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/source/byte_text.h"
#include "npyfs/source/source.h"

namespace npyfs {

// A value of a Pickle.
using PickleId = std::uint32_t;
constexpr PickleId kNoPickle = ~PickleId{0};

enum class PickleKind : std::uint8_t {
  kNone,
  kBool,
  kInteger,     // fits in 64 bits
  kBigInteger,  // in decimal
  kReal,
  kText,        // str of Python 3, unicode of Python 2
  kBytes,       // bytes or bytearray of Python 3
  kByteString,  // str of Python 2: text or bytes
  kTuple,
  kList,
  kDict,
  kSet,
  kFrozenSet,
  kGlobal,      // a name in a module
  kPersistent,  // something kept elsewhere, known by an id
  kCall,        // an object that Python would have made by a call
};

// What a pickle says about an object. Each is kNoPickle if it says nothing.
struct PickleCall {
  PickleId callable = kNoPickle;
  PickleId arguments = kNoPickle;   // a tuple, if the pickle was made by Python
  PickleId keywords = kNoPickle;    // a dict
  PickleId state = kNoPickle;       // the last that was set
  PickleId list_items = kNoPickle;  // a list of what was appended or added
  PickleId dict_items = kNoPickle;  // a dict of what was set by key
};

// Where the bytes of a string lie in the source, and in which form.
struct PickleRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  ByteForm form = ByteForm::kRaw;
};

class Pickle {
 public:
  // Limits; a pickle beyond one of them is refused (EOPNOTSUPP).
  static constexpr std::size_t kMostMemo = std::size_t{1} << 22;
  static constexpr std::size_t kMostStack = std::size_t{1} << 20;
  static constexpr std::size_t kMostValues = std::size_t{1} << 23;
  static constexpr std::size_t kMostItems = std::size_t{1} << 23;    // in all containers together
  static constexpr std::size_t kLongestCopy = 4096;                  // bytes of one string
  static constexpr std::size_t kMostCopied = std::size_t{64} << 20;  // bytes of all together
  // Bytes read, apart from those of long strings that are only passed over.
  static constexpr std::uint64_t kMostRead = std::uint64_t{1} << 30;

  PickleId root() const { return root_; }
  std::uint64_t end() const { return end_; }  // offset in the source, just behind the pickle
  std::size_t count() const { return values_.size(); }

  PickleKind kind(PickleId id) const { return values_[id].kind; }

  // Each of these has a precondition on the kind.
  bool boolean(PickleId id) const { return values_[id].first != 0; }
  std::int64_t integer(PickleId id) const { return static_cast<std::int64_t>(values_[id].first); }
  double real(PickleId id) const;
  PickleId persistent_id(PickleId id) const { return static_cast<PickleId>(values_[id].first); }
  const PickleCall& call(PickleId id) const { return calls_[values_[id].first]; }
  std::string_view module(PickleId id) const { return copy_at(values_[id].text); }
  std::string_view name(PickleId id) const {
    return copy_at(static_cast<std::uint32_t>(values_[id].first));
  }
  // The items of a tuple, list or set; a dict's keys and values in turn.
  std::span<const PickleId> items(PickleId id) const;
  // Of a text, bytes or byte string.
  PickleRange range(PickleId id) const;

  // What a text (as UTF-8, perhaps with surrogates), bytes, a byte string or a big integer says;
  // nullopt if it is longer than kLongestCopy, or another kind of value.
  std::optional<std::string_view> text(PickleId id) const;

  bool is_global(PickleId id, std::string_view module, std::string_view name) const;

 private:
  friend class PickleBuilder;

  struct Value {
    PickleKind kind = PickleKind::kNone;
    ByteForm form = ByteForm::kRaw;
    std::uint32_t text = kNoCopy;  // where its copy begins in copies_
    std::uint64_t first = 0;   // a number; an offset in the source; an index of items_ or calls_
    std::uint64_t second = 0;  // how many bytes or items
  };
  static constexpr std::uint32_t kNoCopy = ~std::uint32_t{0};

  Pickle() = default;
  std::string_view copy_at(std::uint32_t begin) const;

  std::vector<Value> values_;
  std::vector<PickleId> items_;
  std::vector<PickleCall> calls_;
  std::string copies_;  // each behind its length in four bytes
  PickleId root_ = 0;
  std::uint64_t end_ = 0;
};

// Reads the pickle that begins at `offset` of `source` and ends at `end` or before. Globals and
// calls may be any. Throws Error: EIO if the stream is malformed, EOPNOTSUPP for a limit above or
// an instruction that needs something from outside (extension registry, out-of-band buffers), both
// with instruction and offset.
Pickle read_pickle(const Source& source, std::uint64_t offset, std::uint64_t end);

}  // namespace npyfs
