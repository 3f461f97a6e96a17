#include "engine/modelled/not_counted.h"

#include "engine/blocks/adapter_targets.h"
#include "engine/blocks/conventions.h"
#include "engine/blocks/torchtune/decoder.h"
#include "engine/blocks/transformers/gated_delta_net.h"
#include "engine/blocks/transformers/separate_experts.h"
#include "engine/config/formats.h"
#include "engine/config/layer_types.h"
#include "engine/config/sequences.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

/// pytorch aten/src/ATen/native/GroupedMMUtils.h: check_valid_strides_and_return_transposed. Experts compute in the
/// format of their weights, also under autocast.
bool has_aligned_experts(const Config& config) {
  const Formats of = formats(config.recipe);
  const bool gathered = config.recipe.data_parallel == DataParallel::fsdp && of.computation != DType::automatic;
  const std::int64_t numbers = 16 / element_bytes(gathered ? of.computation : of.weights);
  const Experts& experts = config.model.experts;
  const Size width = experts.moe_latent_size > 0 ? Size(experts.moe_latent_size) : config.model.hidden_size;
  return width.value() % numbers == 0 && experts.moe_intermediate_size % numbers == 0;
}

}  // namespace

std::vector<std::string> not_counted(const Config& config) {
  std::vector<std::string> sentences;
  const Recipe& recipe = config.recipe;
  const std::string& type = config.model.model_type;
  const bool torch = recipe.framework != Framework::megatron;
  sentences.emplace_back("What your own code allocates beside the model: data on the GPU, metrics, evaluation.");
  sentences.emplace_back("Scratch of kernels other than flash attention's backward and cuBLAS's workspaces.");
  if (torch &&
      (type == "gptj" || type == "openai-gpt" || type == "codegen" || type == "gpt_neo" || type == "bloom" ||
       type == "mpt" || type == "xglm" || config.model.attention_sinks) &&
      recipe.attention != AttentionKernel::eager)
    sentences.emplace_back("transformers has eager attention only for this model: that is what is counted.");
  if (recipe.objective == Objective::grpo) {
    sentences.emplace_back(
        "How completions are written: transformers' generate with its cache of keys and values, or what vLLM captures "
        "beyond its share of the GPU. A model that rates them.");
    if (config.model.experts.num_experts > 0 && config.model.experts.router_auxiliary_loss == RouterAuxiliaryLoss::none)
      sentences.emplace_back(
          "The routers' loss, which GRPOTrainer adds unless router_aux_loss_coef is 0: with it, "
          "router_auxiliary_loss is masked.");
  }
  if ((recipe.objective == Objective::grpo || takes_preferences(recipe)) && !recipe.padding)
    sentences.emplace_back("Sequences are taken to fill sequence_length: set padding where shorter ones are padded.");
  if (recipe.padding && recipe.attention == AttentionKernel::flash)
    sentences.emplace_back(
        "flash_attention_2 computes without the padding: its tensors are counted as if every token were left.");
  if (recipe.quantization != Quantization::none)
    sentences.emplace_back("4-bit weights follow bitsandbytes' source; no recorded step stands behind them.");
  if (!torch && recipe.precision == Precision::fp8)
    sentences.emplace_back("fp8 follows Transformer Engine's source; no recorded step stands behind it.");
  if (recipe.optimizer == Optimizer::adamw_torchao_8bit || recipe.optimizer == Optimizer::adamw_torchao_4bit ||
      recipe.optimizer == Optimizer::adamw_torchao_fp8)
    sentences.emplace_back("torchao's compiled step is taken to hold its working values in registers.");
  if (recipe.optimizer == Optimizer::galore)
    sentences.emplace_back("What the singular value decomposition of GaLore's projectors takes beside its results.");
  const bool older = recipe.loss == Loss::legacy || recipe.transformers_release != TransformersRelease::current;
  const bool separate_experts = older && transformers::SeparateExperts::describe(config.model);
  const bool stacked_experts = torch && config.model.experts.num_experts > 0 && type != "deepseek" && !separate_experts;
  if (stacked_experts && recipe.quantization != Quantization::none)
    sentences.emplace_back("Stacked experts stay in 16 bits: bitsandbytes quantises linear layers alone.");
  if (stacked_experts && !has_item("llama4_text,dbrx,jetmoe,step3p5", type) && !has_aligned_experts(config))
    sentences.emplace_back(
        "Grouped products of experts take rows of whole 16 bytes: with these widths PyTorch stops with \"strides "
        "should "
        "be multiple of 16 bytes\", unless experts run one after another (experts_implementation eager). Counted is a "
        "step that goes on.");
  if (adapts_stacked_experts(config))
    sentences.emplace_back("What batched products of experts' adapters copy inside: B, whose experts lie last.");
  if (recipe.framework == Framework::torchtune && !torchtune::describes(config.model))
    sentences.emplace_back(
        "torchtune has no model of this type, or not in this form: transformers' forward is counted.");
  if (recipe.framework == Framework::torchtitan && recipe.torchtitan_release == TorchtitanRelease::current)
    sentences.emplace_back(
        "FlexAttention's kernels follow Inductor's source; what the first step takes to tune them is not counted.");
  if (uses_cuda_graphs(recipe))
    sentences.emplace_back(
        "What a CUDA graph's pool and the allocator's other pools cannot use of each other: it moves reserved memory.");
  if (has_mamba(config.model) && recipe.fast_path)
    sentences.emplace_back(
        "Mamba layers follow the Python of mamba-ssm, whose kernels did not run: sums over heads are made in as many "
        "parts as on a GPU of 132 multiprocessors.");
  const bool delta_net =
      transformers::has_gated_delta_net(config.model) && has_layer_type(config.model, LayerType::linear_attention);
  if (delta_net && recipe.fast_path)
    sentences.emplace_back(
        "Gated delta networks follow the Python of flash-linear-attention and causal-conv1d, whose kernels did not "
        "run: tiles and partial sums are those of an H100.");
  if (has_layer_type(config.model, LayerType::conv) && recipe.fast_path)
    sentences.emplace_back("Short convolutions follow the Python of causal-conv1d, whose kernels did not run.");
  if (type == "rwkv" && recipe.fast_path)
    sentences.emplace_back("RWKV's recurrence follows the Python around its CUDA kernel, which did not run.");
  if (config.model.bit_linear)
    sentences.emplace_back("Compiled rounding of weights and inputs is taken to hold its working values in registers.");
  if ((has_layer_type(config.model, LayerType::conv) || has_mamba(config.model) || delta_net) && !recipe.fast_path)
    sentences.emplace_back("Contiguous copies that PyTorch's convolution makes inside.");
  if (torch && type == "dbrx")
    sentences.emplace_back(
        "transformers 5 reads the two widths of DBRX's experts the other way round, so that its published "
        "configuration "
        "does not run there: counted is its step with the widths as they are meant, and with jitter.");
  if (torch && type == "grok-1")
    sentences.emplace_back(
        "Grok-1 has no class in transformers: its layers are Gemma 2's with Mixtral's experts here.");
  if (torch && recipe.data_parallel == DataParallel::ddp && recipe.data_parallel_size > 1)
    sentences.emplace_back("DDP's buckets are counted as one buffer: how they are split can move reserved memory.");
  if (!torch && config.model.experts.num_experts > 0)
    sentences.emplace_back(config.model.experts.router_auxiliary_loss == RouterAuxiliaryLoss::none
                               ? "The load-balancing loss of the routers, and padding of experts to a capacity."
                               : "Padding of experts to a capacity.");
  return sentences;
}

}  // namespace trainmem
