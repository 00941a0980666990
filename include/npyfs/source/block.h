// A piece of decoded bytes: written by whoever makes it, immutable once others have it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace npyfs {

class Block {
 public:
  // `size` bytes of its own, of any content.
  explicit Block(std::size_t size)
      : own_(std::make_unique_for_overwrite<std::byte[]>(size)), bytes_(own_.get(), size) {}

  // In memory of somebody else, who keeps it as long as the block lives.
  explicit Block(std::span<std::byte> lent) : bytes_(lent) {}

  std::size_t size() const { return bytes_.size(); }
  std::byte* data() { return bytes_.data(); }
  const std::byte* data() const { return bytes_.data(); }
  std::byte* begin() { return data(); }
  std::byte* end() { return data() + size(); }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + size(); }

  // Forgets what lies beyond the first `size` bytes, of which there are at least as many.
  void cut(std::size_t size) { bytes_ = bytes_.first(size); }

 private:
  std::unique_ptr<std::byte[]> own_;
  std::span<std::byte> bytes_;
};

using BlockPtr = std::shared_ptr<const Block>;

}  // namespace npyfs
