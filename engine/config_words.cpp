#include "engine/config_words.h"

#include <iterator>

namespace trainmem {
namespace {

constexpr const char* activations[] = {"silu", "gelu",  "gelu_new",      "gelu_pytorch_tanh",
                                       "relu", "relu2", "clamped_swiglu", "gelu_fast"};
constexpr const char* norms[] = {"layernorm", "rmsnorm"};
constexpr const char* norm_placements[] = {"pre", "post", "pre_and_post"};
constexpr const char* qk_norms[] = {"none", "per_head", "full"};
constexpr const char* positions[] = {"rope", "learned", "alibi", "none"};
constexpr const char* frameworks[] = {"pytorch", "transformers", "torchtitan", "torchtune", "megatron", "deepspeed"};
constexpr const char* precisions[] = {"fp32",          "bf16",          "fp16",      "bf16_mixed", "fp16_mixed",
                                      "bf16_autocast", "fp16_autocast", "fsdp_bf16", "fp8"};
constexpr const char* optimizers[] = {"adamw",   "adamw_amsgrad", "adamw_8bit", "adamw_paged",  "adamw_paged_8bit",
                                      "sgd",     "sgd_momentum",  "adafactor",  "adafactor_hf", "adagrad",
                                      "rmsprop", "nadam",         "lion",       "lion_8bit",    "muon",
                                      "galore",  "none"};
constexpr const char* optimizer_implementations[] = {"for_loop", "foreach", "fused", "in_backward"};
constexpr const char* data_parallels[] = {"ddp", "zero1", "zero2", "zero3", "fsdp"};
constexpr const char* reshards[] = {"auto", "always", "never"};
constexpr const char* pipeline_schedules[] = {"gpipe", "1f1b", "interleaved", "zero_bubble"};
constexpr const char* recomputations[] = {"none", "selective_attention", "selective_operations", "full", "every_k"};
constexpr const char* attention_kernels[] = {"eager", "sdpa", "sdpa_math", "flash"};
constexpr const char* losses[] = {"full",    "legacy",       "compiled",           "fused",
                                  "chunked", "fused_linear", "vocabulary_parallel"};
constexpr const char* training_loops[] = {"plain", "trainer"};
constexpr const char* quantizations[] = {"none", "nf4", "nf4_double", "int8"};
constexpr const char* dtypes[] = {"auto",  nullptr, "fp32", "bf16",  "fp16",  "fp8",
                                  nullptr, nullptr, "int8", nullptr, nullptr, nullptr};

template <class Enumeration, int count>
constexpr Words list(const char* const (&all)[count], Enumeration last) {
  return static_cast<int>(last) + 1 == count ? Words{all, count} : Words{};
}

static_assert(list(activations, Activation::gelu_fast).count != 0);
static_assert(list(precisions, Precision::fp8).count != 0);
static_assert(list(optimizers, Optimizer::none).count != 0);
static_assert(list(losses, Loss::vocabulary_parallel).count != 0);
static_assert(list(dtypes, DType::nf4).count != 0);

}  // namespace

Words words(Activation) { return list(activations, Activation::clamped_swiglu); }
Words words(Norm) { return list(norms, Norm::rmsnorm); }
Words words(NormPlacement) { return list(norm_placements, NormPlacement::pre_and_post); }
Words words(QkNorm) { return list(qk_norms, QkNorm::full); }
Words words(Positions) { return list(positions, Positions::none); }
Words words(Framework) { return list(frameworks, Framework::deepspeed); }
Words words(Precision) { return list(precisions, Precision::fp8); }
Words words(Optimizer) { return list(optimizers, Optimizer::none); }
Words words(OptimizerImplementation) { return list(optimizer_implementations, OptimizerImplementation::in_backward); }
Words words(DataParallel) { return list(data_parallels, DataParallel::fsdp); }
Words words(Reshard) { return list(reshards, Reshard::never); }
Words words(PipelineSchedule) { return list(pipeline_schedules, PipelineSchedule::zero_bubble); }
Words words(Recomputation) { return list(recomputations, Recomputation::every_k); }
Words words(AttentionKernel) { return list(attention_kernels, AttentionKernel::flash); }
Words words(Loss) { return list(losses, Loss::vocabulary_parallel); }
Words words(TrainingLoop) { return list(training_loops, TrainingLoop::trainer); }
Words words(Quantization) { return list(quantizations, Quantization::int8); }
Words words(DType) { return list(dtypes, DType::nf4); }

}  // namespace trainmem
