#include "npyfs/source/byte_text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "npyfs/base/error.h"
#include "npyfs/source/cancel.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kSpacing = std::uint64_t{64}
                                   << 10;              // of remembered places, in bytes decoded
constexpr std::size_t kPiece = std::size_t{64} << 10;  // of text read at once

unsigned char at(Bytes text, std::size_t i) { return std::to_integer<unsigned char>(text[i]); }

std::optional<std::uint32_t> digits(Bytes text, std::size_t count, unsigned base) {
  if (text.size() < count) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned char c = at(text, i);
    unsigned digit = base;
    if (c >= '0' && c <= '9') {
      digit = c - '0';
    } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
      digit = (c | 0x20) - 'a' + 10U;
    }
    if (digit >= base) {
      return std::nullopt;
    }
    number = number * base + digit;
  }
  return number;
}

std::optional<TextCharacter> utf8_character(Bytes text) {
  const unsigned char first = at(text, 0);
  if (first < 0x80) {
    return TextCharacter{first, 1};
  }
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return std::nullopt;
  }
  std::uint32_t number = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(text, i) & 0xC0) != 0x80) {
      return std::nullopt;
    }
    number = number << 6 | (at(text, i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (number < kLeast[length] || number > 0x10FFFF) {
    return std::nullopt;
  }
  return TextCharacter{number, length};
}

std::optional<TextCharacter> unicode_escape(Bytes text) {
  const bool is_escape = at(text, 0) == '\\' && text.size() > 1 && (at(text, 1) | 0x20) == 'u';
  if (!is_escape) {
    return TextCharacter{at(text, 0), 1};
  }
  const std::size_t count = at(text, 1) == 'u' ? 4 : 8;
  const auto number = digits(text.subspan(2), count, 16);
  if (!number || *number > 0x10FFFF) {
    return std::nullopt;
  }
  return TextCharacter{*number, 2 + count};
}

// What a backslash and one character stand for, where it isn't a number; 0x100 if nothing.
unsigned simple_escape(unsigned char c) {
  switch (c) {
    case 'a':
      return 7;
    case 'b':
      return 8;
    case 't':
      return 9;
    case 'n':
      return 10;
    case 'v':
      return 11;
    case 'f':
      return 12;
    case 'r':
      return 13;
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return 0x100;
  }
}

std::optional<TextCharacter> string_escape(Bytes text) {
  if (at(text, 0) != '\\') {
    return TextCharacter{at(text, 0), 1};
  }
  if (text.size() < 2) {
    return std::nullopt;
  }
  const unsigned char c = at(text, 1);
  if (c == 'x') {
    const auto number = digits(text.subspan(2), 2, 16);
    return number ? std::optional(TextCharacter{*number, 4}) : std::nullopt;
  }
  if (c >= '0' && c <= '7') {
    std::size_t count = 1;
    while (count < 3 && digits(text.subspan(1), count + 1, 8)) {
      ++count;
    }
    return TextCharacter{*digits(text.subspan(1), count, 8) & 0xFF, 1 + count};
  }
  const unsigned simple = simple_escape(c);
  // Python leaves a backslash that means nothing as it is.
  return simple < 0x100 ? TextCharacter{simple, 2} : TextCharacter{'\\', 1};
}

class ByteText final : public Source {
 public:
  ByteText(SourcePtr text, ByteForm form, std::uint64_t size)
      : text_(std::move(text)), form_(form), size_(size) {}

  std::uint64_t size() const override { return size_; }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (dst.empty()) {
      return;
    }
    Place place = known_place(offset);
    const std::uint64_t end = offset + dst.size();
    std::vector<std::byte> piece(std::min<std::uint64_t>(kPiece, text_->size()));
    while (place.decoded < end) {
      throw_if_cancelled();
      if (place.text == text_->size()) {
        throw_corrupt("the text ends after ", place.decoded, " of ", size_, " bytes");
      }
      const std::size_t length = std::min<std::uint64_t>(piece.size(), text_->size() - place.text);
      const std::span<std::byte> text(piece.data(), length);
      text_->read(place.text, text);
      place = decode(text, place, offset, dst);
    }
    if (end == size_ && place.text < text_->size()) {
      throw_corrupt("the text goes on after ", size_, " bytes");
    }
  }

  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    const Place place = known_place(offset);
    const std::uint64_t longest = (offset - place.decoded + length) * kLongestCharacter;
    return longest <= kPiece * kLongestCharacter * 4 &&
           text_->at_hand(place.text, std::min(longest, text_->size() - place.text));
  }

 private:
  struct Place {
    std::uint64_t decoded = 0;  // bytes before it
    std::uint64_t text = 0;     // offset in the text
  };

  Place known_place(std::uint64_t decoded) const {
    const std::lock_guard lock(mutex_);
    const std::uint64_t i = std::min<std::uint64_t>(decoded / kSpacing, places_.size());
    return i == 0 ? Place{} : Place{i * kSpacing, places_[i - 1]};
  }

  void remember(const Place& place) const {
    const std::lock_guard lock(mutex_);
    if (place.decoded / kSpacing == places_.size() + 1) {
      places_.push_back(place.text);
    }
  }

  // Decodes `text`, which begins at `place`, up to the end of `dst` or of its last whole character;
  // what belongs at `offset` and behind goes to `dst`. Returns where it stopped.
  Place decode(Bytes text, Place place, std::uint64_t offset, std::span<std::byte> dst) const {
    const std::uint64_t end = offset + dst.size();
    const bool is_last = place.text + text.size() == text_->size();
    while (place.decoded < end && !text.empty()) {
      if (!is_last && text.size() < kLongestCharacter) {
        break;
      }
      const auto character = next_character(text, form_);
      if (!character || character->number > 0xFF) {
        throw_corrupt("no byte at ", place.text, " of the text");
      }
      if (place.decoded >= offset) {
        dst[place.decoded - offset] = static_cast<std::byte>(character->number);
      }
      text = text.subspan(character->length);
      place.text += character->length;
      if (++place.decoded % kSpacing == 0) {
        remember(place);
      }
    }
    return place;
  }

  const SourcePtr text_;
  const ByteForm form_;
  const std::uint64_t size_;
  mutable std::mutex mutex_;  // guards the rest
  mutable std::vector<std::uint64_t>
      places_;  // offset in the text of every kSpacing bytes, from the second on
};

}  // namespace

std::optional<TextCharacter> next_character(Bytes text, ByteForm form) {
  if (text.empty()) {
    return std::nullopt;
  }
  switch (form) {
    case ByteForm::kUtf8:
      return utf8_character(text);
    case ByteForm::kUnicodeEscape:
      return unicode_escape(text);
    case ByteForm::kStringEscape:
      return string_escape(text);
    case ByteForm::kRaw:
      break;
  }
  return TextCharacter{at(text, 0), 1};
}

SourcePtr byte_text(SourcePtr text, ByteForm form, std::uint64_t size) {
  if (!may_stand_for(form, text->size(), size)) {
    throw_corrupt("a text of ", text->size(), " bytes can't stand for ", size, " bytes");
  }
  if (form == ByteForm::kRaw) {
    return text;
  }
  return std::make_shared<ByteText>(std::move(text), form, size);
}

bool may_stand_for(ByteForm form, std::uint64_t length, std::uint64_t size) {
  const std::uint64_t most = form == ByteForm::kRaw    ? 1
                             : form == ByteForm::kUtf8 ? 2
                                                       : kLongestCharacter;
  return size <= length && length <= checked_multiply(size, most).value_or(UINT64_MAX);
}

}  // namespace npyfs
