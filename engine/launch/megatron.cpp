// Megatron-LM's command line. Source: NVIDIA/Megatron-LM, megatron/training/arguments.py (options and defaults).
#include <algorithm>
#include <iterator>

#include "engine/config/text.h"
#include "engine/config/values.h"
#include "engine/config/world_size.h"
#include "engine/launch/format.h"
#include "engine/launch/megatron_experts.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

constexpr const char* buffers = "Buffers are counted at Megatron's default sizes.";

constexpr KeyRule rules[] = {
    {"--num-layers", "/model/num_hidden_layers", nullptr, nullptr, Write::always},
    {"--hidden-size", "/model/hidden_size", nullptr, nullptr, Write::always},
    {"--ffn-hidden-size", "/model/intermediate_size", nullptr, nullptr, Write::always},
    {"--num-attention-heads", "/model/num_attention_heads", nullptr, nullptr, Write::always},
    {"--max-position-embeddings", "/model/max_position_embeddings", nullptr, nullptr, Write::never},
    {"--position-embedding-type", "/model/positions", "learned_absolute", "learned"},
    {"--position-embedding-type", "/model/positions", "rope", "rope"},
    {"--position-embedding-type", "/model/positions", "none", "none"},
    {"--rotary-percent", "/model/partial_rotary_factor"},
    {"--normalization", "/model/norm", "LayerNorm", "layernorm"},
    {"--normalization", "/model/norm_bias", "LayerNorm", "1"},
    {"--normalization", "/model/norm", "RMSNorm", "rmsnorm"},
    {"--normalization", "/model/norm_bias", "RMSNorm", "0"},
    {"--swiglu", "/model/gated_mlp", "", "1"},
    {"--swiglu", "/model/hidden_act", "", "silu"},
    {"--squared-relu", "/model/hidden_act", "", "relu2"},
    {"--disable-bias-linear", "/model/attention_output_bias", "", "0"},
    {"--disable-bias-linear", "/model/mlp_bias", "", "0"},
    {"--untie-embeddings-and-output-weights", "/model/tie_word_embeddings", "", "0"},
    {"--vocab-size", "/model/vocab_size", nullptr, nullptr, Write::always},
    {"--attention-dropout", "/model/attention_dropout"},
    {"--num-experts", "/model/experts/num_experts"},
    {"--moe-router-topk", "/model/experts/num_experts_per_tok"},
    {"--moe-ffn-hidden-size", "/model/experts/moe_intermediate_size"},
    {"--moe-shared-expert-intermediate-size", "/model/experts/shared_expert_intermediate_size"},
    {"--moe-shared-expert-gate", "/model/experts/shared_expert_gate", "", "1"},
    {"--moe-router-enable-expert-bias", "/model/experts/router_bias", "", "1"},
    {"--mtp-num-layers", "/model/num_nextn_predict_layers"},

    {"--micro-batch-size", "/recipe/micro_batch_size", nullptr, nullptr, Write::always},
    {"--seq-length", "/recipe/sequence_length", nullptr, nullptr, Write::always},
    {"--tensor-model-parallel-size", "/recipe/tensor_parallel", nullptr, nullptr, Write::always},
    {"--sequence-parallel", "/recipe/sequence_parallel", "", "1"},
    {"--pipeline-model-parallel-size", "/recipe/pipeline_parallel", nullptr, nullptr, Write::always},
    {"--num-virtual-stages-per-pipeline-rank", "/recipe/virtual_pipeline_stages"},
    {"--decoder-first-pipeline-num-layers", "/recipe/pipeline_first_stage_layers"},
    {"--decoder-last-pipeline-num-layers", "/recipe/pipeline_last_stage_layers"},
    {"--context-parallel-size", "/recipe/context_parallel"},
    {"--cp-comm-type", "/recipe/context_parallel_method", "p2p", "ring"},
    {"--cp-comm-type", "/recipe/context_parallel_method", "all_gather", "all_gather"},
    {"--cp-comm-type", "/recipe/context_parallel_method", "a2a", "all_to_all"},
    {"--expert-model-parallel-size", "/recipe/expert_parallel"},
    {"--expert-tensor-parallel-size", "/recipe/expert_tensor_parallel"},
    {"--use-distributed-optimizer", "/recipe/distributed_optimizer", "", "1"},
    {"--make-vocab-size-divisible-by", "/recipe/vocabulary_multiple"},
    {"--bf16", "/recipe/precision", "", "bf16_mixed"},
    {"--fp16", "/recipe/precision", "", "fp16_mixed"},
    {"--fp8-format", "/recipe/precision", "hybrid", "fp8"},
    {"--fp8-format", "/recipe/precision", "*", "fp8", Write::never},
    {"--fp8-recipe", "/recipe/fp8_recipe", "delayed", "tensorwise", Write::never},
    {"--fp8-recipe", "/recipe/fp8_recipe", "tensorwise", "tensorwise", Write::never},
    {"--fp8-recipe", "/recipe/fp8_recipe", "blockwise", "blockwise"},
    {"--fp8-recipe", "/recipe/fp8_recipe", "mxfp8", "mxfp8"},
    {"--main-params-dtype", "/recipe/master_weights_dtype", "fp32", "fp32"},
    {"--main-params-dtype", "/recipe/master_weights_dtype", "fp16", "fp16"},
    {"--optimizer", "/recipe/optimizer", "adam", "adamw"},
    {"--optimizer", "/recipe/optimizer", "sgd", "sgd_momentum"},
    {"--optimizer", "/recipe/optimizer", "muon", "muon_adamw"},
    {"--optimizer", "/recipe/optimizer", "dist_muon", "muon_adamw", Write::never},
    {"--optimizer", "/recipe/distributed_optimizer", "dist_muon", "1", Write::never},
    {"--no-use-layer-wise-param-layout", "/recipe/data_parallel", "", "zero1", Write::never},
    {"--clip-grad", "/recipe/gradient_clipping", "0.0", "0"},
    {"--clip-grad", "/recipe/gradient_clipping", "0", "0", Write::never},
    {"--clip-grad", "/recipe/gradient_clipping", "*", "1"},
    {"--attention-backend", "/recipe/attention", "unfused", "eager"},
    {"--attention-backend", "/recipe/attention", "local", "eager", Write::never},
    {"--attention-backend", "/recipe/attention", "flash", "flash"},
    {"--attention-backend", "/recipe/attention", "*", "sdpa"},
    {"--transformer-impl", "/recipe/transformer_engine", "local", "0"},
    {"--transformer-impl", "/recipe/attention", "local", "eager", Write::never},
    {"--transformer-impl", "/recipe/transformer_engine", "transformer_engine", "1", Write::never},
    {"--no-gradient-accumulation-fusion", "/recipe/gradient_accumulation_fusion", "", "0"},
    {"--deterministic-mode", "/recipe/deterministic", "", "1"},
    {"--moe-grouped-gemm", "/recipe/grouped_experts", "", "1", Write::never},
    {"--moe-token-dispatcher-type", "/recipe/expert_dispatcher", "allgather", "all_gather", Write::never},
    {"--moe-token-dispatcher-type", "/recipe/expert_dispatcher", "*", "all_to_all"},
    {"--use-flash-attn", "/recipe/attention", "", "flash", Write::never},
    {"--cross-entropy-loss-fusion", "/recipe/loss", "", "compiled"},
    {"--cross-entropy-fusion-impl", "/recipe/loss", "te", "fused"},
    {"--no-rope-fusion", "/recipe/fused_rope", "", "0"},
    {"--optimizer-cpu-offload", "/recipe/offload_optimizer", "", "1"},
    {"--optimizer-offload-fraction", "/recipe/offload_optimizer_fraction"},
    {"--ddp-bucket-size", nullptr, "*", buffers},
    {"--grad-reduce-in-bf16", nullptr, "*", uncounted},
    {"--use-torch-fsdp2", nullptr, "*", uncounted},
    {"--use-custom-fsdp", nullptr, "*", uncounted},
    {"--fp8-param-gather", "/recipe/weights_dtype", "", "fp8"},
};

Config start() {
  Config config;
  Model& model = config.model;
  model.model_type = "megatron-gpt";
  model.positions = Positions::learned;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.gated_mlp = false;
  model.attention_bias = model.attention_output_bias = model.mlp_bias = true;
  model.tie_word_embeddings = true;
  model.attention_dropout = model.hidden_dropout = model.embedding_dropout = 0.1;
  config.recipe = default_recipe(Framework::megatron);
  config.recipe.precision = Precision::fp32;
  return config;
}

struct TokenizerSize {
  const char* key;
  const char* type;  ///< null: any value
  const char* vocabulary;
};

/// Tokenizers whose vocabulary is published with them. A file of merges is read by GPT-2's alone. Source: openai/gpt-2,
/// encoder.json and vocab.bpe; meta-llama/llama, tokenizer.model.
constexpr TokenizerSize tokenizers[] = {{"--tokenizer-type", "GPT2BPETokenizer", "50257"},
                                        {"--tokenizer-type", "Llama2Tokenizer", "32000"},
                                        {"--merge-file", nullptr, "50257"}};

/// Megatron asks the tokenizer, which is another file.
void finish_vocabulary(SettingsReading& reading) {
  if (reading.find("--vocab-size") != nullptr) return;
  for (const TokenizerSize& known : tokenizers) {
    const std::string* value = reading.find(known.key);
    if (value == nullptr || (known.type != nullptr && *value != known.type)) continue;
    reading.apply(known.key, "/model/vocab_size", known.vocabulary);
    return;
  }
  reading.out().issues.push_back({"missing", "/model/vocab_size",
                                  "The arguments do not say the size of the vocabulary.",
                                  "Megatron takes it from the tokenizer. Add it here: --vocab-size 50257."});
}

struct LatentSize {
  const char* key;
  const char* path;
  const char* otherwise;  ///< arguments.py: _add_mla_args
};

constexpr LatentSize latent_sizes[] = {{"--q-lora-rank", "/model/latent_attention/q_lora_rank", "0"},
                                       {"--kv-lora-rank", "/model/latent_attention/kv_lora_rank", "32"},
                                       {"--qk-head-dim", "/model/latent_attention/qk_nope_head_dim", "128"},
                                       {"--qk-pos-emb-head-dim", "/model/latent_attention/qk_rope_head_dim", "64"},
                                       {"--v-head-dim", "/model/latent_attention/v_head_dim", "128"}};
constexpr const char* latent_attention_on = "--multi-latent-attention";

/// Sizes of latent attention count with its switch alone, and those of other heads without it.
void finish_heads(SettingsReading& reading) {
  Model& model = reading.out().config.model;
  const bool on = reading.find(latent_attention_on) != nullptr;
  for (const LatentSize& size : latent_sizes) {
    const std::string* value = reading.find(size.key);
    if (!on) {
      reading.leave(size.key, "It counts with --multi-latent-attention.");
    } else {
      reading.apply(value == nullptr ? latent_attention_on : size.key, size.path,
                    value == nullptr ? size.otherwise : *value);
    }
  }
  if (on) {
    model.head_dim = model.latent_attention.qk_nope_head_dim + model.latent_attention.qk_rope_head_dim;
    model.num_key_value_heads = model.num_attention_heads;
    reading.leave("--kv-channels", "Latent attention has other sizes of its heads.");
    reading.leave("--qk-layernorm", "The norms of latent attention are always counted.");
    return;
  }
  if (const std::string* size = reading.find("--kv-channels")) reading.apply("--kv-channels", "/model/head_dim", *size);
  if (reading.find("--qk-layernorm") != nullptr) reading.apply("--qk-layernorm", "/model/qk_norm", "per_head");
}

/// What makes activation and bias of the MLP several kernels.
const char* mlp_fusion_off(const Model& model) {
  return model.gated_mlp ? "--no-bias-swiglu-fusion" : "--no-bias-gelu-fusion";
}

/// Both moments of Adam have one number format here.
void finish_moments(SettingsReading& reading) {
  const std::string* first = reading.find("--exp-avg-dtype");
  const std::string* second = reading.find("--exp-avg-sq-dtype");
  const std::string fp32 = "fp32";
  if ((first == nullptr ? fp32 : *first) == (second == nullptr ? fp32 : *second)) {
    for (const char* key : {"--exp-avg-dtype", "--exp-avg-sq-dtype"}) {
      if (const std::string* dtype = reading.find(key)) reading.apply(key, "/recipe/optimizer_state_dtype", *dtype);
    }
    return;
  }
  for (const char* key : {"--exp-avg-dtype", "--exp-avg-sq-dtype"})
    reading.leave(key, "Moments of two number formats are not counted.");
}

/// Without a word about the model the arguments are those of its launch alone.
bool says_model(const Import& import) {
  return std::any_of(import.applied.begin(), import.applied.end(),
                     [](const auto& one) { return one.path.starts_with("/model/"); });
}

void finish_model(SettingsReading& reading) {
  reading.out().has_model = says_model(reading.out());
  if (!reading.out().has_model) return;
  Model& model = reading.out().config.model;
  if (reading.find("--disable-bias-linear") != nullptr && reading.find("--add-qkv-bias") == nullptr)
    reading.apply("--disable-bias-linear", "/model/attention_bias", "0");
  if (reading.find("--add-qkv-bias") != nullptr) reading.apply("--add-qkv-bias", "/model/attention_bias", "1");
  for (const char* path : {"/model/hidden_dropout", "/model/embedding_dropout"}) {
    if (const std::string* dropout = reading.find("--hidden-dropout"))
      reading.apply("--hidden-dropout", path, *dropout);
  }
  if (reading.find("--group-query-attention") != nullptr) {
    const std::string* groups = reading.find("--num-query-groups");  // its default is 1
    reading.apply("--group-query-attention", "/model/num_key_value_heads", groups == nullptr ? "1" : *groups);
    if (groups != nullptr) reading.apply("--num-query-groups", "/model/num_key_value_heads", *groups);
  }
  if (model.intermediate_size == 0) {
    const std::int64_t four = 4 * model.hidden_size;
    model.intermediate_size = model.gated_mlp ? four * 2 / 3 / 64 * 64 : four;
  }
  if (reading.find(mlp_fusion_off(model)) != nullptr) reading.apply(mlp_fusion_off(model), "/recipe/fused_mlp", "0");
  finish_heads(reading);
  read_megatron_experts(reading);
  finish_vocabulary(reading);
}

void finish_recomputation(SettingsReading& reading) {
  constexpr const char* path = "/recipe/recomputation";
  const char* key = "--recompute-granularity";
  if (reading.find("--recompute-activations") != nullptr) key = "--recompute-activations";  // the same as selective
  const std::string* granularity = reading.find(key);
  if (granularity == nullptr) return;
  const bool full = *granularity == "full";
  const std::string* modules = reading.find("--recompute-modules");
  const bool others = modules != nullptr && *modules != "core_attn";
  reading.apply(key, path, full ? "full" : others ? "selective_modules" : "selective_attention");
  if (!full && modules != nullptr) {
    std::string list = *modules;
    std::replace(list.begin(), list.end(), ' ', ',');
    reading.apply("--recompute-modules", "/recipe/recomputation_modules", list);
  }
  const std::string* method = reading.find("--recompute-method");
  const std::string* layers = reading.find("--recompute-num-layers");
  if (!full || layers == nullptr || method == nullptr) return;
  if (*method == "block") {
    reading.apply("--recompute-method", path, "full");
    reading.apply("--recompute-num-layers", "/recipe/recomputation_layers", *layers);
  } else if (*layers == "1") {
    reading.apply("--recompute-method", path, "full");
    reading.apply("--recompute-num-layers", "/recipe/recomputation_layers", "0");
  } else {
    reading.apply("--recompute-method", "/recipe/recomputation_method", "uniform");
    reading.apply("--recompute-num-layers", "/recipe/recomputation_layers", *layers);
  }
}

void finish(SettingsReading& reading) {
  if (reading.out().applied.empty()) {
    reading.out().issues.push_back({"unknown_format", "", "None of these options is known here.",
                                    "Known are those of Megatron-LM, of transformers' Trainer and of TRL."});
    return;
  }
  finish_model(reading);
  take_allocator(reading);
  finish_moments(reading);
  finish_recomputation(reading);
  Recipe& recipe = reading.out().config.recipe;
  const std::int64_t chunk = reading.integer("--num-layers-per-virtual-pipeline-stage", 0);
  const std::int64_t stage_layers = reading.out().config.model.num_hidden_layers / recipe.pipeline_parallel;
  if (chunk > 0 && stage_layers > 0 && stage_layers % chunk == 0) {
    reading.apply("--num-layers-per-virtual-pipeline-stage", "/recipe/virtual_pipeline_stages",
                  std::to_string(stage_layers / chunk));
  }
  if (recipe.virtual_pipeline_stages > 1) recipe.pipeline_schedule = PipelineSchedule::interleaved;

  const std::int64_t gpus = reading.integer("--nproc-per-node", 0) * reading.integer("--nnodes", 1);
  const std::int64_t model_gpus = world_size(recipe);  // data_parallel_size is still 1
  if (gpus > 0 && gpus % model_gpus == 0) {
    const std::string size = std::to_string(gpus / model_gpus);
    reading.apply("--nproc-per-node", "/recipe/data_parallel_size", size);
    if (reading.find("--nnodes") != nullptr) reading.apply("--nnodes", "/recipe/data_parallel_size", size);
  } else if (gpus > 0) {
    reading.leave("--nproc-per-node",
                  "The number of GPUs is not divisible by tensor times pipeline times context parallelism.");
  }
  const std::int64_t global = reading.integer("--global-batch-size", 0);
  const std::int64_t step = recipe.micro_batch_size * recipe.data_parallel_size;
  if (global > 0 && gpus > 0 && global % step == 0) {
    reading.apply("--global-batch-size", "/recipe/gradient_accumulation_steps", std::to_string(global / step));
  } else {
    reading.leave("--global-batch-size", "It needs the number of GPUs: add torchrun's --nproc-per-node and --nnodes.");
  }
}

void extra(const Config& config, Settings& out) {
  const Model& model = config.model;
  const Recipe& recipe = config.recipe;
  const std::int64_t gpus = world_size(recipe);
  const bool whole_nodes = gpus > 8 && gpus % 8 == 0;
  out.push_back({"--nproc-per-node", std::to_string(whole_nodes ? 8 : gpus)});
  if (whole_nodes) out.push_back({"--nnodes", std::to_string(gpus / 8)});
  const std::int64_t step = recipe.micro_batch_size * recipe.data_parallel_size;
  out.push_back({"--global-batch-size", std::to_string(step * recipe.gradient_accumulation_steps)});
  if (model.num_key_value_heads != model.num_attention_heads) {
    out.push_back({"--group-query-attention", ""});
    out.push_back({"--num-query-groups", std::to_string(model.num_key_value_heads)});
  }
  if (model.attention_bias && !model.attention_output_bias && !model.mlp_bias) out.push_back({"--add-qkv-bias", ""});
  // validate_args: no sequence is longer than that, whatever the positions.
  const std::int64_t positions = std::max<std::int64_t>(model.max_position_embeddings, recipe.sequence_length);
  out.push_back({"--max-position-embeddings", std::to_string(positions)});
  const bool latent = model.latent_attention.kv_lora_rank > 0;
  if (latent) {
    out.push_back({latent_attention_on, ""});
    for (const LatentSize& size : latent_sizes) {
      const std::string value = value_text(*find_field_by_path(size.path), config);
      if (value != "0") out.push_back({size.key, value});
    }
  }
  out.push_back({"--kv-channels", std::to_string(model.head_dim)});
  if (latent || model.qk_norm == QkNorm::per_head) out.push_back({"--qk-layernorm", ""});
  write_megatron_experts(config, out);
  if (!recipe.fused_mlp) out.push_back({mlp_fusion_off(model), ""});
  const bool moments = recipe.optimizer_state_dtype != DType::automatic;
  if (moments || recipe.master_weights_dtype != DType::automatic || recipe.offload_optimizer)
    out.push_back({"--use-precision-aware-optimizer", ""});
  if (moments) {
    for (const char* key : {"--exp-avg-dtype", "--exp-avg-sq-dtype"})
      out.push_back({key, value_text(*find_field_by_path("/recipe/optimizer_state_dtype"), config)});
  }
  if (recipe.precision == Precision::fp8) out.push_back({"--bf16", ""});
  if (recipe.loss == Loss::fused) out.push_back({"--cross-entropy-loss-fusion", ""});
  if (model.hidden_dropout != 0.1) out.push_back({"--hidden-dropout", number_text(model.hidden_dropout)});
  if (recipe.recomputation == Recomputation::selective_attention) {
    out.push_back({"--recompute-granularity", "selective"});
  } else if (recipe.recomputation == Recomputation::selective_modules) {
    std::string modules = recipe.recomputation_modules;
    std::replace(modules.begin(), modules.end(), ',', ' ');
    out.push_back({"--recompute-granularity", "selective"});
    out.push_back({"--recompute-modules", modules});
  } else if (recipe.recomputation == Recomputation::full) {
    const bool some = recipe.recomputation_layers > 0;
    const bool groups = recipe.recomputation_method == RecomputationMethod::uniform;
    out.push_back({"--recompute-granularity", "full"});
    out.push_back({"--recompute-method", some && !groups ? "block" : "uniform"});
    out.push_back({"--recompute-num-layers", some ? std::to_string(recipe.recomputation_layers) : "1"});
  }
}

std::string write(const Settings& settings) {
  // torchrun's own options come first, then the script.
  Settings launcher;
  Settings script;
  for (const Setting& setting : settings) {
    const bool torchrun = setting.key == "--nproc-per-node" || setting.key == "--nnodes";
    (torchrun ? launcher : script).push_back(setting);
  }
  std::string out = "torchrun";
  for (const Setting& setting : launcher) out += " " + setting.key + " " + setting.value;
  return out + " pretrain_gpt.py \\\n  " + write_arguments(script);
}

constexpr SettingsFormat format = {"megatron",
                                   "Megatron-LM arguments",
                                   "pretrain_gpt.sh",
                                   rules,
                                   static_cast<int>(std::size(rules)),
                                   true,
                                   start,
                                   finish,
                                   extra,
                                   read_arguments,
                                   write};

}  // namespace

const SettingsFormat& megatron_format() { return format; }

}  // namespace trainmem
