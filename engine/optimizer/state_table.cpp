// What each optimizer keeps for a parameter between steps. Every line is one statement of the source it names.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* adam_source = "pytorch torch/optim/adam.py: _init_group, zeros_like(p)";
constexpr Rule first_moment{"exp_avg", "running mean of the gradient, kept between steps", adam_source};
constexpr Rule second_moment{"exp_avg_sq", "running mean of the squared gradient, kept between steps", adam_source};
constexpr Rule largest_second_moment{"max_exp_avg_sq", "largest second moment so far (amsgrad)", adam_source};
constexpr Rule device_step{"step", "step counter; on the device if the step is fused",
                           "pytorch torch/optim/adam.py: _init_group, capturable or fused"};

constexpr StateLine adam_states[] = {
    {"first moment", Extent::full, Format::state, Only::all, first_moment},
    {"second moment", Extent::full, Format::state, Only::all, second_moment},
};
constexpr StateLine fused_adam_states[] = {
    {"step counter", Extent::scalar, Format::float32, Only::all, device_step},
    {"first moment", Extent::full, Format::state, Only::all, first_moment},
    {"second moment", Extent::full, Format::state, Only::all, second_moment},
};
constexpr StateLine amsgrad_states[] = {
    {"first moment", Extent::full, Format::state, Only::all, first_moment},
    {"second moment", Extent::full, Format::state, Only::all, second_moment},
    {"largest second moment", Extent::full, Format::state, Only::all, largest_second_moment},
};
constexpr StateLine fused_amsgrad_states[] = {
    {"step counter", Extent::scalar, Format::float32, Only::all, device_step},
    {"first moment", Extent::full, Format::state, Only::all, first_moment},
    {"second moment", Extent::full, Format::state, Only::all, second_moment},
    {"largest second moment", Extent::full, Format::state, Only::all, largest_second_moment},
};
constexpr StateLine momentum_states[] = {
    {"momentum",
     Extent::gradient,
     Format::gradient,
     Only::all,
     {"momentum_buffer", "running sum of gradients; the first step clones the gradient",
      "pytorch torch/optim/sgd.py: torch.clone(grad)"}},
};
constexpr StateLine adagrad_states[] = {
    {"sum of squares",
     Extent::full,
     Format::state,
     Only::all,
     {"sum", "sum of squared gradients, made with the optimizer", "pytorch torch/optim/adagrad.py: full_like(p)"}},
};
constexpr StateLine rmsprop_states[] = {
    {"mean of squares",
     Extent::full,
     Format::state,
     Only::all,
     {"square_avg", "running mean of squared gradients", "pytorch torch/optim/rmsprop.py: zeros_like(p)"}},
};
constexpr StateLine adamax_states[] = {
    {"first moment",
     Extent::full,
     Format::state,
     Only::all,
     {"exp_avg", "running mean of the gradient", "pytorch torch/optim/adamax.py: zeros_like(p)"}},
    {"infinity norm",
     Extent::full,
     Format::state,
     Only::all,
     {"exp_inf", "decayed largest absolute gradient", "pytorch torch/optim/adamax.py: zeros_like(p)"}},
};
constexpr StateLine adadelta_states[] = {
    {"mean of squares",
     Extent::full,
     Format::state,
     Only::all,
     {"square_avg", "running mean of squared gradients", "pytorch torch/optim/adadelta.py: zeros_like(p)"}},
    {"mean of squared updates",
     Extent::full,
     Format::state,
     Only::all,
     {"acc_delta", "running mean of squared updates", "pytorch torch/optim/adadelta.py: zeros_like(p)"}},
};
constexpr const char* adafactor_source = "pytorch torch/optim/_adafactor.py: _init_group, p.grad.new_zeros";
constexpr StateLine adafactor_states[] = {
    {"row factor",
     Extent::rows,
     Format::gradient,
     Only::matrices,
     {"row_var", "second moment by rows", adafactor_source}},
    {"column factor",
     Extent::columns,
     Format::gradient,
     Only::matrices,
     {"col_var", "second moment by columns", adafactor_source}},
    {"second moment",
     Extent::full,
     Format::gradient,
     Only::vectors,
     {"variance", "second moment of a vector, not factored", adafactor_source}},
};
constexpr const char* adafactor_hf_source = "transformers src/transformers/optimization.py: Adafactor.step";
constexpr StateLine adafactor_hf_states[] = {
    {"row factor",
     Extent::rows,
     Format::float32,
     Only::matrices,
     {"exp_avg_sq_row", "second moment by rows, in fp32", adafactor_hf_source}},
    {"column factor",
     Extent::columns,
     Format::float32,
     Only::matrices,
     {"exp_avg_sq_col", "second moment by columns, in fp32", adafactor_hf_source}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::vectors,
     {"exp_avg_sq", "second moment of a vector, in fp32", adafactor_hf_source}},
    {"parameter size",
     Extent::scalar,
     Format::float32,
     Only::all,
     {"RMS", "root mean square of the parameter, scales the step", adafactor_hf_source}},
};
constexpr StateLine lion_states[] = {
    {"first moment",
     Extent::full,
     Format::state,
     Only::all,
     {"exp_avg", "running mean of the gradient",
      "lucidrains/lion-pytorch lion_pytorch/lion_pytorch.py: zeros_like(p)"}},
};
constexpr StateLine muon_states[] = {
    {"momentum",
     Extent::full,
     Format::gradient,
     Only::matrices,
     {"momentum_buffer", "running mean of the gradient of a matrix",
      "pytorch torch/optim/_muon.py: zeros_like(p.grad); two-dimensional parameters only"}},
};
}  // namespace

std::span<const StateLine> state_table(Optimizer optimizer, OptimizerImplementation how) {
  const bool fused = how == OptimizerImplementation::fused;
  switch (optimizer) {
    case Optimizer::adamw: return fused ? std::span<const StateLine>(fused_adam_states) : adam_states;
    case Optimizer::adamw_amsgrad: return fused ? std::span<const StateLine>(fused_amsgrad_states) : amsgrad_states;
    case Optimizer::nadam:
    case Optimizer::radam: return adam_states;
    case Optimizer::adamax: return adamax_states;
    case Optimizer::adadelta: return adadelta_states;
    case Optimizer::sgd_momentum: return momentum_states;
    case Optimizer::adafactor: return adafactor_states;
    case Optimizer::adafactor_hf: return adafactor_hf_states;
    case Optimizer::adagrad: return adagrad_states;
    case Optimizer::rmsprop: return rmsprop_states;
    case Optimizer::lion: return lion_states;
    case Optimizer::muon: return muon_states;
    default: return {};
  }
}

}  // namespace trainmem
