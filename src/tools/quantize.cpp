#include "tools/quantize.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>

#include "base/cpu.h"
#include "base/thread_team.h"
#include "format/encode.h"
#include "tools/importance.h"
#include "tools/mixes.h"
#include "tools/residual_readers.h"
#include "tools/resumable_gguf.h"

namespace terrace::tools {
namespace {

using format::BlockType;
using format::GgufTensor;

/// Floats in flight per thread: small enough for its cache.
constexpr size_t kPieceValues = size_t{1} << 16;

/// What other programs find when they ask why they cannot read a file.
constexpr const char* kOwnTypes =
    "This file has tensors of types 0x5452nnnn, which are Terrace's own: other programs have to refuse it. Quantise "
    "the "
    "original to a public type for them.";

bool is_float_type(const BlockType& type) { return type.values == 1; }

/// How the columns of one tensor weigh.
struct TensorWeights {
  std::vector<float> importance;  ///< [matrices][columns]
  std::vector<float> directions;  ///< [columns][kDirections] of a single matrix, or empty
  std::vector<float> moments;     ///< [columns][columns] of a single matrix, or empty
};

/// Everything the work needs to know. All but how the embedding weighs is found before any weight is read.
struct Work {
  format::GgufFile file;
  const Mix* mix = nullptr;
  TypeRules rules;
  std::map<std::string, TensorWeights> weights;
  std::vector<const BlockType*> types;  // of the output's tensors
  QuantizeReport report;
};

Status load_importances(const std::string& path, Work& work) {
  if (path.empty()) return Done{};
  TERRACE_TRY(ImportanceFile loaded, load_importance(path));
  // One after the other, so that sketches do not stay beside the directions found from them.
  for (; !loaded.tensors.empty(); loaded.tensors.erase(loaded.tensors.begin())) {
    const auto& [name, sums] = *loaded.tensors.begin();
    const GgufTensor* tensor = work.file.find(name);
    if (!tensor) continue;  // of another part of the same model, such as its draft head's file
    const uint64_t matrices = tensor->shape.size() > 2 ? tensor->shape[2] : 1;
    if (sums.columns != tensor->shape[0] || sums.counts.size() != matrices)
      return fail("{}: '{}' has the importance of {} matrices of {} columns, but the model's tensor has {} of {}", path,
                  name, sums.counts.size(), sums.columns, matrices, tensor->shape[0]);
    work.weights.emplace(name, TensorWeights{column_importance(sums), column_directions(sums), {}});
  }
  if (work.weights.empty()) return fail("{} is about no tensor of this model", path);
  return Done{};
}

Status check_source(const QuantizeOptions& options, const GgufTensor& tensor, const BlockType& to) {
  const BlockType* from = format::find_block_type(tensor.type);
  if (from == &to) return Done{};
  if (!from || !from->codec)
    return fail("{}: tensor '{}' has type {}, which cannot be read", options.in, tensor.name,
                from ? from->name : std::to_string(tensor.type));
  if (!to.codec->encode) return fail("tensor '{}' would become {}, which Terrace does not make", tensor.name, to.name);
  if (!is_float_type(*from) && !options.from_quantized)
    return fail(
        "{}: tensor '{}' is already quantised ({}); quantising it again costs quality, so start from an F32, F16 or "
        "BF16 file, or say --allow-requantize",
        options.in, tensor.name, from->name);
  return Done{};
}

Result<Work> prepare(const QuantizeOptions& options) {
  const Mix* mix = find_mix(options.mix);
  if (!mix) return fail("the type '{}' is unknown; these are: {}", options.mix, mix_names());
  TERRACE_TRY(auto file, format::GgufFile::open(options.in));
  TERRACE_TRY(auto rules, TypeRules::parse(options.rules));
  Work work{std::move(file), mix, std::move(rules), {}, {}, {}};
  TERRACE_CHECK(load_importances(options.importance, work));
  TypeChooser chooser(work.file, *mix, work.rules, !work.weights.empty(), options.pure);
  for (const GgufTensor& tensor : work.file.tensors()) {
    const TypeChooser::Choice choice = chooser.choose(tensor);
    if (!choice.type) return fail("{}: tensor '{}' has the unknown type {}", options.in, tensor.name, tensor.type);
    TERRACE_CHECK(check_source(options, tensor, *choice.type));
    work.types.push_back(choice.type);
    work.report.tensors.push_back({tensor.name, std::string(format::find_block_type(tensor.type)->name),
                                   std::string(choice.type->name), tensor.data.size(),
                                   tensor.elements() / choice.type->values * choice.type->bytes, tensor.elements(),
                                   choice.fallback, work.weights.contains(tensor.name)});
  }
  return work;
}

/// The metadata of the output; `file` of `files`.
format::GgufMetadata metadata_of(const Work& work, const QuantizeOptions& options, size_t file, size_t files) {
  format::GgufMetadata metadata;
  if (file == 0) {
    for (const format::GgufEntry& entry : work.file.metadata().entries())
      if (!entry.key.starts_with("split.")) metadata.set(entry);
    metadata.set("general.quantization_version", format::kQuantizationVersion);
    metadata.set("general.file_type", work.mix->file_type);
    if (std::any_of(work.types.begin(), work.types.end(),
                    [](const BlockType* type) { return format::is_own_type(type->code); }))
      metadata.set("terrace.block_types", kOwnTypes);
    const auto known = std::count_if(work.report.tensors.begin(), work.report.tensors.end(),
                                     [](const TensorChange& tensor) { return tensor.important; });
    if (known > 0) {
      metadata.set("quantize.imatrix.file", std::filesystem::path(options.importance).filename().string());
      metadata.set({"quantize.imatrix.entries_count", format::GgufType::u32, static_cast<uint64_t>(known)});
    }
  }
  if (files > 1) {
    metadata.set({"split.no", format::GgufType::u16, uint64_t{file}});
    metadata.set({"split.count", format::GgufType::u16, uint64_t{files}});
    metadata.set({"split.tensors.count", format::GgufType::i32, static_cast<int64_t>(work.types.size())});
  }
  return metadata;
}

/// The tensors of each output file, as indices.
std::vector<std::vector<size_t>> share_out(const Work& work, bool keep_split) {
  std::vector<std::vector<size_t>> files;
  std::string last;
  for (size_t i = 0; i < work.types.size(); ++i) {
    const std::string path = keep_split ? work.file.location(work.file.tensors()[i]).path : "";
    if (files.empty() || path != last) files.emplace_back();
    files.back().push_back(i);
    last = path;
  }
  return files;
}

/// "model.gguf" and "model" become "model-00001-of-00003.gguf".
std::string shard_path(const std::string& path, size_t file, size_t files) {
  if (files == 1) return path;
  const std::string stem = path.ends_with(".gguf") ? path.substr(0, path.size() - 5) : path;
  return fmt::format("{}-{:05}-of-{:05}.gguf", stem, file + 1, files);
}

/// Encodes tensors piece by piece with all threads.
class Encoder {
 public:
  Encoder(const Work& work, ThreadTeam& team) : work_(work), team_(team) {}

  /// Rows first..last of a tensor.
  Result<std::span<const std::byte>> encode(size_t index, uint64_t first, uint64_t last) {
    const GgufTensor& tensor = work_.file.tensors()[index];
    const BlockType &from = *format::find_block_type(tensor.type), &to = *work_.types[index];
    const size_t columns = tensor.shape[0];
    const size_t in_row = columns / from.values * from.bytes, out_row = columns / to.values * to.bytes;
    if (&from == &to) return tensor.data.subspan(first * in_row, (last - first) * in_row);
    out_.resize((last - first) * out_row);
    const uint64_t rows_per_matrix = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
    std::atomic<uint64_t> bad{UINT64_MAX};
    team_.for_each(last - first, std::max<size_t>(1, kPieceValues / columns / 4), [&](size_t from_row, size_t to_row) {
      std::vector<float> values;
      // Rows of one matrix at a time.
      for (size_t row = from_row, end = row; row < to_row; row = end) {
        const uint64_t at = first + row, matrix = at / rows_per_matrix;
        end = std::min<uint64_t>(to_row, (matrix + 1) * rows_per_matrix - first);
        values.resize((end - row) * columns);
        format::decode_values(from, tensor.data.data() + at * in_row, values.size(), values.data());
        for (size_t r = row; r < end; ++r)
          if (!format::can_hold(to, std::span(values).subspan((r - row) * columns, columns))) bad = first + r;
        format::encode_rows(to, values.data(), end - row, columns, weights_of(tensor, matrix),
                            out_.data() + row * out_row);
      }
    });
    if (bad != UINT64_MAX)
      return fail("tensor '{}' has a value in row {} that {} cannot hold: infinite, no number, or too large",
                  tensor.name, bad.load(), to.name);
    work_.file.release(tensor.data.subspan(first * in_row, (last - first) * in_row));
    return std::span<const std::byte>(out_);
  }

  /// Rows that all threads together encode at a time.
  uint64_t rows_at_once(const GgufTensor& tensor) const {
    return std::max<uint64_t>(1, kPieceValues * team_.size() * 8 / tensor.shape[0]);
  }

 private:
  format::ColumnWeights weights_of(const GgufTensor& tensor, uint64_t matrix) const {
    const auto found = work_.weights.find(tensor.name);
    if (found == work_.weights.end()) return {};
    const TensorWeights& weights = found->second;
    const auto importance = std::span(weights.importance).subspan(matrix * tensor.shape[0], tensor.shape[0]);
    return {importance, {weights.directions, importance, weights.moments}};
  }

  const Work& work_;
  ThreadTeam& team_;
  std::vector<std::byte> out_;
};

/// Writes one output file up to its end, or as far as the progress lets it.
Status write_file(const Work& work, const std::vector<size_t>& tensors, Encoder& encoder, ResumableGguf& out,
                  uint64_t& done, uint64_t total, const Progress& progress) {
  const ResumableGguf::Place start = out.place();
  for (size_t i = start.tensor; i < tensors.size(); ++i) {
    const GgufTensor& tensor = work.file.tensors()[tensors[i]];
    const uint64_t rows = tensor.shape[0] == 0 ? 0 : tensor.elements() / tensor.shape[0];
    const uint64_t row_bytes = rows == 0 ? 0 : out.size_of(i) / rows;
    uint64_t row = i == start.tensor && row_bytes > 0 ? start.bytes / row_bytes : 0;
    while (row < rows) {
      const uint64_t last = std::min(rows, row + encoder.rows_at_once(tensor));
      TERRACE_TRY(const auto bytes, encoder.encode(tensors[i], row, last));
      TERRACE_CHECK(out.write(bytes));
      TERRACE_CHECK(out.mark());
      row = last;
      if (!progress(done + out.done(), total, tensor.name)) return fail("{}", kInterrupted);
    }
  }
  done += out.total();
  return Done{};
}

/// The input's files.
std::set<std::string> inputs_of(const Work& work) {
  std::set<std::string> paths;
  for (const GgufTensor& tensor : work.file.tensors()) paths.insert(work.file.location(tensor).path);
  return paths;
}

std::string fingerprint_of(const QuantizeOptions& options, const Work& work) {
  std::string text =
      fmt::format("quantize 2, {}, pure {}, rules '{}'", work.mix->name, options.pure, fmt::join(options.rules, "' '"));
  for (const std::string& path : inputs_of(work)) text += file_stamp(path);
  return text + "\nimportance" + file_stamp(options.importance);
}

/// One writer per output file, none of which may be a file of the input.
Result<std::vector<ResumableGguf>> open_outputs(Work& work, const QuantizeOptions& options,
                                                const std::vector<std::vector<size_t>>& files) {
  std::vector<ResumableGguf> outputs;
  for (size_t f = 0; f < files.size(); ++f) {
    const std::string path = shard_path(options.out, f, files.size());
    std::error_code missing;
    for (const std::string& input : inputs_of(work))
      if (std::filesystem::equivalent(input, path, missing))
        return fail("{} is the input; write to another file", path);
    std::vector<GgufTensor> tensors;
    for (const size_t i : files[f])
      tensors.push_back({work.file.tensors()[i].name, work.types[i]->code, work.file.tensors()[i].shape});
    TERRACE_TRY(auto out, ResumableGguf::open(path, metadata_of(work, options, f, files.size()), tensors,
                                              fingerprint_of(options, work)));
    work.report.files.push_back(path);
    outputs.push_back(std::move(out));
  }
  return outputs;
}

/// Weighs the embedding of tokens, unless it is the head as well or stays as precise as it is: what is read from its
/// rows goes to the residual stream.
Status weigh_embedding(Work& work, ThreadTeam& team, uint64_t total, const Progress& progress) {
  constexpr std::string_view kName = "token_embd.weight";
  const GgufTensor* embedding = work.file.find(kName);
  if (!embedding || !work.file.find("output.weight")) return Done{};
  const BlockType& to = *work.types[static_cast<size_t>(embedding - work.file.tensors().data())];
  if (is_float_type(to) || to.code == embedding->type) return Done{};
  const size_t columns = embedding->shape[0];
  const auto go_on = [&] { return progress(work.report.kept, total, kName); };
  TERRACE_TRY(auto moments, moments_of_readers(work.file, columns, team, go_on));
  if (moments.empty()) return Done{};
  TensorWeights weights;
  for (size_t i = 0; i < columns; ++i) weights.importance.push_back(moments[i * columns + i]);
  weights.moments = std::move(moments);
  work.weights.insert_or_assign(embedding->name, std::move(weights));
  return Done{};
}

/// Writes all output files as far as the progress lets it.
Status write_files(Work& work, const std::vector<std::vector<size_t>>& files, std::vector<ResumableGguf>& outputs,
                   size_t threads, const Progress& progress) {
  uint64_t done = 0, total = 0;
  for (const ResumableGguf& out : outputs) total += out.total();
  const std::vector<int> cores = usable_cores();
  ThreadTeam team(threads == 0 ? cores.size() : threads, cores);
  TERRACE_CHECK(weigh_embedding(work, team, total, progress));
  Encoder encoder(work, team);
  for (size_t f = 0; f < files.size(); ++f)
    TERRACE_CHECK(write_file(work, files[f], encoder, outputs[f], done, total, progress));
  return Done{};
}

}  // namespace

Result<QuantizeReport> plan_quantize(const QuantizeOptions& options) {
  TERRACE_TRY(Work work, prepare(options));
  return std::move(work.report);
}

Result<QuantizeReport> quantize(const QuantizeOptions& options, const Progress& progress) {
  TERRACE_TRY(Work work, prepare(options));
  const auto files = share_out(work, options.keep_split);
  TERRACE_TRY(auto outputs, open_outputs(work, options, files));
  for (const ResumableGguf& out : outputs) work.report.kept += out.kept();
  const Status status = write_files(work, files, outputs, options.threads, progress);
  if (!status && status.error().message == kInterrupted)
    for (ResumableGguf& out : outputs) TERRACE_CHECK(out.keep());
  TERRACE_CHECK(status);
  // None appears before all are complete.
  for (ResumableGguf& out : outputs) TERRACE_CHECK(out.finish());
  return std::move(work.report);
}

}  // namespace terrace::tools
