// Kinds of layers that a model's class, or a framework, has no forward of.
#include "engine/config/layer_types.h"

#include <string>
#include <string_view>

#include "engine/blocks/transformers/gated_delta_net.h"
#include "engine/blocks/transformers/llama_form.h"
#include "engine/config/deepspeed.h"
#include "engine/config/formats.h"
#include "engine/config/words.h"
#include "engine/modelled/missing.h"
#include "engine/modelled/modelled.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

/// Beside attention, with a window and without.
struct LayersOf {
  const char* model_type;
  const char* kinds;
};

constexpr LayersOf layers_of[] = {
    {"minimax", "linear_attention"},
    {"lfm2", "conv"},
    {"lfm2_moe", "conv"},
    {"granitemoehybrid", "mamba"},
    {"bamba", "mamba"},
    {"jamba", "mamba"},
    {"nemotron_h", "mamba,mlp,moe"},
    {"qwen3_next", "linear_attention"},
    {"qwen3_5_text", "linear_attention"},
    {"olmo_hybrid", "linear_attention"},
    {"qwen3_5_moe_text", "linear_attention"},
    {"zamba2", "mamba,hybrid"},
    {"recurrent_gemma", "linear_attention"},
};

/// Types whose layers are all of one kind that is no attention alone.
constexpr LayersOf only_layers_of[] = {{"falcon_h1", "hybrid"},
                                       {"mamba2", "mamba"},
                                       {"mamba", "mamba"},
                                       {"falcon_mamba", "mamba"},
                                       {"rwkv", "linear_attention"}};

const char* only_layers(const Model& model) {
  for (const LayersOf& each : only_layers_of)
    if (model.model_type == each.model_type) return each.kinds;
  return nullptr;
}

bool has_mamba(const Config& c) { return trainmem::has_mamba(c.model); }

bool has_linear_attention(const Config& c) {
  return transformers::has_gated_delta_net(c.model) && has_layer_type(c.model, LayerType::linear_attention);
}

/// Types whose layers of linear attention are recurrences of their own.
bool is_recurrent(const Model& model) { return has_item("rwkv,recurrent_gemma", model.model_type); }

/// Layers that mix tokens by something else than attention, and are no product of matrices that a framework divides.
bool has_other_mixers(const Config& c) {
  return has_mamba(c) || has_linear_attention(c) || has_layer_type(c.model, LayerType::conv) || is_recurrent(c.model);
}

/// Blocks of which several layers have the weights.
bool shares_blocks(const Config& c) { return c.model.num_mem_blocks > 0; }

/// Types whose Mamba layers are those of the first Mamba.
bool has_first_mamba(const Model& model) { return has_item("mamba,falcon_mamba,jamba", model.model_type); }

/// Each chunk is run, in each layer: so many take seconds.
constexpr std::int64_t most_chunked_tokens = 1 << 21;

constexpr Missing<Config> missing[] = {
    {"/model/mamba/time_step_rank", "The other kind of Mamba's layers in a model of this type is",
     "Mamba 1 has a rank and heads of one channel, Mamba 2 none.",
     [](const Config& c) {
       const Mamba& mamba = c.model.mamba;
       const bool first = has_first_mamba(c.model);
       return has_mamba(c) && (first != (mamba.time_step_rank > 0) || (first && mamba.d_head != 1));
     },
     nullptr},
    {"/recipe/fast_path", "The scan's kernel, which refuses Jamba's B and C in fp32 beside other inputs in 16 bits, is",
     "Set it to false, or give weights in 16 bits.",
     [](const Config& c) {
       const Formats f = formats(c.recipe);
       return c.recipe.fast_path && c.model.model_type == "jamba" && has_mamba(c) && f.weights == DType::float32 &&
              f.autocast != DType::automatic;
     },
     "0"},
    {"/recipe/fast_path", "Biases of the projections beside Mamba 1's kernels, whose backward refuses them, are",
     "Set it to false.",
     [](const Config& c) {
       return c.recipe.fast_path && c.model.mamba.proj_bias && has_item("mamba,falcon_mamba", c.model.model_type);
     },
     "0"},
    {"/recipe/fast_path", "Normalised Mamba layers of Falcon-H1 by PyTorch's operations are", "Set it to true.",
     [](const Config& c) {
       return !c.recipe.fast_path && c.model.model_type == "falcon_h1" && c.model.mamba.gated_norm;
     },
     "1"},
    {"/recipe/fast_path", "A gated delta rule by PyTorch's operations, over so many chunks of 64 tokens, is",
     "Set it to true, or give a shorter sequence.",
     [](const Config& c) {
       const std::int64_t tokens_of_all_layers = c.recipe.sequence_length * c.model.num_hidden_layers;
       return !c.recipe.fast_path && has_linear_attention(c) && tokens_of_all_layers > most_chunked_tokens;
     },
     "1"},
    {"/recipe/data_parallel", "Division of weights that layers share is", "Choose ddp.",
     [](const Config& c) { return shares_blocks(c) && c.recipe.data_parallel != DataParallel::ddp; }, "ddp"},
    {"/recipe/pipeline_parallel", "A pipeline of layers that share weights is", "Set it to 1.",
     [](const Config& c) { return shares_blocks(c) && c.recipe.pipeline_parallel > 1; }, "1"},
    {"/recipe/recomputation", "Recomputation of some of the layers that share weights is", "Choose none or full.",
     [](const Config& c) { return shares_blocks(c) && c.recipe.recomputation == Recomputation::every_k; }, "full"},
    {"/recipe/recomputation_reentrant",
     "Re-entrant recomputation of layers that share weights, which get no gradient then, is", "Set it to false.",
     [](const Config& c) {
       return shares_blocks(c) && c.recipe.recomputation == Recomputation::full && c.recipe.recomputation_reentrant;
     },
     "0"},
    {"/recipe/quantization", "Quantised weights of Mamba layers, whose kernels read them, are", "Set it to none.",
     [](const Config& c) { return c.recipe.quantization != Quantization::none && has_mamba(c); }, "none"},
    {"/recipe/tensor_parallel", "Tensor parallelism of linear attention, Mamba layers and convolutions is",
     "Set it to 1.", [](const Config& c) { return c.recipe.tensor_parallel > 1 && has_other_mixers(c); }, "1"},
    {"/recipe/context_parallel", "Context parallelism of linear attention, Mamba layers and convolutions is",
     "Set it to 1.", [](const Config& c) { return c.recipe.context_parallel > 1 && has_other_mixers(c); }, "1"},
    {"/recipe/compile_blocks", "Compilation of linear attention, Mamba layers and convolutions is", "Set it to false.",
     [](const Config& c) { return c.recipe.compile_blocks && has_other_mixers(c); }, "0"},
    {"/recipe/recomputation",
     "Recomputation chosen by operations of linear attention, Mamba layers and convolutions is", "Choose none or full.",
     [](const Config& c) {
       return c.recipe.recomputation == Recomputation::selective_operations && has_other_mixers(c);
     },
     "full"},
};

bool has_forward(const Model& model, LayerType type) {
  if (const char* only = only_layers(model)) return word(type) == std::string_view(only);
  if (type == LayerType::full_attention || type == LayerType::sliding_attention)
    return transformers::llama_form(model) != nullptr ||
           has_item("modernbert-decoder,recurrent_gemma", model.model_type);
  if (transformers::has_gated_delta_net(model) && model.linear_attention.linear_num_key_heads == 0) return false;
  for (const LayersOf& each : layers_of)
    if (model.model_type == each.model_type) return has_item(each.kinds, word(type));
  return false;
}

/// Frameworks that run transformers' layers.
bool has_transformers_layers(const Recipe& recipe) {
  const Framework framework = recipe.framework;
  return framework == Framework::transformers || framework == Framework::pytorch ||
         (framework == Framework::deepspeed && !uses_megatron_deepspeed(recipe));
}

}  // namespace

void report_not_modelled_layer_types(const Config& config, Issues& issues) {
  const Model& model = config.model;
  const char* only = only_layers(model);
  if (model.layer_types.empty() && only != nullptr) {
    issues.push_back({"not_yet_modelled",
                      "/model/layer_types",
                      "A " + model.model_type + " model without layers of kind " + only + " is not yet modelled.",
                      "Set it to " + std::string(only) + ".",
                      {"/model/layer_types", only}});
  }
  if (model.layer_types.empty()) return;
  if (!has_transformers_layers(config.recipe)) {
    issues.push_back(
        {"not_yet_modelled",
         "/model/layer_types",
         "A pattern of layers under " + std::string(word(config.recipe.framework)) + " is not yet modelled.",
         "Choose framework transformers.",
         {"/recipe/framework", "transformers"}});
    return;
  }
  report<Config>(missing, config, issues);
  for (int i = 0; i < layer_type_count; ++i) {
    const auto type = static_cast<LayerType>(i);
    if (has_forward(model, type) || !has_layer_type(model, type)) continue;
    issues.push_back(
        {"not_yet_modelled",
         "/model/layer_types",
         "A model of type " + model.model_type + " with layers of kind " + word(type) + " is not yet modelled.",
         "Leave layer_types empty, or choose another model_type.",
         {"/model/layer_types", ""}});
  }
}

}  // namespace trainmem
