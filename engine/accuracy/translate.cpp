// The recorded steps' own words as fields of a configuration. Every key of a case is either used here, or known
// not to change memory, or a reason not to translate: nothing is passed over in silence.
#include "engine/accuracy/translate.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/config/fields.h"
#include "engine/config/words.h"
#include "engine/launch/module_names.h"

namespace trainmem {
namespace {

using nlohmann::json;

/// Reads the keys of one case's `config`, remembers which were asked for, and collects what is not understood.
class Settings {
 public:
  explicit Settings(const json& object) : object_(object) {}

  std::string text(const char* key) {
    const json* value = find(key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
  }
  std::int64_t integer(const char* key, std::int64_t otherwise) {
    const json* value = find(key);
    return value != nullptr && value->is_number() ? value->get<std::int64_t>() : otherwise;
  }
  bool flag(const char* key) {
    const json* value = find(key);
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }
  /// The value if the key is there and not null.
  const json* find(const char* key) {
    known_.emplace_back(key);
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  /// A word of an enumeration, written with - for _.
  template <class Enumeration>
  void choose(const char* key, Enumeration& target) {
    std::string word = text(key);
    if (word.empty()) return;
    std::replace(word.begin(), word.end(), '-', '_');
    const int index = find_word(words(target), word);
    if (index < 0) return reject(std::string(key) + " '" + word + "' is not known");
    target = static_cast<Enumeration>(index);
  }
  void reject(const std::string& reason) {
    if (!reasons_.empty()) reasons_ += "; ";
    reasons_ += reason;
  }
  /// Why the case cannot be translated; empty if it can.
  std::string reasons() {
    for (const auto& [key, value] : object_.items()) {
      const bool idle = value.is_null() || value == false;
      if (!idle && std::find(known_.begin(), known_.end(), key) == known_.end())
        reject("key '" + key + "' is not known");
    }
    return reasons_;
  }

 private:
  const json& object_;
  std::vector<std::string> known_;
  std::string reasons_;
};

DType number_format(Settings& settings, const char* key) {
  const std::string word = settings.text(key);
  if (word.empty()) return DType::automatic;
  if (word == "fp32" || word == "float32") return DType::float32;
  if (word == "bf16" || word == "bfloat16") return DType::bfloat16;
  if (word == "fp16" || word == "float16") return DType::float16;
  settings.reject(std::string(key) + " '" + word + "' is not known");
  return DType::automatic;
}

void read_precision(Settings& settings, Recipe& recipe) {
  const DType weights = number_format(settings, "weights");
  const DType autocast = number_format(settings, "autocast");
  DType gathered = number_format(settings, "param_dtype");
  DType reduced = number_format(settings, "reduce_dtype");
  if (const DType mixed = number_format(settings, "mixed"); mixed != DType::automatic) {
    gathered = mixed;
    if (reduced == DType::automatic) reduced = mixed;
  }

  if (autocast != DType::automatic && gathered == DType::automatic) {
    recipe.precision = autocast == DType::float16 ? Precision::fp16_autocast : Precision::bf16_autocast;
    if (weights != DType::float32) recipe.weights_dtype = weights;
  } else if (gathered != DType::automatic && (gathered != DType::float32 || weights != DType::float32)) {
    recipe.precision = Precision::fsdp_bf16;
    recipe.weights_dtype = weights;
    if (gathered != DType::bfloat16) recipe.activations_dtype = gathered;
    if (autocast == DType::automatic) recipe.framework = Framework::pytorch;  // no Accelerator around the model
  } else if (weights == DType::float32) {
    recipe.precision = Precision::fp32;
  } else {
    recipe.precision = weights == DType::float16 ? Precision::fp16 : Precision::bf16;
  }
  recipe.gradient_reduce_dtype = reduced;
}

void read_checkpointing(Settings& settings, Recipe& recipe) {
  const std::string word = settings.text("checkpointing");
  if (word.empty() || word == "none") {
    recipe.recomputation = Recomputation::none;
  } else if (word == "full" || word == "full-reentrant") {
    recipe.recomputation = Recomputation::full;
    recipe.recomputation_reentrant = word == "full-reentrant";
  } else if (word == "selective-op") {
    recipe.recomputation = Recomputation::selective_operations;
  } else if (word.rfind("every-", 0) == 0 && word.size() > 6 && word[6] >= '1' && word[6] <= '9') {
    recipe.recomputation = Recomputation::every_k;
    recipe.recomputation_interval = std::stoll(word.substr(6));
  } else {
    settings.reject("checkpointing '" + word + "' is not known");
  }
}

std::string lora_targets(Settings& settings, const json& modules, const std::string& model_type) {
  if (modules.is_string()) {
    if (modules == "all-linear") return model_type == "gpt2" ? "q,k,v,o,up,down" : "q,k,v,o,gate,up,down,other";
    settings.reject("lora target_modules '" + modules.get<std::string>() + "' is not known");
    return "";
  }
  std::string targets;
  for (const json& module : modules) {
    const std::string_view found = projections_of_module(module.get<std::string>(), model_type);
    if (found.empty()) settings.reject("lora target module '" + module.get<std::string>() + "' is not known");
    targets += (targets.empty() ? "" : ",") + std::string(found);
  }
  return targets;
}

void read_lora(Settings& settings, Config& config) {
  const json* lora = settings.find("lora");
  if (lora == nullptr) return;
  config.recipe.lora.rank = lora->at("r").get<std::int64_t>();
  config.recipe.lora.dropout = lora->at("lora_dropout").get<double>();
  config.recipe.lora.targets = lora_targets(settings, lora->at("target_modules"), config.model.model_type);
}

/// DeepSpeed's words, with the prefix that some have of stage 3 left out.
void read_zero(Settings& settings, Recipe& recipe) {
  const std::int64_t stage = settings.integer("stage", 0);
  if (stage == 1) recipe.data_parallel = DataParallel::zero1;
  if (stage == 2) recipe.data_parallel = DataParallel::zero2;
  if (stage == 3) recipe.data_parallel = DataParallel::zero3;
  if (stage < 1 || stage > 3) settings.reject("ZeRO stage " + std::to_string(stage) + " is not known");
  if (recipe.precision == Precision::bf16) recipe.precision = Precision::bf16_mixed;
  if (recipe.precision == Precision::fp16) recipe.precision = Precision::fp16_mixed;
  const json* words = settings.find("zero");
  if (words == nullptr) return;
  Settings zero(*words);
  const auto size = [&](const char* key, std::int64_t& target) { target = zero.integer(key, target); };
  size("reduce_bucket_size", recipe.zero_reduce_bucket_size);
  size("stage3_prefetch_bucket_size", recipe.zero_prefetch_bucket_size);
  size("stage3_param_persistence_threshold", recipe.zero_param_persistence_threshold);
  size("stage3_max_live_parameters", recipe.zero_max_live_parameters);
  size("stage3_max_reuse_distance", recipe.zero_max_reuse_distance);
  size("sub_group_size", recipe.zero_sub_group_size);
  recipe.zero_overlap_comm = zero.flag("overlap_comm");
  recipe.offload_optimizer = zero.find("offload_optimizer") != nullptr;
  recipe.offload_parameters = zero.find("offload_param") != nullptr;
  zero.find("allgather_bucket_size");  // parts are gathered into the flat weights themselves
  if (const std::string reasons = zero.reasons(); !reasons.empty()) settings.reject(reasons);
}

void read_parallel(Settings& settings, const std::string& kind, Recipe& recipe) {
  const std::int64_t world = settings.integer("world", 1);
  recipe.tensor_parallel = settings.integer("tensor_parallel", 1);
  recipe.sequence_parallel = settings.flag("sequence_parallel");
  if (settings.flag("loss_parallel")) recipe.loss = Loss::vocabulary_parallel;
  recipe.data_parallel_size = world / std::max<std::int64_t>(recipe.tensor_parallel, 1);
  if (kind == "ddp" || kind == "tune" || kind == "litgpt" || kind == "tp_plan" || kind == "foundry" || kind.empty()) {
    recipe.data_parallel = DataParallel::ddp;
    recipe.ddp_bucket_mb = settings.integer("bucket_cap_mb", recipe.ddp_bucket_mb);
    recipe.gradient_as_bucket_view = settings.flag("gradient_as_bucket_view");
    return;
  }
  if (kind == "zero") return read_zero(settings, recipe);
  recipe.data_parallel = DataParallel::fsdp;
  recipe.fsdp_version = kind == "fsdp1" ? 1 : 2;
  recipe.hybrid_shard_size = settings.integer("shard", 0);
  const std::string reshard = settings.text("reshard");
  if (reshard == "always") recipe.reshard_after_forward = Reshard::always;
  if (reshard == "never") recipe.reshard_after_forward = Reshard::never;
  const std::string wrap = settings.text("wrap");
  recipe.fsdp_wrap_embeddings = kind == "titan" || wrap == "torchtitan" || (kind == "tp" && wrap.empty());
  const std::string strategy = settings.text("strategy");
  if (strategy == "SHARD_GRAD_OP" || strategy == "_HYBRID_SHARD_ZERO2") {
    recipe.reshard_after_forward = Reshard::never;
  } else if (strategy == "NO_SHARD") {
    recipe.hybrid_shard_size = 1;
  } else if (!strategy.empty() && strategy != "FULL_SHARD" && strategy != "HYBRID_SHARD") {
    settings.reject("strategy '" + strategy + "' is not known");
  }
  recipe.fsdp_forward_prefetch = settings.flag("forward_prefetch");
  recipe.offload_parameters = settings.flag("offload");
  if (recipe.fsdp_version == 2)
    recipe.fsdp_gradient_sync =
        settings.flag("no_sync") ? GradientSync::last_micro_batch : GradientSync::each_micro_batch;
  const std::string prefetch = settings.text("backward_prefetch");
  if (prefetch == "BACKWARD_POST") recipe.fsdp_backward_prefetch = BackwardPrefetch::backward_post;
  if (prefetch == "NO_PREFETCH") recipe.fsdp_backward_prefetch = BackwardPrefetch::none;
}

void read_torchtitan(Settings& settings, Recipe& recipe, bool& keeps_last_block) {
  recipe.framework = Framework::torchtitan;
  recipe.fused_norm = settings.text("norm") == "fused";
  const json* last_block = settings.find("last_block_resharded");
  if (last_block != nullptr && *last_block == false) {
    if (recipe.reshard_after_forward == Reshard::always) keeps_last_block = true;
    if (recipe.reshard_after_forward == Reshard::automatic) recipe.reshard_after_forward = Reshard::all_but_last;
  }
  // Until it was a release's own: whether the recorded attention was given grouped heads.
  recipe.torchtitan_release = settings.flag("gqa") ? TorchtitanRelease::release_0_2_2 : TorchtitanRelease::before_0_2_2;
  settings.choose("release", recipe.torchtitan_release);
  settings.choose("loss", recipe.loss);
}

void read_torchtune(Settings& settings, Recipe& recipe) {
  recipe.framework = Framework::torchtune;
  settings.choose("loss", recipe.loss);
}

void read_litgpt(Recipe& recipe) {
  recipe.framework = Framework::litgpt;
  recipe.loss = Loss::chunked;
}

/// Composer's FSDP is FSDP1, with the modules wrapped as llm-foundry says.
void read_llm_foundry(Settings& settings, const json& model, Config& config) {
  // Unlike transformers' class, it has biases beside ALiBi, too.
  const bool bias = !model.value("no_bias", false);
  config.model.norm_bias = config.model.attention_bias = bias;
  config.model.attention_output_bias = config.model.mlp_bias = bias;
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::llm_foundry;
  recipe.attention = AttentionKernel::flash;
  recipe.loss = Loss::fused;
  recipe.fsdp_wrap_embeddings = true;
  recipe.fsdp_backward_prefetch = BackwardPrefetch::backward_post;
  if (settings.text("backward_prefetch") == "BACKWARD_PRE")
    recipe.fsdp_backward_prefetch = BackwardPrefetch::backward_pre;
  if (settings.text("strategy") == "SHARD_GRAD_OP") recipe.reshard_after_forward = Reshard::never;
  if (recipe.precision != Precision::fsdp_bf16) return;
  recipe.data_parallel = DataParallel::fsdp;
  recipe.fsdp_version = 1;
}

}  // namespace

HuggingFaceConfig huggingface_config(const json& object) {
  HuggingFaceConfig config;
  for (const auto& [key, value] : object.items()) {  // of a list: its places as keys
    HuggingFaceValue scalar;
    if (value.is_structured()) {
      for (auto& [name, nested] : huggingface_config(value)) config.emplace_back(key + "." + name, nested);
      continue;
    }
    if (value.is_boolean()) {
      scalar.kind = HuggingFaceValue::Kind::boolean;
      scalar.number = value.get<bool>() ? 1 : 0;
    } else if (value.is_number()) {
      scalar.kind = HuggingFaceValue::Kind::number;
      scalar.number = value.get<double>();
    } else if (value.is_string()) {
      scalar.kind = HuggingFaceValue::Kind::text;
      scalar.text = value.get<std::string>();
    }
    config.emplace_back(key, scalar);
  }
  return config;
}

std::string translate_case(const json& trace_case, Config& config, bool& keeps_last_block) {
  json model = trace_case.at("model");
  const std::string kind = trace_case.value("kind", "");
  if (kind == "titan" && model.value("model_type", "") == "llama (torchtitan)") model["model_type"] = "llama";
  Issues issues;
  config.model = model_from_huggingface(huggingface_config(model), issues);
  config.gpu.name = "any";
  config.gpu.memory_bytes = 80'000'000'000;

  Recipe& recipe = config.recipe;
  Settings settings(trace_case.at("config"));
  for (const Issue& issue : issues) settings.reject(issue.message);
  for (const char* of_no_consequence : {"temperature", "loss_type", "plan", "preset", "steps", "last_block_resharded",
                                        "limit_all_gathers", "use_orig_params", "static_graph"}) {
    settings.find(of_no_consequence);
  }
  recipe.framework = Framework::transformers;
  read_precision(settings, recipe);
  if (settings.text("attention") == "flash_attention_2") {
    recipe.attention = AttentionKernel::flash;
  } else {
    settings.choose("attention", recipe.attention);
  }
  read_checkpointing(settings, recipe);
  // torch.optim.Adam and AdamW differ in where the weight decay enters.
  if (settings.text("optimizer") == "adam")
    recipe.optimizer = Optimizer::adamw;
  else
    settings.choose("optimizer", recipe.optimizer);
  settings.choose("impl", recipe.optimizer_implementation);
  recipe.micro_batch_size = settings.integer("batch", 1);
  recipe.sequence_length = settings.integer("seq", 0);
  recipe.gradient_accumulation_steps = settings.integer("accumulation", 1);
  recipe.gradient_clipping = settings.find("clip") != nullptr;
  settings.choose("quantization", recipe.quantization);
  settings.choose("objective", recipe.objective);
  settings.choose("reference", recipe.reference_model);
  recipe.completion_length = settings.integer("completion", recipe.completion_length);
  recipe.old_log_probabilities = settings.flag("old_log_probabilities");
  recipe.frozen_layers = settings.integer("frozen_layers", 0);
  recipe.frozen_head = settings.flag("frozen_head");
  settings.choose("loop", recipe.training_loop);
  if (kind.empty() || kind == "ddp" || kind == "fsdp" || kind == "fsdp1") settings.choose("loss", recipe.loss);
  const bool output_freed = settings.flag("logits_freed_before_backward");
  if (output_freed || kind == "fsdp" || kind == "fsdp1" || kind == "ddp" || kind == "tp" || kind == "zero")
    recipe.training_loop = TrainingLoop::trainer;
  read_parallel(settings, kind, recipe);
  read_lora(settings, config);
  RouterAuxiliaryLoss& balance = config.model.experts.router_auxiliary_loss;
  recipe.padding = settings.text("attention_mask") == "padded";
  const bool has_mask = recipe.padding || settings.flag("attention_mask");
  if (has_mask && balance != RouterAuxiliaryLoss::none) balance = RouterAuxiliaryLoss::masked;
  if (settings.find("fast_path") != nullptr) config.recipe.fast_path = settings.flag("fast_path");
  // transformers' models as torch.distributed.tensor.parallel divides them.
  if (kind == "tp") recipe.framework = Framework::pytorch;
  if (kind == "titan") read_torchtitan(settings, recipe, keeps_last_block);
  if (kind == "tune") read_torchtune(settings, recipe);
  if (kind == "litgpt") read_litgpt(recipe);
  if (kind == "foundry") read_llm_foundry(settings, model, config);
  return settings.reasons();
}

}  // namespace trainmem
