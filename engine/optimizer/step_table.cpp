// What each optimizer's step allocates. Every line is one statement of the source it names, in its order.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* adafactor_hf_source = "transformers src/transformers/optimization.py: Adafactor.step";

constexpr const char* roots = "square roots of the second moments";
constexpr Rule own_rows{"clone",
                        "this GPU's rows of a gradient that it has whole, made for each operation that takes it",
                        "pytorch torch/distributed/tensor/_redistribute.py: redistribute_local_tensor"};
/// A statement that takes the gradient, and one that takes it two times.
constexpr StepLine takes_gradient{StepAction::take,      1,       -1, Extent::full, Format::gradient,
                                  Only::whole_gradients, own_rows};
constexpr StepLine takes_it_twice{StepAction::take,      2,       -1, Extent::full, Format::gradient,
                                  Only::whole_gradients, own_rows};

constexpr StepLine adam_foreach[] = {
    takes_gradient,  // _foreach_lerp_
    takes_it_twice,  // _foreach_addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"_foreach_sqrt", roots, "pytorch torch/optim/adam.py: _multi_tensor_adam, exp_avg_sq_sqrt"}),
};
constexpr Rule adam_loop_root{"sqrt", roots, "pytorch torch/optim/adam.py: _single_tensor_adam, denom"};
constexpr Rule adam_loop_quotient{"div", "denominator of the update; lives until the next one is made",
                                  "pytorch torch/optim/adam.py: _single_tensor_adam, denom"};
constexpr StepLine adam_fused[] = {
    takes_gradient,
};
constexpr StepLine adam_loop[] = {
    takes_gradient,  // lerp_
    takes_it_twice,  // addcmul_
    make(1, Extent::full, Format::state, Only::all, adam_loop_root),
    make(0, Extent::full, Format::state, Only::all, adam_loop_quotient),
    drop(1),
};
constexpr StepLine nadam_foreach[] = {
    takes_gradient,  // lerp_
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"_foreach_sqrt", roots, "pytorch torch/optim/nadam.py: _multi_tensor_nadam, exp_avg_sq_sqrt"}),
    takes_gradient,  // addcdiv_
};
constexpr StepLine nadam_loop[] = {
    takes_gradient,  // lerp_
    takes_it_twice,  // addcmul_
    make(1, Extent::full, Format::state, Only::all,
         {"div", "second moment without its bias", "pytorch torch/optim/nadam.py: _single_tensor_nadam, denom"}),
    make(0, Extent::full, Format::state, Only::all,
         {"sqrt", roots, "pytorch torch/optim/nadam.py: _single_tensor_nadam, denom"}),
    drop(1),
    takes_gradient,  // addcdiv_
};
constexpr const char* radam_source = "pytorch torch/optim/radam.py: _single_tensor_radam";
constexpr StepLine radam_foreach[] = {
    takes_gradient,  // lerp_
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"_foreach_sqrt", roots, "pytorch torch/optim/radam.py: _multi_tensor_radam, buffer"}),
};
constexpr StepLine radam_loop[] = {
    takes_gradient,  // lerp_
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all, {"div", "first moment without its bias", radam_source}),
    make(3, Extent::full, Format::state, Only::all, {"mul", "times the learning rate", radam_source}),
    make(1, Extent::full, Format::state, Only::all, {"sqrt", roots, radam_source}),
    make(5, Extent::full, Format::state, Only::all, {"reciprocal", "inverse square root", radam_source}),
    make(2, Extent::full, Format::state, Only::all, {"mul", "adaptive learning rate", radam_source}),
    drop(5),
    drop(1),
    make(4, Extent::full, Format::state, Only::all, {"mul", "times the adaptive learning rate", radam_source}),
    drop(3),
    drop(2),
    make(5, Extent::full, Format::state, Only::all, {"mul", "times the rectification", radam_source}),
    drop(4),
    drop(5),
};
constexpr StepLine adamax_foreach[] = {
    takes_gradient,  // lerp_
    make(0, Extent::gradient, Format::gradient, Only::all,
         {"_foreach_abs", "absolute gradients", "pytorch torch/optim/adamax.py: _multi_tensor_adamax"}),
    takes_gradient,  // _foreach_maximum_
};
constexpr StepLine adamax_loop[] = {
    takes_gradient,  // lerp_
    make(0, Extent::gradient, Format::gradient, Only::all,
         {"abs", "absolute gradient", "pytorch torch/optim/adamax.py: _single_tensor_adamax"}),
    takes_gradient,  // maximum
    drop(0),
};
constexpr const char* adadelta_foreach_source = "pytorch torch/optim/adadelta.py: _multi_tensor_adadelta";
constexpr const char* adadelta_source = "pytorch torch/optim/adadelta.py: _single_tensor_adadelta";
constexpr StepLine adadelta_foreach[] = {
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"_foreach_add", "root mean squares of the gradients, std", adadelta_foreach_source}),
    make(1, Extent::full, Format::state, Only::all, {"_foreach_add", "the updates, deltas", adadelta_foreach_source}),
    takes_gradient,  // _foreach_mul_
};
constexpr StepLine adadelta_loop[] = {
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all, {"add", "root mean square of the gradient, std", adadelta_source}),
    make(1, Extent::full, Format::state, Only::all, {"add", "the update, delta", adadelta_source}),
    takes_gradient,  // mul_
};
constexpr StepLine adagrad_foreach[] = {
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"_foreach_sqrt", "square roots of the sums", "pytorch torch/optim/adagrad.py: _multi_tensor_adagrad, std"}),
    make(1, Extent::gradient, Format::gradient, Only::all,
         {"_foreach_mul", "gradients times the learning rate",
          "pytorch torch/optim/adagrad.py: _multi_tensor_adagrad, numerator"}),
    takes_gradient,  // addcdiv_
};
constexpr StepLine adagrad_loop[] = {
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"sqrt", "square root of the sum", "pytorch torch/optim/adagrad.py: _single_tensor_adagrad, std"}),
    takes_gradient,  // addcdiv_
};
constexpr StepLine rmsprop_foreach[] = {
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"_foreach_sqrt", "square roots of the means", "pytorch torch/optim/rmsprop.py: _multi_tensor_rmsprop, avg"}),
    takes_gradient,  // addcdiv_
};
constexpr StepLine rmsprop_loop[] = {
    takes_it_twice,  // addcmul_
    make(0, Extent::full, Format::state, Only::all,
         {"sqrt", "square root of the mean", "pytorch torch/optim/rmsprop.py: _single_tensor_rmsprop, avg"}),
    takes_gradient,  // addcdiv_
};
constexpr const char* lion_source = "lucidrains/lion-pytorch lion_pytorch/lion_pytorch.py: update_fn";
constexpr StepLine lion_loop[] = {
    make(0, Extent::full, Format::state, Only::all, {"clone", "copy of the first moment", lion_source}),
    make(1, Extent::full, Format::state, Only::all, {"add", "the copy and the gradient", lion_source}),
    drop(0),
    drop(1),
};

// Without weight decay, momentum or none: in place. The running sum of whole gradients is whole, too.
constexpr StepLine sgd_lines[] = {
    takes_gradient,
};

// torch.optim.Adafactor. Slots: 0 update, 1 variance estimate, 2 means and norms, 3 squared gradient.
constexpr const char* adafactor_list_source = "pytorch torch/optim/_adafactor.py: _multi_tensor_adafactor";
constexpr Rule row_means{"linalg_vector_norm", "means of squares by rows", adafactor_list_source};
constexpr Rule column_means{"linalg_vector_norm", "means of squares by columns", adafactor_list_source};
constexpr Rule variance_estimate{"mm", "row factor times column factor: the second moment, and the update in place",
                                 adafactor_list_source};
constexpr StepLine adafactor_foreach[] = {
    make(2, Extent::rows, Format::gradient, Only::matrices, row_means),
    drop(2),
    make(2, Extent::columns, Format::gradient, Only::matrices, column_means),
    drop(2),
    make(1, Extent::full, Format::gradient, Only::matrices, variance_estimate),
    make(2, Extent::scalar, Format::gradient, Only::matrices,
         {"mean", "mean of the row factor", adafactor_list_source}),
    drop(2),
    make(3, Extent::full, Format::gradient, Only::vectors,
         {"_foreach_mul", "squared gradients", adafactor_list_source}),
    drop(3),
    make(1, Extent::full, Format::gradient, Only::vectors,
         {"clone", "copy of the second moment, and the update in place", adafactor_list_source}),
    move(0, 1),
};
constexpr StepLine adafactor_loop[] = {
    make(4, Extent::rows, Format::gradient, Only::matrices, row_means),
    make(5, Extent::columns, Format::gradient, Only::matrices, column_means),
    make(1, Extent::full, Format::gradient, Only::matrices, variance_estimate),
    make(2, Extent::scalar, Format::gradient, Only::matrices,
         {"mean", "mean of the row factor", adafactor_list_source}),
    drop(2),
    make(3, Extent::full, Format::gradient, Only::vectors, {"mul", "squared gradient", adafactor_list_source}),
    make(1, Extent::full, Format::gradient, Only::vectors,
         {"clone", "copy of the second moment, and the update in place", adafactor_list_source}),
    move(0, 1),
};

// transformers' Adafactor. Slots: 0 gradient, 1 parameter, 2 learning rate, 3 update, 4 and 5 of the expression,
// 6 and 7 the two factors.
constexpr Rule squares{"pow", "squared gradient", adafactor_hf_source};
constexpr Rule means{"mean", "mean of squares", adafactor_hf_source};
constexpr StepLine adafactor_hf_loop[] = {
    make(0, Extent::full, Format::float32, Only::half_gradients,
         {"_to_copy", "fp32 copy of the gradient", adafactor_hf_source}),
    make(1, Extent::full, Format::float32, Only::half_parameters,
         {"_to_copy", "fp32 copy of the parameter", adafactor_hf_source}),
    make(4, Extent::scalar, Format::float32, Only::all, {"norm", "size of the parameter", adafactor_hf_source}),
    make(5, Extent::scalar, Format::float32, Only::all, {"div", "its root mean square", adafactor_hf_source}),
    drop(4),
    drop(5),
    make(2, Extent::scalar, Format::float32, Only::all, {"mul", "learning rate of this tensor", adafactor_hf_source}),
    make(4, Extent::full, Format::float32, Only::all, squares),
    make(3, Extent::full, Format::float32, Only::all, {"add", "squared gradient plus epsilon", adafactor_hf_source}),
    drop(4),
    make(4, Extent::rows, Format::float32, Only::matrices, means),
    drop(4),
    make(4, Extent::columns, Format::float32, Only::matrices, means),
    drop(4),
    make(4, Extent::scalar, Format::float32, Only::matrices, means),
    make(6, Extent::rows, Format::float32, Only::matrices, {"div", "row factor over its mean", adafactor_hf_source}),
    drop(4),
    make(7, Extent::columns, Format::float32, Only::matrices, {"rsqrt", "column factor", adafactor_hf_source}),
    make(3, Extent::full, Format::float32, Only::matrices, {"mul", "the update", adafactor_hf_source}),
    drop(6),
    drop(7),
    make(3, Extent::full, Format::float32, Only::vectors, {"rsqrt", "the update", adafactor_hf_source}),
    make(4, Extent::full, Format::float32, Only::all, {"neg", "the update with its sign turned", adafactor_hf_source}),
    drop(4),
};

// torch.optim.Muon. Slots: 0 update, 1 orthogonalised update, 2 and 3 Gram matrices. Iterations three to five hold
// what the second holds.
constexpr const char* newton_source = "pytorch torch/optim/_muon.py: _zeropower_via_newtonschulz";
constexpr Rule gram_matrix{"mm", "Gram matrix of the update", newton_source};
constexpr Rule gram_update{"addmm", "polynomial of the Gram matrix", newton_source};
constexpr Rule next_iterate{"addmm", "next iterate of the orthogonalisation", newton_source};
constexpr StepLine muon_loop[] = {
    make(0, Extent::full, Format::gradient, Only::matrices,
         {"lerp", "gradient moved towards its mean (Nesterov)", "pytorch torch/optim/_muon.py: _single_tensor_muon"}),
    make(1, Extent::full, Format::bfloat16, Only::not_bf16_matrices,
         {"_to_copy", "bf16 copy of the update", newton_source}),
    make(2, Extent::gram, Format::bfloat16, Only::matrices, gram_matrix),
    make(3, Extent::gram, Format::bfloat16, Only::matrices, gram_update),
    make(1, Extent::full, Format::bfloat16, Only::matrices, next_iterate),
    make(2, Extent::gram, Format::bfloat16, Only::matrices, gram_matrix),
    make(3, Extent::gram, Format::bfloat16, Only::matrices, gram_update),
    make(1, Extent::full, Format::bfloat16, Only::matrices, next_iterate),
    drop(2),
    drop(3),
    move(0, 1, Only::matrices),
};

}  // namespace

std::span<const StepLine> step_table(Optimizer optimizer, OptimizerImplementation how) {
  using Lines = std::span<const StepLine>;
  const bool loop = how == OptimizerImplementation::for_loop;
  switch (optimizer) {
    case Optimizer::adamw:
    case Optimizer::adamw_amsgrad:
      return how == OptimizerImplementation::fused ? Lines(adam_fused) : loop ? Lines(adam_loop) : adam_foreach;
    case Optimizer::radam: return loop ? Lines(radam_loop) : radam_foreach;
    case Optimizer::adamax: return loop ? Lines(adamax_loop) : adamax_foreach;
    case Optimizer::adadelta: return loop ? Lines(adadelta_loop) : adadelta_foreach;
    case Optimizer::nadam: return loop ? Lines(nadam_loop) : nadam_foreach;
    case Optimizer::adagrad: return loop ? Lines(adagrad_loop) : adagrad_foreach;
    case Optimizer::rmsprop: return loop ? Lines(rmsprop_loop) : rmsprop_foreach;
    case Optimizer::adafactor: return loop ? Lines(adafactor_loop) : adafactor_foreach;
    case Optimizer::adafactor_hf: return adafactor_hf_loop;
    case Optimizer::lion: return lion_loop;
    case Optimizer::muon: return muon_loop;
    case Optimizer::sgd:
    case Optimizer::sgd_momentum: return sgd_lines;
    default: return {};
  }
}

}  // namespace trainmem
