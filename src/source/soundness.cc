#include "source/soundness.h"

#include <algorithm>
#include <iomanip>

#include <isa-l/crc.h>

#include "npyfs/source/block_cache.h"

namespace npyfs {

void Soundness::throw_if_unsound(std::uint64_t end) const {
  if (end <= sound_until_) {
    return;
  }
  const std::lock_guard lock(mutex_);
  throw std::ranges::min_element(faults_, {}, &Fault::from)->damage;
}

bool Soundness::note(std::uint64_t from, const Damage& damage) {
  const std::lock_guard lock(mutex_);
  sound_until_ = std::min(sound_until_.load(), from);
  // Decoded from another start it may seem to break a few bytes off: that is no second fault.
  const auto known = std::ranges::find_if(faults_, [from](const Fault& fault) {
    return fault.from / BlockCache::kBlockSize == from / BlockCache::kBlockSize;
  });
  if (known != faults_.end()) {
    known->from = std::min(known->from, from);
    return false;
  }
  faults_.push_back({from, damage});
  return true;
}

std::optional<Damage> Soundness::check(std::uint64_t begin, Bytes block) {
  if (!lacks(begin)) {
    return std::nullopt;
  }
  const std::uint32_t crc =
      crc32_gzip_refl(0, reinterpret_cast<const std::uint8_t*>(block.data()), block.size());
  const std::lock_guard lock(mutex_);
  if (coverage_.covers(begin)) {
    return std::nullopt;
  }
  coverage_.add(begin, begin + block.size(), crc);
  const std::optional<std::uint32_t> whole = coverage_.whole(size_);
  if (!whole || *whole == *crc32_) {
    return std::nullopt;
  }
  return Damage(text_of(std::hex, std::setfill('0'), "CRC-32 is 0x", std::setw(8), *whole,
                        ", the archive says 0x", std::setw(8), *crc32_, kFetchAgain));
}

bool Soundness::is_worth_keeping(bool is_small) const {
  const std::lock_guard lock(mutex_);
  const bool is_checked = coverage_.whole(size_).has_value();
  return !faults_.empty() || (is_checked ? !is_small : !coverage_.empty());
}

bool Soundness::lacks(std::uint64_t begin) const {
  if (!crc32_) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  return !coverage_.covers(begin);
}

}  // namespace npyfs
