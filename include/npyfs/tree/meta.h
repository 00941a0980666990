// What is known of arrays, as JSON: NAME.meta.json and .npyfs/manifest.json.
//
// Text goes to a sink piece by piece, so that its size can be had without holding it, and a
// manifest of a million arrays without writing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "npyfs/source/source.h"
#include "npyfs/tree/views.h"

namespace npyfs {

class TextSink {
 public:
  virtual ~TextSink() = default;
  virtual void write(std::string_view text) = 0;
};

class StringSink final : public TextSink {
 public:
  void write(std::string_view text) override { text_ += text; }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

class CountingSink final : public TextSink {
 public:
  void write(std::string_view text) override { size_ += text.size(); }
  std::uint64_t size() const { return size_; }

 private:
  std::uint64_t size_ = 0;
};

// meta.json of an array: one object and a newline. It depends on the array and the options of the
// mount alone, so equal arrays have equal text.
void write_meta(const Views& views, ItemId array, TextSink& sink);

// The array's entry of the manifest, without a newline: the same keys, `path` and `source`.
void write_manifest_entry(const Views& views, ItemId array, TextSink& sink);

// errors.json.
std::string problems_json(const std::vector<Problem>& problems);

// manifest.json: a list of all arrays in the order of the source. Its size is found by one pass
// over them, made by the first who asks; reads write just the entries they need. `views` must
// outlive it.
SourcePtr manifest(const Views& views);

}  // namespace npyfs
