// ISA-L keeps everything it needs in one plain struct (inflate_state: decoding tables, a window of
// the last 32 KiB, what it decoded beyond what was asked), so a copy of it, at any position of the
// output, is a restart point. zlib's way, points at block boundaries only, would need its slower
// decoder.
//
// Of the window only the last 32 KiB and what is still to be handed out are kept: 54 KB instead
// of 87. ISA-L itself moves that part to the front of its buffer between calls, so a trimmed copy
// looks to it like one of its own.
#include "npyfs/source/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <isa-l.h>

#include "source/inflate_check.h"

namespace npyfs {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{256} << 10;
constexpr std::size_t kMostOutput = std::size_t{1} << 30;  // a call counts in 32 bits
constexpr std::size_t kFirstPrefixPiece = 64;
constexpr std::uint64_t kSample = 4096;
constexpr std::size_t kHeadSize = offsetof(inflate_state, tmp_out_buffer);

// In front of a restart point's state: then kHeadSize bytes of inflate_state, then `kept` bytes of
// tmp_out_buffer, of which `dropped` are missing at the front.
struct ImageHeader {
  std::uint64_t input_offset = 0;  // of the byte that ISA-L takes next
  std::uint32_t dropped = 0;
  std::uint32_t kept = 0;
};

// What was decoded beyond what was asked for.
std::size_t pending_in(const inflate_state& state) {
  return static_cast<std::size_t>(state.tmp_out_valid - state.tmp_out_processed);
}

// Of the last output of a call that failed with `result`, how many bytes may be made up: ISA-L
// counts a match as output before it sees that it reaches back before the front, and doesn't say
// how long it was. RFC 1951 3.2.5 has the longest.
std::size_t wrong_at_end(int result) { return result == ISAL_INVALID_LOOKBACK ? 258 : 0; }

class InflateCursor final : public Cursor {
 public:
  explicit InflateCursor(SourcePtr compressed);
  InflateCursor(SourcePtr compressed, const RestartPoint& point);

  std::uint64_t position() const override { return position_; }
  void produce(std::span<std::byte> dst) override;
  void finish() override;
  std::unique_ptr<RestartPoint> save() override;

 private:
  enum class State { kGoesOn, kEnded, kStarved, kBroke };
  struct Progress {
    State state;
    std::size_t produced;
  };

  Progress step(std::span<std::byte> dst);
  std::size_t drain(std::span<std::byte> dst);
  bool refill();
  [[noreturn]] void fail(State state) const;

  SourcePtr compressed_;
  std::uint64_t input_end_ = 0;  // how far `compressed_` is in the buffer or behind
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t buffer_size_;
  std::uint64_t position_ = 0;
  bool broken_ = false;  // ISA-L found damage; what it decoded before is still to be handed out
  inflate_state state_;  // 87 KB, and not all to be cleared for nothing
};

InflateCursor::InflateCursor(SourcePtr compressed)
    : compressed_(std::move(compressed)), buffer_size_(std::min(compressed_->size(), kPiece)) {
  // A restart point, which may end up in a file, holds nothing that was in this memory before.
  std::memset(static_cast<void*>(&state_), 0, kHeadSize);
  isal_inflate_init(&state_);
}

InflateCursor::InflateCursor(SourcePtr compressed, const RestartPoint& point)
    : InflateCursor(std::move(compressed)) {
  const std::vector<std::byte>& image = point.state;
  ImageHeader header;
  if (image.size() < sizeof header + kHeadSize) {
    throw_corrupt("a restart point of ", image.size(), " bytes is too short");
  }
  std::memcpy(&header, image.data(), sizeof header);
  const bool fits = header.kept == image.size() - sizeof header - kHeadSize &&
                    header.kept <= sizeof state_.tmp_out_buffer &&
                    header.input_offset <= compressed_->size();
  if (!fits) {
    throw_corrupt("a restart point of ", image.size(), " bytes contradicts itself");
  }
  std::memcpy(&state_, &image[sizeof header], kHeadSize);
  std::memcpy(state_.tmp_out_buffer, image.data() + sizeof header + kHeadSize, header.kept);
  const std::int64_t valid = std::int64_t{state_.tmp_out_valid} - header.dropped;
  const std::int64_t handed_out = std::int64_t{state_.tmp_out_processed} - header.dropped;
  if (valid != header.kept || handed_out < 0 || handed_out > valid) {
    throw_corrupt("a restart point keeps ", header.kept, " bytes where its state has ", valid);
  }
  state_.tmp_out_valid = static_cast<std::int32_t>(valid);
  state_.tmp_out_processed = static_cast<std::int32_t>(handed_out);
  state_.next_in = nullptr;
  state_.avail_in = 0;
  state_.avail_out = 0;
  // As far back as a match may reach: some versions of ISA-L compare, in 32 bits.
  state_.total_out =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(point.position, IGZIP_HIST_SIZE));
  state_.dict_length = 0;
  state_.crc_flag = ISAL_DEFLATE;
  if (!is_safe_state(state_, point.position)) {
    throw_corrupt("a restart point at ", point.position, " is no state of a decoder");
  }
  input_end_ = header.input_offset;
  position_ = point.position;
}

void InflateCursor::produce(std::span<std::byte> dst) {
  while (!dst.empty()) {
    const Progress progress = step(dst.first(std::min(dst.size(), kMostOutput)));
    position_ += progress.produced;
    dst = dst.subspan(progress.produced);
    if (progress.state != State::kGoesOn && !dst.empty()) {
      fail(progress.state);
    }
  }
}

void InflateCursor::finish() {
  Progress progress{State::kGoesOn, 0};
  while (progress.state == State::kGoesOn) {
    std::byte extra{};
    progress = step({&extra, 1});
    if (progress.produced > 0) {
      throw_damage("the deflate data goes on past the declared ", position_, " bytes");
    }
  }
  if (progress.state != State::kEnded) {
    fail(progress.state);
  }
}

// One call of ISA-L, with input if there is any left.
InflateCursor::Progress InflateCursor::step(std::span<std::byte> dst) {
  if (broken_) {
    return {State::kBroke, drain(dst)};
  }
  const bool fed = state_.avail_in > 0 || refill();
  state_.next_out = reinterpret_cast<std::uint8_t*>(dst.data());
  state_.avail_out = static_cast<std::uint32_t>(dst.size());
  const int result = isal_inflate(&state_);
  const std::size_t produced = dst.size() - state_.avail_out;
  if (result < 0) {
    broken_ = true;
    const std::size_t wrong = wrong_at_end(result);
    const std::size_t pending = pending_in(state_);
    if (wrong >= pending) {
      state_.tmp_out_valid = state_.tmp_out_processed;
      return {State::kBroke, produced - std::min(produced, wrong - pending)};
    }
    state_.tmp_out_valid -= static_cast<std::int32_t>(wrong);
    return {State::kBroke, produced + drain(dst.subspan(produced))};
  }
  if (state_.block_state == ISAL_BLOCK_FINISH) {
    return {State::kEnded, produced};
  }
  return {fed || produced > 0 ? State::kGoesOn : State::kStarved, produced};
}

// ISA-L decodes up to 64 KiB ahead, so damage may lie behind bytes that are still to be handed out.
// Calling it again would decode on from the middle of the damaged symbol.
std::size_t InflateCursor::drain(std::span<std::byte> dst) {
  const std::size_t count = std::min(pending_in(state_), dst.size());
  std::memcpy(dst.data(), &state_.tmp_out_buffer[state_.tmp_out_processed], count);
  state_.tmp_out_processed += static_cast<std::int32_t>(count);
  return count;
}

// Reads the next piece of input; false at the end of it.
bool InflateCursor::refill() {
  const std::uint64_t piece = std::min(buffer_size_, compressed_->size() - input_end_);
  if (piece == 0) {
    return false;
  }
  if (buffer_ == nullptr) {
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(buffer_size_);
  }
  compressed_->read(input_end_, {buffer_.get(), static_cast<std::size_t>(piece)});
  input_end_ += piece;
  state_.next_in = reinterpret_cast<std::uint8_t*>(buffer_.get());
  state_.avail_in = static_cast<std::uint32_t>(piece);
  return true;
}

void InflateCursor::fail(State state) const {
  switch (state) {
    case State::kEnded:
      throw_damage("the deflate data ends after ", position_, " bytes");
    case State::kStarved:
      throw_damage("the deflate data is cut off: its ", compressed_->size(),
                   " bytes decode to only ", position_);
    default:
      throw_damage("the deflate data is damaged after ", position_, " decoded bytes");
  }
}

std::unique_ptr<RestartPoint> InflateCursor::save() {
  if (broken_) {
    return nullptr;
  }
  const auto valid = static_cast<std::size_t>(state_.tmp_out_valid);
  const auto handed_out = static_cast<std::size_t>(state_.tmp_out_processed);
  const std::size_t dropped = std::min(handed_out, valid - std::min(valid, IGZIP_HIST_SIZE + 0UL));
  const ImageHeader header{input_end_ - state_.avail_in, static_cast<std::uint32_t>(dropped),
                           static_cast<std::uint32_t>(valid - dropped)};

  auto point = std::make_unique<RestartPoint>();
  point->position = position_;
  std::vector<std::byte>& image = point->state;
  image.reserve(sizeof header + kHeadSize + header.kept);
  const auto append = [&image](const void* bytes, std::size_t count) {
    const auto* const begin = static_cast<const std::byte*>(bytes);
    image.insert(image.end(), begin, begin + count);
  };
  // No addresses in the image, and no input: `resume` reads that again.
  std::uint8_t* const next_in = std::exchange(state_.next_in, nullptr);
  const std::uint32_t avail_in = std::exchange(state_.avail_in, 0);
  state_.next_out = nullptr;
  append(&header, sizeof header);
  append(&state_, kHeadSize);
  append(&state_.tmp_out_buffer[dropped], header.kept);
  state_.next_in = next_in;
  state_.avail_in = avail_in;
  return point;
}

std::uint64_t crc64(std::uint64_t crc, Bytes bytes) {
  return crc64_ecma_refl(crc, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

// What a saved state looks like: the version ISA-L's header names, and, since the library that is
// loaded may be another, how that one writes the tables of an empty block.
std::string make_state_layout() {
  std::array<std::uint8_t, 2> empty_block = {0x03, 0x00};
  std::uint8_t out = 0;
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->next_in = empty_block.data();
  state->avail_in = empty_block.size();
  state->next_out = &out;
  state->avail_out = sizeof out;
  isal_inflate(state.get());
  std::uint64_t crc = crc64(0, std::as_bytes(std::span(&state->lit_huff_code, 1)));
  crc = crc64(crc, std::as_bytes(std::span(&state->dist_huff_code, 1)));
  return text_of("isa-l ", ISAL_MAJOR_VERSION, '.', ISAL_MINOR_VERSION, '.', ISAL_PATCH_VERSION,
                 ' ', sizeof(inflate_state), ' ', kHeadSize, ' ', std::hex, crc);
}

const std::string& state_layout() {
  static const std::string layout = make_state_layout();
  return layout;
}

class InflateCodec final : public Codec {
 public:
  InflateCodec(SourcePtr compressed, std::string origin)
      : compressed_(std::move(compressed)), origin_(std::move(origin)) {}

  std::unique_ptr<Cursor> start() const override {
    return std::make_unique<InflateCursor>(compressed_);
  }
  std::unique_ptr<Cursor> resume(const RestartPoint& point) const override {
    return std::make_unique<InflateCursor>(compressed_, point);
  }
  std::string restart_key() const override {
    return origin_.empty() ? "" : text_of(origin_, "; ", sample(), "; ", state_layout());
  }

 private:
  // Of the stream itself, so that its place and its CRC-32 alone don't have to vouch for it.
  std::string sample() const {
    std::uint64_t crc = 0;
    for (const std::uint64_t offset : {std::uint64_t{0}, compressed_->size()}) {
      const std::uint64_t begin = std::min(offset, compressed_->size() - sample_size());
      crc = crc64(crc, read_bytes(*compressed_, begin, sample_size()));
    }
    return text_of("stream ", compressed_->size(), ' ', std::hex, crc);
  }
  std::size_t sample_size() const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(compressed_->size(), kSample));
  }

  SourcePtr compressed_;
  std::string origin_;
};

}  // namespace

std::unique_ptr<Codec> inflate_codec(SourcePtr compressed, std::string origin) {
  return std::make_unique<InflateCodec>(std::move(compressed), std::move(origin));
}

std::size_t inflate_prefix(Bytes compressed, std::span<std::byte> out) {
  thread_local const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  out = out.first(std::min(out.size(), kMostOutput));
  state->next_out = reinterpret_cast<std::uint8_t*>(out.data());
  state->avail_out = static_cast<std::uint32_t>(out.size());
  // ISA-L decodes all the input it gets, wanted or not: so it gets little at a time.
  std::size_t piece = kFirstPrefixPiece;
  while (state->avail_out > 0 && !compressed.empty() && state->block_state != ISAL_BLOCK_FINISH) {
    piece = std::min(2 * piece, compressed.size());
    // Its input has no const form; it only reads.
    state->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(compressed.data()));
    state->avail_in = static_cast<std::uint32_t>(std::min(piece, kMostOutput));
    compressed = compressed.subspan(state->avail_in);
    const int result = isal_inflate(state.get());
    const std::size_t wrong = wrong_at_end(result);
    if (result < 0 && (state->avail_out > 0 || wrong > pending_in(*state))) {
      const std::size_t got = out.size() - state->avail_out + pending_in(*state);
      throw_damage("the deflate data is damaged after ", got - std::min(got, wrong),
                   " decoded bytes");
    }
  }
  return out.size() - state->avail_out;
}

}  // namespace npyfs
