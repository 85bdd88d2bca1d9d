#include "memory/row_table.h"

#include <vector>

#include "format/block_type.h"

namespace terrace::memory {
namespace {

class DiskTable : public RowTable {
 public:
  DiskTable(RandomFile file, uint64_t offset, const format::BlockType& type, uint64_t rows, size_t width)
      : file_(std::move(file)),
        offset_(offset),
        type_(type),
        rows_(rows),
        width_(width),
        row_(width / type.values * type.bytes) {}

  uint64_t rows() const override { return rows_; }
  size_t width() const override { return width_; }

  void prefetch(std::span<const uint64_t> rows) override {
    for (const uint64_t row : rows) file_.prefetch(offset_ + row * row_.size(), row_.size());
  }

  Status read(std::span<const uint64_t> rows, float* out) override {
    for (const uint64_t row : rows) {
      TERRACE_CHECK(file_.read(offset_ + row * row_.size(), row_));
      for (size_t i = 0; i < row_.size(); i += type_.bytes, out += type_.values) type_.codec->decode(&row_[i], out);
    }
    return Done{};
  }

 private:
  RandomFile file_;
  uint64_t offset_;
  const format::BlockType& type_;
  uint64_t rows_;
  size_t width_;
  std::vector<std::byte> row_;
};

}  // namespace

Result<std::unique_ptr<RowTable>> open_disk_table(const format::GgufFile& file, const format::GgufTensor& tensor) {
  const format::BlockType& type = *format::find_block_type(tensor.type);
  if (!type.codec || tensor.shape.size() != 2)
    return fail("the tensor '{}' of type {} cannot be read row by row", tensor.name, type.name);
  const auto [path, offset] = file.location(tensor);
  TERRACE_TRY(auto random, RandomFile::open(path));
  return std::unique_ptr<RowTable>(
      std::make_unique<DiskTable>(std::move(random), offset, type, tensor.shape[1], tensor.shape[0]));
}

}  // namespace terrace::memory
