// Arguments of transformers' Trainer and of TRL, on a command line or in a YAML or JSON file, and LLaMA-Factory's YAML,
// which has them too. Sources: huggingface/transformers 5.16, training_args.py; huggingface/trl 016013e8,
// trainer/sft_config.py, trainer/dpo_config.py, trainer/model_config.py; hiyouga/LLaMA-Factory 00577a85, hparams/*.py,
// model/adapter.py, model/model_utils/checkpointing.py.
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/fine_tuning.h"
#include "engine/launch/trl.h"
#include "engine/text/json_tree.h"

namespace trainmem {
namespace {

constexpr const char* whole_model = "The model compiled as one whole is not modelled.";
constexpr const char* other_file = "Bring that file too: it says how data parallelism works.";
constexpr const char* default_batch = "8";  // TrainingArguments.per_device_train_batch_size

constexpr KeyRule rules[] = {
    {"TrainingArguments", "/recipe/micro_batch_size", "", default_batch},  // calls without a batch size
    {"SFTConfig", "/recipe/micro_batch_size", "", default_batch},
    {"DPOConfig", "/recipe/micro_batch_size", "", default_batch},
    {"GRPOConfig", "/recipe/micro_batch_size", "", default_batch},
    {"RewardConfig", "/recipe/micro_batch_size", "", default_batch},
    {"ORPOConfig", "/recipe/micro_batch_size", "", default_batch},
    {"CPOConfig", "/recipe/micro_batch_size", "", default_batch},
    {"KTOConfig", "/recipe/micro_batch_size", "", default_batch},
    {"per_device_train_batch_size", "/recipe/micro_batch_size"},
    {"gradient_accumulation_steps", "/recipe/gradient_accumulation_steps"},
    {"max_length", "/recipe/sequence_length"},
    {"max_seq_length", "/recipe/sequence_length"},
    {"block_size", "/recipe/sequence_length"},
    {"model_max_length", "/recipe/sequence_length"},
    {"cutoff_len", "/recipe/sequence_length"},
    {"gradient_checkpointing", "/recipe/recomputation", "true", "full"},
    {"gradient_checkpointing", "/recipe/recomputation", "false", "none"},
    {"gradient_checkpointing", "/recipe/recomputation", "unsloth", "full"},
    {"gradient_checkpointing", "/recipe/offload_checkpoints", "unsloth", "1"},
    {"gradient_checkpointing_kwargs.use_reentrant", "/recipe/recomputation_reentrant"},
    {"disable_gradient_checkpointing", "/recipe/recomputation", "true", "none"},
    {"use_reentrant_gc", "/recipe/recomputation_reentrant"},
    {"activation_offloading", nullptr, "true", uncounted},
    {"max_grad_norm", "/recipe/gradient_clipping", "0", "0"},
    {"max_grad_norm", "/recipe/gradient_clipping", "0.0", "0"},
    {"max_grad_norm", "/recipe/gradient_clipping", "*", "1"},
    {"dtype", "/recipe/weights_dtype", "float32", "fp32"},
    {"dtype", "/recipe/weights_dtype", "bfloat16", "bf16"},
    {"dtype", "/recipe/weights_dtype", "float16", "fp16"},
    {"dtype", nullptr, "auto", "The checkpoint says it. Choose the number format of the weights under Precision."},
    {"torch_dtype", "/recipe/weights_dtype", "float32", "fp32"},
    {"torch_dtype", "/recipe/weights_dtype", "bfloat16", "bf16"},
    {"torch_dtype", "/recipe/weights_dtype", "float16", "fp16"},
    {"torch_dtype", nullptr, "auto",
     "The checkpoint says it. Choose the number format of the weights under Precision."},
    {"attn_implementation", "/recipe/attention", "eager", "eager"},
    {"attn_implementation", "/recipe/attention", "sdpa", "sdpa"},
    {"attn_implementation", "/recipe/attention", "flash_attention_2", "flash"},
    {"attn_implementation", "/recipe/attention", "flash_attention_3", "flash"},
    {"attn_implementation", "/recipe/attention", "kernels-community/flash-attn2", "flash"},
    {"attn_implementation", "/recipe/attention", "kernels-community/flash-attn3", "flash"},
    {"use_flash_attention_2", "/recipe/attention", "true", "flash"},
    {"use_flash_attn", "/recipe/attention", "true", "flash"},
    {"flash_attn", "/recipe/attention", "fa2", "flash"},
    {"flash_attn", "/recipe/attention", "fa3", "flash"},
    {"flash_attn", "/recipe/attention", "sdpa", "sdpa"},
    {"flash_attn", "/recipe/attention", "auto", "sdpa"},
    {"flash_attn", "/recipe/attention", "disabled", "eager"},
    {"use_liger_kernel", "/recipe/loss", "true", "fused_linear"},
    {"use_liger_kernel", "/recipe/fused_norm", "true", "1"},
    {"use_liger_kernel", "/recipe/fused_mlp", "true", "1"},
    {"use_liger_kernel", "/recipe/fused_rope", "true", "1"},
    {"enable_liger_kernel", "/recipe/loss", "true", "fused_linear"},
    {"enable_liger_kernel", "/recipe/fused_norm", "true", "1"},
    {"enable_liger_kernel", "/recipe/fused_mlp", "true", "1"},
    {"enable_liger_kernel", "/recipe/fused_rope", "true", "1"},
    {"load_in_8bit", "/recipe/quantization", "true", "int8"},
    {"load_in_8bit", "/recipe/quantization", "false", "none"},
    {"load_in_4bit", "/recipe/quantization", "true", "nf4"},
    {"quantization_bit", "/recipe/quantization", "8", "int8"},
    {"quantization_bit", "/recipe/quantization", "4", "nf4_double"},  // double_quantization is its default
    {"use_bnb_nested_quant", "/recipe/quantization", "true", "nf4_double"},
    {"lora_dropout", "/recipe/lora/dropout"},
    {"ddp_bucket_cap_mb", "/recipe/ddp_bucket_mb"},
    {"full_determinism", "/recipe/deterministic", "true", "1"},
    {"fsdp_config.activation_checkpointing", "/recipe/recomputation", "true", "full"},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_parameters", "true", "1"},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_optimizer", "true", "1"},
    {"torch_compile", nullptr, "true", whole_model},
    {"label_smoothing_factor", nullptr, "0", "Labels stay as they are."},
    {"label_smoothing_factor", nullptr, "0.0", "Labels stay as they are."},
    {"label_smoothing_factor", "/recipe/loss", "*", "label_smoothing"},
    {"neftune_noise_alpha", nullptr, "*", uncounted},
    {"auto_find_batch_size", nullptr, "true", "The micro-batch that fits is found while the run goes on."},
    {"config_file", nullptr, "*", other_file},
    {"fsdp_config", nullptr, "*", other_file},
    {"use_unsloth", nullptr, "true", "Unsloth's own kernels and checkpointing are not counted."},
    {"upcast_layernorm", nullptr, "true", uncounted},
    {"prepare_model_for_kbit_training", nullptr, "",
     "What it keeps in fp32 beside the quantised weights is not counted."},
    {"use_dora", nullptr, "true", "DoRA is counted as LoRA."},
    {"modules_to_save", nullptr, "*", uncounted},
    {"layers_to_transform", nullptr, "*", "Adapters are counted in every layer."},
    {"bnb_4bit_quant_storage", nullptr, "*", uncounted},
    {"precompute_ref_log_probs", "/recipe/reference_model", "true", "precomputed"},
    {"ref_model", "/recipe/reference_model", "copy", "copy"},
};

/// What the Trainer is told in the same words everywhere.
void finish_common(SettingsReading& reading) {
  take_model(reading, "model_name_or_path");
  take_model(reading, "model_name");
  take_optimizer(reading, "optim");
  take_launcher(reading);
  take_allocator(reading);
  take_fsdp(reading, "fsdp");
  take_deepspeed(reading, "deepspeed");
  take_deepspeed(reading, "deepspeed_config_file");
  take_packing(reading, is_set(reading, "padding_free") ? "padding_free" : "packing");
}

bool is_trl(const SettingsReading& reading) { return trl_trainer(reading) != nullptr; }

bool is_said(const SettingsReading& reading, const char* key) {
  return reading.find(key) != nullptr || reading.is_unread(key);
}

/// Is it PEFT that is called, which has defaults other than TRL's scripts?
bool calls_peft(const SettingsReading& reading) {
  const std::string* by = reading.find("use_peft");
  return by != nullptr && (*by == "LoraConfig" || by->find("get_peft_model") != std::string::npos);
}

void finish_adapters(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  const char* without = "Adapters need --use_peft.";
  const bool asked = is_set(reading, "use_peft") || is_set(reading, "use_peft_lora") || is_set(reading, "use_lora");
  // Scripts other than TRL's have switches of other names, or none.
  const bool on = asked || (reading.find("lora_r") != nullptr && !is_trl(reading));
  if (!on) {
    recipe.lora = Lora{};
    for (const char* key : {"lora_r", "lora_dropout", "lora_target_modules"}) reading.leave(key, without);
    return;
  }
  const char* key = reading.find("lora_r") != nullptr ? "lora_r" : "use_peft";
  const std::string by_default = calls_peft(reading) ? "8" : "16";
  reading.apply(key, "/recipe/lora/rank", key[0] == 'u' ? by_default : *reading.find(key));
  for (const char* one : {"use_peft", "use_peft_lora", "use_lora"}) {
    if (is_set(reading, one)) reading.note(one, "/recipe/lora/rank", std::to_string(recipe.lora.rank));
  }
  recipe.lora.targets = "q,v";  // PEFT's choice for most models
  take_lora_targets(reading, "lora_target_modules");
  if (is_trl(reading) && !calls_peft(reading) && !is_said(reading, "lora_dropout")) recipe.lora.dropout = 0.05;
}

/// TRL's own defaults: SFTConfig's packing is off. Unsloth ignores the mask that padding makes (models/llama.py:
/// LlamaModel_fast_forward).
void finish_trl(SettingsReading& reading) {
  const TrlTrainer& trainer = *trl_trainer(reading);
  const char* key = trainer.key;
  reading.note(key, "/recipe/training_loop", "trainer");
  if (!is_said(reading, "gradient_checkpointing")) reading.apply(key, "/recipe/recomputation", "full");
  if (!is_said(reading, "max_length") && !is_said(reading, "max_seq_length"))
    reading.apply(key, "/recipe/sequence_length", "1024");
  if (reading.find("bf16") == nullptr && !is_set(reading, "fp16"))
    reading.apply(key, "/recipe/precision", "bf16_autocast");
  take_objective(reading, trainer);
  take_padding_of_objective(reading, key);
  const Recipe& recipe = reading.out().config.recipe;
  const bool said = is_said(reading, "packing") || is_said(reading, "padding_free") || is_set(reading, "use_unsloth");
  if (recipe.objective == Objective::next_token && !said)
    reading.apply(key, "/recipe/padding", recipe.micro_batch_size > 1 ? "1" : "0");
}

void finish(SettingsReading& reading) {
  finish_common(reading);
  finish_adapters(reading);
  const Recipe& recipe = reading.out().config.recipe;
  const bool said = is_said(reading, "dtype") || is_said(reading, "torch_dtype");
  const bool by_default = is_trl(reading) && reading.find("bf16") == nullptr && !is_set(reading, "fp16");
  if (!by_default || recipe.framework == Framework::deepspeed) take_precision(reading);
  if (is_trl(reading)) finish_trl(reading);
  if (!said && recipe.framework != Framework::deepspeed) {
    reading.out().unused.push_back({"dtype", "",
                                    "It is not there: weights are counted as fp32. transformers 5 loads a checkpoint "
                                    "in its own format; if that is meant, say dtype bfloat16."});
  }
  reading.list_unread(rules, static_cast<int>(std::size(rules)),
                      {"model_name_or_path", "optim", "fsdp", "deepspeed", "bf16", "fp16", "lora_r",
                       "lora_target_modules", "lora_dropout"});
}

/// All layers are checkpointed unless that is switched off.
Config start_llamafactory() {
  Config config = trainer_defaults();
  config.recipe.recomputation = Recomputation::full;
  config.recipe.recomputation_reentrant = true;
  return config;
}

/// model/adapter.py, _setup_freeze_tuning: the last layers alone are trained.
void take_frozen_layers(SettingsReading& reading) {
  constexpr const char* key = "freeze_trainable_layers";
  const std::int64_t trained = reading.integer(key, 2);
  const Import& out = reading.out();
  const std::int64_t layers = out.config.model.num_hidden_layers;
  const std::string* all = reading.find("freeze_trainable_modules");
  if (!out.has_model || trained < 1 || trained > layers || (all != nullptr && *all != "all")) {
    reading.leave(key, "Counted are last layers of a model that is known here, whole.");
    return;
  }
  const char* by = reading.find(key) != nullptr ? key : "finetuning_type";
  reading.apply(by, "/recipe/frozen_layers", std::to_string(layers - trained));
  reading.apply(by, "/recipe/frozen_head", "1");
}

/// hparams/finetuning_args.py: pref_loss; train/rm: a head for values beside that of the vocabulary.
void take_stage(SettingsReading& reading) {
  const std::string* stage = reading.find("stage");
  if (stage == nullptr || *stage == "sft" || *stage == "pt") return;
  const char* of_dpo =
      "Counted is the step of TRL's trainer: LLaMA-Factory's own takes log-probabilities of all sequences at once, "
      "which is more.";
  if (*stage == "dpo") {
    const std::string* loss = reading.find("pref_loss");
    const bool alone = loss != nullptr && (*loss == "orpo" || *loss == "simpo");
    reading.apply("stage", "/recipe/objective", "dpo");
    if (alone) reading.apply("pref_loss", "/recipe/objective", *loss);
    reading.out().unused.push_back({"stage", *stage, of_dpo});
  } else if (*stage == "kto") {
    reading.apply("stage", "/recipe/objective", "kto");
    reading.out().unused.push_back({"stage", *stage, of_dpo});
  } else if (*stage == "rm") {
    reading.apply("stage", "/recipe/objective", "reward");
    reading.out().unused.push_back({"stage", *stage,
                                    "Counted is the step of TRL's RewardTrainer: LLaMA-Factory's model keeps the head "
                                    "and its logits beside the score, which is more."});
  } else {
    return reading.leave("stage", other_loss);
  }
  take_padding_of_objective(reading, "stage");
}

/// Weights are loaded in the format of the computation; those that are trained are made fp32, unless pure_bf16 is set.
void finish_llamafactory(SettingsReading& reading) {
  finish_common(reading);
  Recipe& recipe = reading.out().config.recipe;
  const std::string* type = reading.find("finetuning_type");
  const bool full = type != nullptr && *type == "full";
  const bool freezes = type != nullptr && *type == "freeze";
  if (type == nullptr || *type == "lora") {
    const std::string* rank = reading.find("lora_rank");
    const char* key = rank != nullptr ? "lora_rank" : "finetuning_type";
    reading.apply(key, "/recipe/lora/rank", rank != nullptr ? *rank : "8");
    if (type != nullptr) reading.note("finetuning_type", "/recipe/lora/rank", std::to_string(recipe.lora.rank));
    take_lora_targets(reading, "lora_target");
  } else if (full) {
    reading.note("finetuning_type", "/recipe/lora/rank", "0");
  } else if (*type == "freeze") {
    take_frozen_layers(reading);
  } else {
    reading.leave("finetuning_type", "Counted are lora, freeze and full.");
  }
  take_stage(reading);
  take_precision(reading);
  if (is_set(reading, "pure_bf16")) {
    reading.apply("pure_bf16", "/recipe/precision", "bf16");
    recipe.weights_dtype = DType::automatic;
  } else if (freezes) {
    reading.out().unused.push_back(
        {"finetuning_type", *type, "Frozen weights are counted in fp32, as the trained ones."});
  } else if (!full && recipe.precision == Precision::bf16_autocast) {
    reading.apply("bf16", "/recipe/weights_dtype", "bf16");
  } else if (!full && recipe.precision == Precision::fp16_autocast) {
    reading.apply("fp16", "/recipe/weights_dtype", "fp16");
  }
}

/// A command line, a block of YAML, or JSON. TRL's script is known by its name.
Settings read(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '{') return read_json_settings(parse_json(text).root);
  Settings out = read_yaml(text);
  if (is_trainer(out)) return out;
  out = read_dataclass_arguments(text);
  if (const TrlTrainer* trainer = trl_script(text)) out.push_back({trainer->key, trainer->script});
  return out;
}

constexpr int rule_count = static_cast<int>(std::size(rules));

constexpr SettingsFormat format = {"trainer", "Trainer arguments", "train.sh", rules,   rule_count,
                                   false,     trainer_defaults,    finish,     nullptr, read,
                                   nullptr};
constexpr SettingsFormat llamafactory = {"llamafactory", "LLaMA-Factory YAML", "train.yaml",        rules,   rule_count,
                                         false,          start_llamafactory,   finish_llamafactory, nullptr, read,
                                         nullptr};

}  // namespace

bool is_trainer(const Settings& settings) {
  return has_any(settings, {"per_device_train_batch_size", "model_name_or_path", "num_train_epochs", "use_peft",
                            "gradient_checkpointing"});
}

bool is_llamafactory(const Settings& settings) { return has_any(settings, {"finetuning_type", "cutoff_len"}); }

SettingsFormat like_trainer(const char* name, const char* title, const char* file,
                            Settings (*read_text)(std::string_view)) {
  SettingsFormat other = format;
  other.name = name;
  other.title = title;
  other.file = file;
  other.read = read_text;
  return other;
}

const SettingsFormat& trainer_format() { return format; }
const SettingsFormat& llamafactory_format() { return llamafactory; }

}  // namespace trainmem
