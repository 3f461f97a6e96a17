// Sources: huggingface/transformers 5.16, training_args.py (OptimizerNames, fsdp); huggingface/accelerate,
// utils/dataclasses.py (FullyShardedDataParallelPlugin); names of DeepSpeed's files: hiyouga/LLaMA-Factory
// examples/deepspeed, axolotl-ai-cloud/axolotl deepspeed_configs.
#include "engine/launch/fine_tuning.h"

#include <algorithm>
#include <string_view>

#include "engine/config/values.h"
#include "engine/launch/module_names.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

struct OptimizerWord {
  const char* theirs;
  const char* optimizer;
  const char* implementation;  ///< null: it has but one
};

constexpr OptimizerWord optimizers[] = {
    {"adamw_torch", "adamw", "foreach"},
    {"adamw_torch_fused", "adamw", "fused"},
    {"adamw_apex_fused", "adamw", "fused"},
    {"adamw_hf", "adamw", "for_loop"},
    {"adamw_bnb_8bit", "adamw_8bit", nullptr},
    {"adamw_8bit", "adamw_8bit", nullptr},
    {"paged_adamw_32bit", "adamw_paged", nullptr},
    {"paged_adamw", "adamw_paged", nullptr},
    {"paged_adamw_8bit", "adamw_paged_8bit", nullptr},
    {"adamw_torch_8bit", "adamw_torchao_8bit", nullptr},
    {"adamw_torch_4bit", "adamw_torchao_4bit", nullptr},
    {"ao_adamw_8bit", "adamw_torchao_8bit", nullptr},
    {"ao_adamw_4bit", "adamw_torchao_4bit", nullptr},
    {"ao_adamw_fp8", "adamw_torchao_fp8", nullptr},
    {"adafactor", "adafactor_hf", nullptr},
    {"sgd", "sgd", nullptr},
    {"adagrad", "adagrad", nullptr},
    {"rmsprop", "rmsprop", nullptr},
    {"lion_32bit", "lion", nullptr},
    {"lion_8bit", "lion_8bit", nullptr},
    {"ademamix", "ademamix", nullptr},
    {"ademamix_8bit", "ademamix_8bit", nullptr},
    {"galore_adamw", "galore", nullptr},
    {"apollo_adamw", "apollo", nullptr},
    {"schedule_free_adamw", "adamw_schedule_free", nullptr},
    {"schedule_free_sgd", "sgd_schedule_free", nullptr},
    {"muon", "muon_adamw", nullptr},
    {"came_pytorch", "came", nullptr},
};

constexpr std::string_view every_projection = "q,k,v,o,gate,up,down,other";

/// The words of "[a, 'b']", "a,b" or "a b".
std::vector<std::string_view> items(std::string_view list) {
  constexpr std::string_view between = " ,[]'\"";
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t first = list.find_first_not_of(between);
    if (first == std::string_view::npos) return out;
    list.remove_prefix(first);
    out.push_back(list.substr(0, list.find_first_of(between)));
    list.remove_prefix(out.back().size());
  }
}

/// The digit in "ds_z3_config", "zero2", "stage_1"; 0 if there is none.
char zero_stage(std::string_view name) {
  for (std::size_t at = 1; at < name.size(); ++at) {
    if (name[at] < '0' || name[at] > '3') continue;
    std::string_view before = name.substr(0, at);
    if (before.back() == '_' || before.back() == '-') before.remove_suffix(1);
    for (const std::string_view word : {"zero", "stage", "z"}) {
      if (before.size() >= word.size() && before.substr(before.size() - word.size()) == word) return name[at];
    }
  }
  return 0;
}

bool contains(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

}  // namespace

Config trainer_defaults() {
  Config config;
  config.recipe = default_recipe(Framework::transformers);
  config.recipe.training_loop = TrainingLoop::trainer;
  config.recipe.optimizer_implementation = OptimizerImplementation::fused;  // adamw_torch_fused, from PyTorch 2.8 on
  return config;
}

bool has_any(const Settings& settings, std::initializer_list<const char*> keys) {
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
    return std::any_of(keys.begin(), keys.end(), [&](const char* key) { return setting.key == key; });
  });
}

bool is_set(const SettingsReading& reading, const char* key) {
  const std::string* value = reading.find(key);
  if (value == nullptr) return false;
  const std::string word = lower_case(*value);
  for (const char* no : {"", "false", "no", "off", "0", "none", "null", "[]", "~"}) {
    if (word == no) return false;
  }
  return true;
}

void take_model(SettingsReading& reading, const char* key) {
  const std::string* value = reading.find(key);
  if (value == nullptr) return;
  const PresetText* preset = find_checkpoint(*value);
  if (preset == nullptr) {
    reading.leave(key,
                  "No model here has this name, so the model stays as it is: choose it, or bring its config.json.");
    return;
  }
  Issues none;
  apply_model_preset(preset->id, reading.out().config, none);
  reading.out().has_model = true;
  reading.note(key, "/model", std::string(preset->id));
}

void take_optimizer(SettingsReading& reading, const char* key) {
  const std::string* value = reading.find(key);
  if (value == nullptr) return;
  const std::string word = lower_case(*value);
  for (const OptimizerWord& known : optimizers) {
    if (word != known.theirs) continue;
    reading.apply(key, "/recipe/optimizer", known.optimizer);
    if (known.implementation != nullptr) reading.apply(key, "/recipe/optimizer_implementation", known.implementation);
    return;
  }
  reading.leave(key, "This optimizer is not known here.");
}

void take_deepspeed(SettingsReading& reading, const char* key) {
  if (!is_set(reading, key)) return;
  const std::string path = lower_case(*reading.find(key));
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const char stage = zero_stage(name);
  if (stage == 0) {
    reading.leave(key, "Bring that file too: its name does not say its ZeRO stage.");
    return;
  }
  Recipe& recipe = reading.out().config.recipe;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  reading.apply(key, "/recipe/framework", "deepspeed");
  reading.apply(key, "/recipe/data_parallel", stage == '0' ? "ddp" : std::string("zero") + stage);
  if (!contains(name, "offload")) return;
  const bool weights_alone = contains(name, "params");
  if (!weights_alone) reading.apply(key, "/recipe/offload_optimizer", "1");
  if (stage == '3') reading.apply(key, "/recipe/offload_parameters", "1");
}

void take_fsdp(SettingsReading& reading, const char* key) {
  if (!is_set(reading, key)) return;
  const std::string words = lower_case(*reading.find(key));
  Recipe& recipe = reading.out().config.recipe;
  reading.apply(key, "/recipe/data_parallel", "fsdp");
  // Words for the strategy are those of FSDP1, and of transformers before 5.
  const bool first = contains(words, "shard");
  const std::int64_t otherwise = reading.integer("fsdp_config.fsdp_version", first ? 1 : 2);
  recipe.fsdp_version = reading.integer("fsdp_version", otherwise);
  recipe.fsdp_wrap_embeddings = false;  // TRANSFORMER_BASED_WRAP: the embedding stays in the root's group
  if (recipe.fsdp_version == 1) recipe.fsdp_backward_prefetch = BackwardPrefetch::none;
  if (contains(words, "shard_grad_op")) reading.apply(key, "/recipe/reshard_after_forward", "never");
  if (contains(words, "offload")) {
    reading.apply(key, "/recipe/offload_parameters", "1");
    reading.apply(key, "/recipe/offload_optimizer", "1");
  }
}

void take_lora_targets(SettingsReading& reading, const char* key) {
  const std::string* value = reading.find(key);
  if (value == nullptr) return;
  std::string found;
  std::string unknown;
  for (const std::string_view name : items(*value)) {
    const bool all = name == "all" || name == "all-linear";
    const std::string_view known =
        all ? every_projection : projections_of_module(name, reading.out().config.model.model_type);
    std::string& list = known.empty() ? unknown : found;
    list += (list.empty() ? "" : known.empty() ? ", " : ",") + std::string(known.empty() ? name : known);
  }
  std::string targets;
  for_each_item(every_projection, [&](std::string_view projection) {
    if (has_item(found, projection)) targets += (targets.empty() ? "" : ",") + std::string(projection);
  });
  if (targets.empty()) {
    reading.leave(key, "None of these names is a projection that is known here.");
    return;
  }
  reading.apply(key, "/recipe/lora/targets", targets);
  if (!unknown.empty()) reading.out().unused.push_back({key, unknown, "Adapters there are not counted."});
}

void take_packing(SettingsReading& reading, const char* key) {
  if (reading.find(key) == nullptr) return;
  const bool pads = !is_set(reading, key) && reading.out().config.recipe.micro_batch_size > 1;
  reading.apply(key, "/recipe/padding", pads ? "1" : "0");
}

void take_padding_of_objective(SettingsReading& reading, const char* key) {
  const Recipe& recipe = reading.out().config.recipe;
  if (recipe.objective == Objective::next_token || is_set(reading, "padding_free")) return;
  const bool alone = recipe.objective == Objective::kto && recipe.micro_batch_size == 1;
  reading.apply(key, "/recipe/padding", alone ? "0" : "1");
}

void take_precision(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  const bool bf16 = is_set(reading, "bf16");
  if (!bf16 && !is_set(reading, "fp16")) {
    recipe.precision = recipe.weights_dtype == DType::bfloat16  ? Precision::bf16
                       : recipe.weights_dtype == DType::float16 ? Precision::fp16
                                                                : Precision::fp32;
    return;
  }
  const char* key = bf16 ? "bf16" : "fp16";
  const DataParallel kind = recipe.data_parallel;
  const bool zero = recipe.framework == Framework::deepspeed;
  const bool sharded = kind == DataParallel::fsdp && bf16;
  reading.apply(key, "/recipe/precision", sharded ? "fsdp_bf16" : std::string(key) + (zero ? "_mixed" : "_autocast"));
  // DeepSpeed makes the weights 16 bits wide, whatever they were loaded as.
  if (zero) recipe.weights_dtype = DType::automatic;
}

void take_launcher(SettingsReading& reading) {
  constexpr const char* path = "/recipe/data_parallel_size";
  struct Launcher {
    const char* gpus;
    const char* nodes;  ///< null: the first counts those of all nodes
  };
  for (const Launcher& launcher :
       {Launcher{"nproc_per_node", "nnodes"}, Launcher{"num_processes", nullptr}, Launcher{"num_gpus", "num_nodes"}}) {
    const std::int64_t gpus = reading.integer(launcher.gpus, 0);
    if (gpus == 0) {
      reading.leave(launcher.gpus, "Put the number of GPUs in.");
      continue;
    }
    const std::int64_t nodes = launcher.nodes == nullptr ? 1 : reading.integer(launcher.nodes, 1);
    const std::string size = std::to_string(gpus * nodes);
    reading.apply(launcher.gpus, path, size);
    if (launcher.nodes != nullptr && reading.find(launcher.nodes) != nullptr) reading.apply(launcher.nodes, path, size);
  }
}

}  // namespace trainmem
