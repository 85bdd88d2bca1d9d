// The CPU backend: panels, a thread team, and the kernels of one instruction set.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "base/thread_team.h"
#include "compute/backend.h"
#include "compute/cpu/kernels/kernels.h"

namespace terrace::compute {

/// The instruction sets that this processor can run, best first.
std::vector<const Kernels*> usable_kernels();

struct CpuOptions {
  size_t threads = 0;              ///< 0: one per usable core
  std::string isa = "auto";        ///< auto, scalar, avx2, avxvnni, avx512, avx512vnni
  bool float_activations = false;  ///< the reference numeric profile: activations are not rounded to 8-bit codes
};

/// Memory for matrices. Small ones share slabs of huge pages: a model of many small matrices would otherwise lie in
/// tens of thousands of small pages, each of which costs a fault when loading and an address translation per token.
class WeightMemory {
 public:
  std::shared_ptr<std::byte> allocate(size_t bytes);

 private:
  std::shared_ptr<Buffer> slab_;
  size_t used_ = 0;       // of the slab
  size_t all_slabs_ = 0;  // bytes
};

/// A matrix as panels of 16 rows.
class CpuMatrix : public Matrix {
 public:
  CpuMatrix(const MatrixView& view, size_t panel_bytes, const BlockKernels* block_kernels, WeightMemory& memory)
      : kernels(block_kernels),
        type_(view.type),
        rows_(view.rows),
        inputs_(view.inputs),
        panel_bytes_(panel_bytes),
        data_(memory.allocate(panels() * panel_bytes)) {}
  uint32_t type() const override { return type_; }
  size_t rows() const override { return rows_; }
  size_t inputs() const override { return inputs_; }
  size_t panels() const { return (rows_ + kPanel - 1) / kPanel; }
  std::byte* panel(size_t index) const { return data_.get() + index * panel_bytes_; }
  size_t panel_bytes() const { return panel_bytes_; }
  const BlockKernels* const kernels;

 private:
  uint32_t type_;
  size_t rows_, inputs_, panel_bytes_;
  std::shared_ptr<std::byte> data_;
};

struct QueryRun;

class CpuBackend : public Backend {
 public:
  /// An error when the instruction set is unknown or this processor lacks it.
  static Result<std::unique_ptr<CpuBackend>> create(const CpuOptions& options);

  std::unique_ptr<Matrix> place(const MatrixView& view) override;
  void embed(const Matrix& table, std::span<const int32_t> tokens, float scale, Rows out) override;
  void normalize(Rows x, const Norm& norm, Rows out) override;
  void add(Rows x, const std::optional<Norm>& norm, float scale, Rows out) override;
  void scale(float factor, Rows x) override;
  void linear(Rows x, const std::optional<Norm>& norm, std::span<const Linear> outputs) override;
  void gated_linear(Rows x, const std::optional<Norm>& norm, const Matrix& gate, const Matrix& up,
                    GateFunction function, Rows out) override;
  void gate(GateFunction function, Rows gates, Rows x, Rows out) override;
  void turns(const Rope& rope, std::span<const RowSpan> spans, Rows out) override;
  void attention(const Attention& attention, std::span<const RowSpan> spans) override;
  void route(Rows scores, const Router& router, Rows shared, const Routes& routes) override;
  void experts(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts, GateFunction function,
               const Routes& routes, float scale, bool accumulate, Rows out) override;
  void convolution(const Convolution& convolution, std::span<const RowSpan> spans) override;
  void delta_rule(const DeltaRule& rule, std::span<const RowSpan> spans) override;
  void state_space(const StateSpace& space, std::span<const RowSpan> spans) override;
  void select_blocks(const BlockIndex& index, std::span<const RowSpan> spans, const Selection& selection) override;
  void mix_streams(Rows streams, const Norm& norm, Rows mix, Rows out) override;
  void inject(Rows x, Rows amounts, float scale, Rows streams) override;
  void gate_streams(Rows keys, const Norm& key_norm, Rows streams, const Norm& stream_norm, Rows values,
                    Rows out) override;
  std::string_view instruction_set() const override { return kernels_->name; }
  size_t threads() const override { return team_.size(); }

  /// Bytes per second that the team reads of `data`: the best of several ways to read (streams, prefetch distances).
  double measure_read(std::span<const std::byte> data);
  /// Integer multiplications and additions per second in dot products of registers.
  double measure_integer();

 private:
  CpuBackend(const CpuOptions& options, const Kernels* kernels, size_t threads);

  /// Input rows as the kernels take them, in the forms that a call's matrices need.
  struct Input {
    const float* floats = nullptr;
    size_t float_stride = 0;
    const ActivationBlock* codes = nullptr;
    size_t blocks = 0;  ///< per row, and the stride between rows
  };
  /// What of an Input a call needs: both for a group with float and with quantised matrices.
  struct Needs {
    bool floats = false;
    bool codes = false;
  };
  Needs needs_of(const Matrix& matrix) const;
  size_t input_bytes(size_t rows, size_t width, const std::optional<Norm>& norm, Needs needs) const;
  Input prepare_rows(Rows x, size_t first, size_t last, const std::optional<Norm>& norm, Needs needs,
                     std::byte* scratch) const;
  /// Prepares x, then calls work(input, first, last) on pieces of 0..count, all on the team.
  void with_input(Rows x, const std::optional<Norm>& norm, Needs needs, size_t count, size_t grain,
                  FunctionRef<void(size_t member, const Input&, size_t, size_t)> work);
  void normalize_row(const float* x, size_t width, const Norm& norm, float* out) const;
  void finish_tile(const Linear& output, size_t panel, size_t row, size_t rows, float* tile) const;
  void multiply(const CpuMatrix& matrix, size_t panel, const Input& input, size_t first_row, size_t rows,
                float* tile) const;
  size_t panel_grain(size_t panels, size_t panel_bytes, size_t rows) const;

  /// The rows of one expert: places first..first + count in the order by expert.
  struct ExpertGroup {
    size_t expert, first, count;
  };
  /// A piece of work: some panels of one expert.
  struct ExpertPiece {
    size_t group, first_panel, last_panel;
  };
  void choose_experts(const float* scores, size_t count, const Router& router, int32_t* chosen, float* weights,
                      float* scratch) const;
  void group_by_expert(const Routes& routes, size_t experts);
  void cut_experts(std::span<const Expert> experts, const Matrix* Expert::* matrix, size_t matrices);
  Input rows_of_group(const Input& input, size_t first, size_t count, Needs needs, size_t width,
                      std::byte* scratch) const;
  void gate_and_up(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts, GateFunction function,
                   Rows hidden);
  void down(Rows hidden, std::span<const Expert> experts, Rows out);

  void rotate_and_store(const Attention& attention, std::span<const RowSpan> spans);
  bool worth_splitting(const Attention& attention, std::span<const QueryRun> runs) const;
  void attend_in_parts(const Attention& attention, std::span<const QueryRun> runs);
  void attend(const Attention& attention, std::span<const RowSpan> spans);
  void attend_selected(const Attention& attention, std::span<const RowSpan> spans);
  void index_keys(const BlockIndex& index, const RowSpan& span);
  void select_for_row(const BlockIndex& index, const RowSpan& span, size_t r, const Selection& selection,
                      std::byte* scratch);

  const Kernels* kernels_;
  bool float_activations_;
  ThreadTeam team_;
  WeightMemory weights_;
  std::vector<Buffer> scratch_;   // one per member, for inputs that each member prepares for itself
  Buffer shared_scratch_;         // for inputs that the team prepares together
  std::vector<Buffer> gathered_;  // one per member, for rows of one expert
  // The expert stage: rows in the order by expert, and what its two products yield.
  std::vector<ExpertGroup> groups_;
  std::vector<ExpertPiece> pieces_;
  std::vector<int32_t> group_rows_;  // place -> row
  std::vector<int32_t> places_;      // row * used + i -> place
  Buffer hidden_, expert_outputs_;
};

}  // namespace terrace::compute
