#include "tools/convert/tensor_writer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "format/encode.h"
#include "tools/progress.h"

namespace terrace::tools {
namespace {

using format::BlockType;
using format::TypeCode;

constexpr uint64_t kChunkBytes = uint64_t{8} << 20;
constexpr uint64_t kCodeBytes = 16, kCodeValues = 32;  // of an MXFP4 block in a checkpoint, without its scale

template <class T>
T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

void widen(const std::string& dtype, const std::byte* from, std::span<float> to) {
  if (dtype == "F32") {
    std::memcpy(to.data(), from, to.size_bytes());
    return;
  }
  const bool brain = dtype == "BF16";
  for (size_t i = 0; i < to.size(); ++i) {
    const auto bits = load_as<uint16_t>(from + 2 * i);
    to[i] = brain ? bf16_to_float(bits) : half_to_float(bits);
  }
}

void change_values(Change change, std::span<float> values) {
  if (change == Change::add_one) {
    for (float& value : values) value += 1.0F;
  } else if (change == Change::negative_exp) {
    // In double, so that the result is the float nearest to the true one.
    for (float& value : values) value = static_cast<float>(-std::exp(static_cast<double>(value)));
  }
}

/// A checkpoint's block has values 2i and 2i + 1 in byte i; a file's has the scale first, and values i and i + 16.
void repack_mxfp4(const std::byte* codes, std::byte scale, std::byte* block) {
  block[0] = scale;
  const auto code = [&](size_t value) { return codes[value / 2] >> (value % 2 * 4) & std::byte{15}; };
  for (size_t i = 0; i < kCodeBytes; ++i) block[1 + i] = code(i) | code(i + kCodeBytes) << 4;
}

}  // namespace

/// A piece of a tensor on its way into the file. Its items are values, or MXFP4 blocks.
struct TensorWriter::Run {
  const PlannedTensor& tensor;
  const Piece& piece;
  const BlockType& type;
  uint64_t width;        // bytes of an item
  uint64_t item_values;  // values of an item
  uint64_t columns;      // items in a row of the file
  bool pass_through;

  uint64_t bytes_of(uint64_t items) const { return items * item_values / type.values * type.bytes; }
  uint64_t items_of(uint64_t bytes) const { return bytes / type.bytes * type.values / item_values; }
  /// Items that are handled together: whole rows and whole units.
  uint64_t chunk() const {
    const uint64_t step = std::max(columns, piece.order.unit), other = std::min(columns, piece.order.unit);
    if (other != 0 && step % other != 0) return piece.size();
    return std::max<uint64_t>(1, kChunkBytes / (step * width)) * step;
  }
};

Status TensorWriter::write(const PlannedTensor& tensor, const BlockType& type, ResumableGguf& out,
                           const std::function<bool()>& go_on) {
  uint64_t start = 0;
  for (const Piece& piece : tensor.pieces) {
    const bool codes = piece.scales != nullptr;
    const uint64_t width = codes ? kCodeBytes : piece.source ? piece.source->width() : sizeof(float);
    const bool same = piece.source && !codes && piece.source->dtype == type.name && piece.change == Change::none;
    const uint64_t item_values = codes ? kCodeValues : 1;
    const Run run{tensor, piece, type, width, item_values, tensor.shape.back() / item_values, same};
    const uint64_t bytes = run.bytes_of(piece.size());
    // Behind the tensor's last byte the place is in the next one.
    const uint64_t place = out.place().bytes;
    if (start + bytes > place) TERRACE_CHECK(write_piece(run, run.items_of(place - start), out, go_on));
    start += bytes;
  }
  return Done{};
}

Status TensorWriter::write_piece(const Run& run, uint64_t done, ResumableGguf& out,
                                 const std::function<bool()>& go_on) {
  TERRACE_CHECK(load(run));
  const uint64_t size = run.piece.size(), chunk = run.chunk();
  while (done < size) {
    const uint64_t count = std::min(chunk, size - done);
    TERRACE_CHECK(fetch(run, done, count));
    if (!run.pass_through) TERRACE_CHECK(convert(run, count));
    TERRACE_CHECK(out.write(run.pass_through ? raw_ : encoded_));
    TERRACE_CHECK(out.mark());
    done += count;
    if (!go_on()) return fail("{}", kInterrupted);
  }
  return Done{};
}

/// Reads a piece whose units are reordered, as a whole.
Status TensorWriter::load(const Run& run) {
  const Piece& piece = run.piece;
  if (!piece.source) return Done{};
  if (piece.scales) {
    scales_.resize(piece.count);
    TERRACE_CHECK(checkpoint_.read(*piece.scales, piece.first, scales_));
  }
  if (piece.order.unit == 0) return Done{};
  whole_.resize(piece.count * run.width);
  return checkpoint_.read(*piece.source, piece.first * run.width, whole_);
}

/// Brings `count` items of the file, from the piece's `first` on, into raw_.
Status TensorWriter::fetch(const Run& run, uint64_t first, uint64_t count) {
  const Piece& piece = run.piece;
  raw_.resize(count * run.width);
  if (!piece.source) {
    std::memcpy(raw_.data(), piece.values.data() + first, raw_.size());
    return Done{};
  }
  if (piece.order.unit == 0) {
    const uint64_t offset = (piece.first + first) * run.width, size = raw_.size();
    const uint64_t rest = (piece.count - first - count) * run.width;
    TERRACE_CHECK(checkpoint_.read(*piece.source, offset, raw_));
    if (rest > 0) checkpoint_.prefetch(*piece.source, offset + size, std::min(rest, size));
  } else {
    const uint64_t bytes = piece.order.unit * run.width;
    for (uint64_t unit = 0; unit < count / piece.order.unit; ++unit) {
      const uint64_t source = piece.order.source(first / piece.order.unit + unit);
      std::memcpy(raw_.data() + unit * bytes, whole_.data() + source * bytes, bytes);
    }
  }
  if (!piece.scales) return Done{};
  // Codes and scales become blocks as the file has them.
  std::vector<std::byte> blocks(count * (kCodeBytes + 1));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t place = first + i, unit = piece.order.unit;
    const uint64_t source = unit == 0 ? place : piece.order.source(place / unit) * unit + place % unit;
    repack_mxfp4(raw_.data() + i * kCodeBytes, scales_[source], blocks.data() + i * (kCodeBytes + 1));
  }
  raw_ = std::move(blocks);
  return Done{};
}

/// Brings raw_ into encoded_, in the file's type.
Status TensorWriter::convert(const Run& run, uint64_t count) {
  if (run.piece.scales) {
    if (&run.type == &format::block_type(TypeCode::mxfp4)) {
      encoded_.swap(raw_);
      return Done{};
    }
    floats_.resize(count * kCodeValues);
    format::decode_values(format::block_type(TypeCode::mxfp4), raw_.data(), floats_.size(), floats_.data());
  } else {
    floats_.resize(count);
    widen(run.piece.source ? run.piece.source->dtype : "F32", raw_.data(), floats_);
  }
  change_values(run.piece.change, floats_);
  encoded_.resize(run.bytes_of(count));
  return encode(run, count);
}

Status TensorWriter::encode(const Run& run, uint64_t count) {
  const uint64_t columns = run.columns * run.item_values, rows = count * run.item_values / columns;
  if (!format::can_hold(run.type, floats_)) {
    return fail(
        "the tensor '{}' has a value that {} cannot hold: infinite, no number, or too large; BF16 and F32 keep it",
        run.tensor.name, run.type.name);
  }
  const uint64_t row_bytes = columns / run.type.values * run.type.bytes;
  team_.for_each(rows, std::max<uint64_t>(1, 65536 / columns), [&](size_t first, size_t last) {
    format::encode_rows(run.type, floats_.data() + first * columns, last - first, columns, {},
                        encoded_.data() + first * row_bytes);
  });
  return Done{};
}

}  // namespace terrace::tools
