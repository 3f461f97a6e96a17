// DeepSpeed's JSON. Source: deepspeedai/DeepSpeed, deepspeed/runtime/config.py, runtime/zero/config.py, constants.py.
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/format.h"

namespace trainmem {
namespace {

// transformers src/transformers/integrations/deepspeed.py: trainer_config_finalize.
constexpr const char* of_the_model =
    "The Trainer takes it from the model's hidden_size h: h*h for the reduction, 0.9*h*h to prefetch, 10*h to persist. "
    "Counted here is DeepSpeed's default.";
constexpr const char* in_place = "Weights are gathered where they lie: its size changes nothing.";
constexpr const char* autotp =
    "AutoTP divides transformers' layers, which is not modelled; tensor_parallel is that of Megatron-DeepSpeed's "
    "script.";
constexpr const char* own_checkpoints = "It counts for models that call deepspeed.checkpointing.";

constexpr KeyRule rules[] = {
    {"train_micro_batch_size_per_gpu", "/recipe/micro_batch_size", nullptr, nullptr, Write::always},
    {"gradient_accumulation_steps", "/recipe/gradient_accumulation_steps", nullptr, nullptr, Write::always},
    {"gradient_clipping", "/recipe/gradient_clipping", "0", "0"},
    {"gradient_clipping", "/recipe/gradient_clipping", "*", "1"},
    {"bf16.enabled", "/recipe/precision", "true", "bf16_mixed"},
    {"bf16.enabled", "/recipe/precision", "auto", "bf16_mixed", Write::never},
    {"bfloat16.enabled", "/recipe/precision", "true", "bf16_mixed", Write::never},
    {"fp16.enabled", "/recipe/precision", "true", "fp16_mixed"},
    {"optimizer.type", "/recipe/optimizer", "AdamW", "adamw"},
    {"optimizer.type", "/recipe/optimizer", "Adam", "adamw", Write::never},
    {"optimizer.type", "/recipe/optimizer", "Adagrad", "adagrad"},
    {"optimizer.type", "/recipe/optimizer", "Lion", "lion"},
    {"optimizer.type", "/recipe/optimizer", "Muon", "muon"},
    {"optimizer.type", "/recipe/optimizer", "SGD", "sgd"},
    {"zero_optimization.stage", "/recipe/data_parallel", "0", "ddp", Write::always},
    {"zero_optimization.stage", "/recipe/data_parallel", "1", "zero1", Write::always},
    {"zero_optimization.stage", "/recipe/data_parallel", "2", "zero2", Write::always},
    {"zero_optimization.stage", "/recipe/data_parallel", "3", "zero3", Write::always},
    {"zero_optimization.offload_optimizer.device", "/recipe/offload_optimizer", "cpu", "1"},
    {"zero_optimization.offload_optimizer.device", "/recipe/offload_optimizer", "nvme", "1", Write::never},
    {"zero_optimization.offload_optimizer.device", "/recipe/offload_optimizer", "none", "0"},
    {"zero_optimization.offload_param.device", "/recipe/offload_parameters", "cpu", "1"},
    {"zero_optimization.offload_param.device", "/recipe/offload_parameters", "nvme", "1", Write::never},
    {"zero_optimization.offload_param.device", "/recipe/offload_parameters", "none", "0"},
    {"zero_optimization.reduce_bucket_size", nullptr, "auto", of_the_model},
    {"zero_optimization.reduce_bucket_size", "/recipe/zero_reduce_bucket_size"},
    {"zero_optimization.stage3_prefetch_bucket_size", nullptr, "auto", of_the_model},
    {"zero_optimization.stage3_prefetch_bucket_size", "/recipe/zero_prefetch_bucket_size"},
    {"zero_optimization.stage3_param_persistence_threshold", nullptr, "auto", of_the_model},
    {"zero_optimization.stage3_param_persistence_threshold", "/recipe/zero_param_persistence_threshold"},
    {"zero_optimization.stage3_max_live_parameters", "/recipe/zero_max_live_parameters"},
    {"zero_optimization.stage3_max_reuse_distance", "/recipe/zero_max_reuse_distance"},
    {"zero_optimization.sub_group_size", "/recipe/zero_sub_group_size"},
    {"zero_optimization.allgather_bucket_size", nullptr, "*", in_place},
    {"zero_optimization.overlap_comm", "/recipe/zero_overlap_comm", "true", "1"},
    {"zero_optimization.overlap_comm", "/recipe/zero_overlap_comm", "false", "0"},
    {"zero_optimization.contiguous_gradients", nullptr, "false", uncounted},
    {"zero_optimization.zero_hpz_partition_size", nullptr, "*", uncounted},
    {"zero_optimization.zero_quantized_weights", nullptr, "true", uncounted},
    {"activation_checkpointing.partition_activations", nullptr, "true", own_checkpoints},
    {"activation_checkpointing.cpu_checkpointing", nullptr, "true", own_checkpoints},
    {"data_types.grad_accum_dtype", "/recipe/gradients_dtype", "fp32", "fp32"},
    {"tensor_parallel.autotp_size", nullptr, "*", autotp},
};

Config start() {
  Config config;
  config.recipe = default_recipe(Framework::deepspeed);
  config.recipe.precision = Precision::fp32;
  config.recipe.gradient_clipping = false;
  return config;
}

void finish(SettingsReading& reading) {
  const Recipe& recipe = reading.out().config.recipe;
  const std::int64_t all = reading.integer("train_batch_size", 0);
  const std::int64_t step = recipe.micro_batch_size * recipe.gradient_accumulation_steps;
  if (all > 0 && reading.find("train_micro_batch_size_per_gpu") != nullptr && all % step == 0) {
    reading.apply("train_batch_size", "/recipe/data_parallel_size", std::to_string(all / step));
  } else {
    reading.leave("train_batch_size",
                  "It says the number of GPUs where train_micro_batch_size_per_gpu stands beside it.");
  }
}

void extra(const Config& config, Settings& out) {
  const Recipe& recipe = config.recipe;
  if (recipe.gradient_clipping) out.push_back({"gradient_clipping", "1.0"});
  out.push_back({"train_batch_size", std::to_string(recipe.micro_batch_size * recipe.gradient_accumulation_steps *
                                                    recipe.data_parallel_size)});
}

Settings read(std::string_view text) { return read_json_settings(parse_json(text).root); }

constexpr SettingsFormat format = {"deepspeed",
                                   "DeepSpeed JSON",
                                   "ds_config.json",
                                   rules,
                                   static_cast<int>(std::size(rules)),
                                   false,
                                   start,
                                   finish,
                                   extra,
                                   read,
                                   write_json_settings};

}  // namespace

const SettingsFormat& deepspeed_format() { return format; }

}  // namespace trainmem
