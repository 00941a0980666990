#include "npyfs/source/compose.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "npyfs/base/error.h"

namespace npyfs {
namespace {

class Memory final : public Source, public std::enable_shared_from_this<Memory> {
 public:
  explicit Memory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  std::uint64_t size() const override { return bytes_.size(); }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    if (!dst.empty()) {  // memcpy: copying byte by byte takes a hundred times as long
      std::memcpy(dst.data(), &bytes_[offset], dst.size());
    }
  }

  void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const override {
    if (out.full()) {
      Source::gather(offset, length, out);
    } else {
      out.lend(Bytes(bytes_).subspan(offset, length), shared_from_this());
    }
  }

 private:
  std::vector<std::byte> bytes_;
};

class Slice final : public Source {
 public:
  Slice(SourcePtr whole, std::uint64_t offset, std::uint64_t length)
      : whole_(std::move(whole)), offset_(offset), length_(length) {}

  const SourcePtr& whole() const { return whole_; }
  std::uint64_t offset() const { return offset_; }

  std::uint64_t size() const override { return length_; }
  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    whole_->read(offset_ + offset, dst);
  }
  void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const override {
    whole_->gather(offset_ + offset, length, out);
  }
  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    return whole_->at_hand(offset_ + offset, length);
  }

 private:
  SourcePtr whole_;
  std::uint64_t offset_;
  std::uint64_t length_;
};

class Concat final : public Source {
 public:
  explicit Concat(std::vector<SourcePtr> parts) : parts_(std::move(parts)) {
    std::uint64_t end = 0;
    for (const SourcePtr& part : parts_) {
      end += part->size();
      ends_.push_back(end);
    }
  }

  std::uint64_t size() const override { return ends_.back(); }

  void read(std::uint64_t offset, std::span<std::byte> dst) const override {
    each_part(offset, dst.size(), [&](const Source& part, std::uint64_t at, std::uint64_t length) {
      part.read(at, dst.first(length));
      dst = dst.subspan(length);
      return true;
    });
  }

  void gather(std::uint64_t offset, std::uint64_t length, Gather& out) const override {
    each_part(offset, length, [&](const Source& part, std::uint64_t at, std::uint64_t piece) {
      part.gather(at, piece, out);
      return true;
    });
  }

  bool at_hand(std::uint64_t offset, std::uint64_t length) const override {
    bool all = true;
    each_part(offset, length, [&](const Source& part, std::uint64_t at, std::uint64_t piece) {
      all = part.at_hand(at, piece);
      return all;
    });
    return all;
  }

 private:
  // Calls visit(part, offset in it, length) for what [offset, offset + length) covers, until it
  // returns false.
  template <typename Visit>
  void each_part(std::uint64_t offset, std::uint64_t length, Visit&& visit) const {
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
    for (; length > 0; ++i) {
      const std::uint64_t begin = ends_[i] - parts_[i]->size();
      const std::uint64_t piece = std::min(length, ends_[i] - offset);
      if (!visit(*parts_[i], offset - begin, piece)) {
        return;
      }
      offset += piece;
      length -= piece;
    }
  }

  std::vector<SourcePtr> parts_;     // none empty
  std::vector<std::uint64_t> ends_;  // of each part, in the whole
};

}  // namespace

SourcePtr memory(std::vector<std::byte> bytes) {
  return std::make_shared<Memory>(std::move(bytes));
}

SourcePtr memory(const std::string& bytes) {
  const Bytes view = bytes_of(bytes);
  return memory(std::vector<std::byte>(view.begin(), view.end()));
}

SourcePtr slice(const SourcePtr& whole, std::uint64_t offset, std::uint64_t length) {
  if (offset > whole->size() || length > whole->size() - offset) {
    throw_corrupt(length, " bytes at ", offset, " run past the end at ", whole->size());
  }
  if (length == whole->size()) {
    return whole;
  }
  if (const auto* inner = dynamic_cast<const Slice*>(whole.get())) {
    return std::make_shared<Slice>(inner->whole(), inner->offset() + offset, length);
  }
  return std::make_shared<Slice>(whole, offset, length);
}

SourcePtr concat(std::vector<SourcePtr> parts) {
  std::erase_if(parts, [](const SourcePtr& part) { return part->size() == 0; });
  std::uint64_t total = 0;
  for (const SourcePtr& part : parts) {
    const auto sum = checked_add(total, part->size());
    if (!sum || *sum > INT64_MAX) {
      throw_corrupt("the parts together pass 2^63 bytes");
    }
    total = *sum;
  }
  if (parts.empty()) {
    return memory(std::vector<std::byte>());
  }
  return parts.size() == 1 ? parts.front() : std::make_shared<Concat>(std::move(parts));
}

}  // namespace npyfs
