#include "engine/config/words.h"

namespace trainmem {
namespace {

constexpr const char* activations[] = {"silu",           "gelu",      "gelu_new", "gelu_pytorch_tanh", "relu", "relu2",
                                       "clamped_swiglu", "gelu_fast", "xielu"};
constexpr const char* norms[] = {"layernorm", "rmsnorm"};
constexpr const char* norm_placements[] = {"pre", "post", "pre_and_post"};
constexpr const char* qk_norms[] = {"none", "per_head", "full"};
constexpr const char* positions[] = {"rope", "learned", "alibi", "none"};
constexpr const char* router_auxiliary_losses[] = {"none", "unmasked", "masked"};
constexpr const char* gpu_architectures[] = {"unknown", "pascal", "volta",     "turing",        "ampere",
                                             "ada",     "hopper", "blackwell", "blackwell_rtx", "cdna",
                                             "cdna3",   "cdna4",  "rdna",      "other"};
constexpr const char* frameworks[] = {"pytorch",  "transformers", "torchtitan", "torchtune",
                                      "megatron", "deepspeed",    "litgpt",     "llm_foundry"};
constexpr const char* precisions[] = {"fp32",          "bf16",          "fp16",      "bf16_mixed", "fp16_mixed",
                                      "bf16_autocast", "fp16_autocast", "fsdp_bf16", "fp8"};
constexpr const char* optimizers[] = {"adamw",
                                      "adamw_amsgrad",
                                      "adamw_8bit",
                                      "adamw_paged",
                                      "adamw_paged_8bit",
                                      "sgd",
                                      "sgd_momentum",
                                      "adafactor",
                                      "adafactor_hf",
                                      "adagrad",
                                      "rmsprop",
                                      "nadam",
                                      "lion",
                                      "lion_8bit",
                                      "muon",
                                      "muon_adamw",
                                      "galore",
                                      "apollo",
                                      "adamw_torchao_8bit",
                                      "adamw_torchao_4bit",
                                      "adamw_torchao_fp8",
                                      "adamw_schedule_free",
                                      "sgd_schedule_free",
                                      "ademamix",
                                      "ademamix_8bit",
                                      "came",
                                      "lamb",
                                      "sophia",
                                      "radam",
                                      "adamax",
                                      "adadelta",
                                      "none"};
constexpr const char* optimizer_implementations[] = {"for_loop", "foreach", "fused", "in_backward"};
constexpr const char* data_parallels[] = {"ddp", "zero1", "zero2", "zero3", "fsdp"};
constexpr const char* reshards[] = {"auto", "always", "never", "all_but_last"};
constexpr const char* backward_prefetches[] = {"backward_pre", "backward_post", "none"};
constexpr const char* gradient_syncs[] = {"auto", "each_micro_batch", "last_micro_batch"};
constexpr const char* pipeline_schedules[] = {"gpipe", "1f1b", "interleaved", "zero_bubble"};
constexpr const char* recomputations[] = {"none",    "selective_attention", "selective_operations", "full",
                                          "every_k", "selective_modules"};
constexpr const char* recomputation_methods[] = {"block", "uniform"};
constexpr const char* fp8_recipes[] = {"tensorwise", "blockwise", "mxfp8"};
constexpr const char* context_parallel_methods[] = {"auto", "ring", "all_gather", "all_to_all"};
constexpr const char* expert_dispatchers[] = {"all_to_all", "all_gather"};
constexpr const char* attention_kernels[] = {"eager", "sdpa", "sdpa_math", "flash"};
constexpr const char* losses[] = {
    "full", "legacy", "compiled", "fused", "chunked", "fused_linear", "vocabulary_parallel", "label_smoothing"};
constexpr const char* training_loops[] = {"plain", "trainer"};
constexpr const char* transformers_releases[] = {"current", "before_4_46"};
constexpr const char* torchtitan_releases[] = {"current", "0_2_2", "before_0_2_2"};
constexpr const char* quantizations[] = {"none", "nf4", "nf4_double", "int8"};
constexpr const char* objectives[] = {"next_token", "dpo", "grpo", "reward", "orpo", "cpo", "simpo", "kto"};
constexpr const char* reference_models[] = {"auto", "copy", "base", "precomputed", "none"};
constexpr const char* dtypes[] = {"auto",  nullptr, "fp32", "bf16",  "fp16",  "fp8",
                                  nullptr, nullptr, "int8", nullptr, nullptr, nullptr};

template <auto last, int count>
Words list(const char* const (&all)[count]) {
  static_assert(static_cast<int>(last) + 1 == count, "a word is missing, or the last value is another one");
  return {all, count};
}

}  // namespace

Words words(Activation) { return list<Activation::xielu>(activations); }
Words words(Norm) { return list<Norm::rmsnorm>(norms); }
Words words(NormPlacement) { return list<NormPlacement::pre_and_post>(norm_placements); }
Words words(QkNorm) { return list<QkNorm::full>(qk_norms); }
Words words(Positions) { return list<Positions::none>(positions); }
Words words(RouterAuxiliaryLoss) { return list<RouterAuxiliaryLoss::masked>(router_auxiliary_losses); }
Words words(GpuArchitecture) { return list<GpuArchitecture::other>(gpu_architectures); }
Words words(Framework) { return list<Framework::llm_foundry>(frameworks); }
Words words(Precision) { return list<Precision::fp8>(precisions); }
Words words(Fp8Recipe) { return list<Fp8Recipe::mxfp8>(fp8_recipes); }
Words words(Optimizer) { return list<Optimizer::none>(optimizers); }
Words words(OptimizerImplementation) { return list<OptimizerImplementation::in_backward>(optimizer_implementations); }
Words words(DataParallel) { return list<DataParallel::fsdp>(data_parallels); }
Words words(Reshard) { return list<Reshard::all_but_last>(reshards); }
Words words(BackwardPrefetch) { return list<BackwardPrefetch::none>(backward_prefetches); }
Words words(GradientSync) { return list<GradientSync::last_micro_batch>(gradient_syncs); }
Words words(PipelineSchedule) { return list<PipelineSchedule::zero_bubble>(pipeline_schedules); }
Words words(Recomputation) { return list<Recomputation::selective_modules>(recomputations); }
Words words(RecomputationMethod) { return list<RecomputationMethod::uniform>(recomputation_methods); }
Words words(ContextParallelMethod) { return list<ContextParallelMethod::all_to_all>(context_parallel_methods); }
Words words(ExpertDispatcher) { return list<ExpertDispatcher::all_gather>(expert_dispatchers); }
Words words(AttentionKernel) { return list<AttentionKernel::flash>(attention_kernels); }
Words words(Loss) { return list<Loss::label_smoothing>(losses); }
Words words(TrainingLoop) { return list<TrainingLoop::trainer>(training_loops); }
Words words(TransformersRelease) { return list<TransformersRelease::before_4_46>(transformers_releases); }
Words words(TorchtitanRelease) { return list<TorchtitanRelease::before_0_2_2>(torchtitan_releases); }
Words words(Quantization) { return list<Quantization::int8>(quantizations); }
Words words(Objective) { return list<Objective::kto>(objectives); }
Words words(ReferenceModel) { return list<ReferenceModel::none>(reference_models); }
Words words(DType) { return list<DType::nf4>(dtypes); }

}  // namespace trainmem
