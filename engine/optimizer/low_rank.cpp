// GaLore (Zhao et al. 2024, arXiv:2403.03507) and APOLLO (Zhu et al. 2024, arXiv:2412.05270): the moments of a matrix
// of m x n live in a subspace of rank r of its shorter side. The step listed is one that renews the subspace, every
// update_proj_gap-th (200 by default) and the first: the largest.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* galore_source = "jiaweizzhao/GaLore galore_torch/adamw.py: AdamW.step";
constexpr const char* galore_projector_source = "jiaweizzhao/GaLore galore_torch/galore_projector.py: GaLoreProjector";
constexpr const char* apollo_source = "zhuhanqing/APOLLO apollo_torch/apollo.py: AdamW.step";
constexpr const char* apollo_projector_source =
    "zhuhanqing/APOLLO apollo_torch/random_projector.py: GradientProjector.get_orthogonal_matrix";

constexpr const char* first_moment = "running mean of the gradient";
constexpr const char* second_moment = "running mean of the squared gradient";
constexpr const char* first_projected = "running mean of the projected gradient";
constexpr const char* second_projected = "running mean of the squared projected gradient";

// Their AdamW of parameters that are not projected: the moments follow the gradient.
constexpr StateLine galore_other_states[] = {
    {"first moment", Extent::full, Format::gradient, Only::all, {"exp_avg", first_moment, galore_source}},
    {"second moment", Extent::full, Format::gradient, Only::all, {"exp_avg_sq", second_moment, galore_source}},
};
constexpr StateLine apollo_other_states[] = {
    {"first moment", Extent::full, Format::gradient, Only::all, {"exp_avg", first_moment, apollo_source}},
    {"second moment", Extent::full, Format::gradient, Only::all, {"exp_avg_sq", second_moment, apollo_source}},
};
constexpr StateLine galore_states[] = {
    {"projector",
     Extent::projector,
     Format::gradient,
     Only::half_gradients,
     {"ortho_matrix", "the first singular vectors", galore_projector_source}},
    {"projector",
     Extent::gram,
     Format::float32,
     Only::single_gradients,
     {"ortho_matrix", "all singular vectors of the shorter side, for a slice holds what it is of",
      galore_projector_source}},
    {"first moment", Extent::projected, Format::gradient, Only::all, {"exp_avg", first_projected, galore_source}},
    {"second moment", Extent::projected, Format::gradient, Only::all, {"exp_avg_sq", second_projected, galore_source}},
};
constexpr StateLine apollo_states[] = {
    {"projector",
     Extent::projector,
     Format::gradient,
     Only::all,
     {"ortho_matrix", "a random matrix", apollo_projector_source}},
    {"first moment", Extent::projected, Format::gradient, Only::all, {"exp_avg", first_projected, apollo_source}},
    {"second moment", Extent::projected, Format::gradient, Only::all, {"exp_avg_sq", second_projected, apollo_source}},
    {"norm of the update",
     Extent::scalar,
     Format::gradient,
     Only::all,
     {"scaled_grad", "limits how fast updates grow", apollo_source}},
};

// Slots: 0 grad, 1 denom, 2 norm_grad, 3 to 7 of the expressions.
constexpr Rule root{"sqrt", "square roots of the second moments", galore_source};
constexpr Rule quotient{"div", "first moment over the denominator", galore_source};
constexpr StepLine other_lines[] = {
    drop(0),
    make(1, Extent::full, Format::gradient, Only::all, root),
    make(2, Extent::full, Format::gradient, Only::all, quotient),
};
constexpr StepLine galore_lines[] = {
    drop(0),
    make(3, Extent::full, Format::float32, Only::half_gradients,
         {"_to_copy", "fp32 copy of the gradient", galore_projector_source}),
    make(4, Extent::full, Format::float32, Only::all,
         {"linalg_svd", "singular vectors of the longer side", galore_projector_source}),
    make(5, Extent::shorter, Format::float32, Only::all, {"linalg_svd", "singular values", galore_projector_source}),
    make(6, Extent::gram, Format::float32, Only::all,
         {"linalg_svd", "singular vectors of the shorter side", galore_projector_source}),
    make(7, Extent::projector, Format::gradient, Only::half_gradients,
         {"_to_copy", "the projector in the gradient's format", galore_projector_source}),
    drop(3),
    drop(4),
    drop(5),
    drop(6),
    drop(7),
    make(0, Extent::projected, Format::gradient, Only::all, {"matmul", "projected gradient", galore_projector_source}),
    make(1, Extent::projected, Format::gradient, Only::all, root),
    make(2, Extent::projected, Format::gradient, Only::all, quotient),
    make(3, Extent::full, Format::gradient, Only::all,
         {"matmul", "the update, projected back", galore_projector_source}),
    make(4, Extent::full, Format::gradient, Only::all, {"mul", "the update, scaled", galore_projector_source}),
    drop(3),
    move(2, 4),
};

// APOLLO's slots: 3 scaled_grad, 4 grad_scaling_factor, 8 scaled_grad_norm, 5 to 7 of the expressions. At last
// norm_grad is scaled_grad.
constexpr Rule norms{"norm", "norms of rows or columns", apollo_source};
constexpr Rule ratio{"div", "scaling factors of rows or columns", apollo_source};
constexpr StepLine apollo_lines[] = {
    drop(0),
    make(5, Extent::full, Format::float32, Only::half_gradients,
         {"_to_copy", "fp32 copy of the gradient", apollo_projector_source}),
    make(6, Extent::projector, Format::float32, Only::all, {"randn", "random matrix", apollo_projector_source}),
    make(7, Extent::projector, Format::float32, Only::all, {"div", "random matrix, scaled", apollo_projector_source}),
    drop(6),
    make(6, Extent::projector, Format::gradient, Only::half_gradients,
         {"_to_copy", "the projector in the gradient's format", apollo_projector_source}),
    drop(7),
    drop(5),
    drop(6),
    make(0, Extent::projected, Format::gradient, Only::all, {"matmul", "projected gradient", apollo_projector_source}),
    make(1, Extent::projected, Format::gradient, Only::all, root),
    make(2, Extent::projected, Format::gradient, Only::all, quotient),
    make(5, Extent::longer, Format::gradient, Only::all, norms),
    make(6, Extent::longer, Format::gradient, Only::all, norms),
    make(7, Extent::longer, Format::gradient, Only::all, norms),
    drop(6),
    make(4, Extent::longer, Format::gradient, Only::all, ratio),
    drop(5),
    drop(7),
    make(3, Extent::full, Format::gradient, Only::all, {"mul", "scaled gradient", apollo_source}),
    make(8, Extent::scalar, Format::gradient, Only::all, {"norm", "norm of the scaled gradient", apollo_source}),
    make(3, Extent::full, Format::gradient, Only::all, {"div", "scaled gradient, limited", apollo_source}),
    drop(2),
};

}  // namespace

OptimizerTables low_rank_tables(OptimizerPart part) {
  const bool projected = part.members == Members::hidden_matrices;
  if (part.optimizer == Optimizer::galore)
    return projected ? OptimizerTables{galore_states, galore_lines} : OptimizerTables{galore_other_states, other_lines};
  return projected ? OptimizerTables{apollo_states, apollo_lines} : OptimizerTables{apollo_other_states, other_lines};
}

}  // namespace trainmem
