// The YAML of `accelerate config`. Source: huggingface/accelerate, src/accelerate/commands/config/cluster.py and
// utils/dataclasses.py (FullyShardedDataParallelPlugin).
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/format.h"

namespace trainmem {
namespace {

constexpr KeyRule rules[] = {
    {"num_processes", "/recipe/data_parallel_size", nullptr, nullptr, Write::always},
    {"gradient_accumulation_steps", "/recipe/gradient_accumulation_steps", nullptr, nullptr, Write::never},
    {"fsdp_config.fsdp_version", "/recipe/fsdp_version", nullptr, nullptr, Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "full_shard", "auto", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "1", "auto", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "shard_grad_op", "never", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "2", "never", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/hybrid_shard_size", "no_shard", "1", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/hybrid_shard_size", "3", "1", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "hybrid_shard", "auto", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "4", "auto", Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "hybrid_shard_zero2", "never",
     Write::never},
    {"fsdp_config.fsdp_sharding_strategy", "/recipe/reshard_after_forward", "5", "never", Write::never},
    {"fsdp_config.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "true", "auto", Write::never},
    {"fsdp_config.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "false", "never", Write::never},
    {"fsdp_config.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "full_shard", "auto", Write::never},
    {"fsdp_config.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "shard_grad_op", "never", Write::never},
    {"fsdp_config.fsdp_activation_checkpointing", "/recipe/recomputation", "true", "full", Write::never},
    {"fsdp_config.fsdp_activation_checkpointing", "/recipe/recomputation", "false", "none", Write::never},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_parameters", "true", "1", Write::never},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_optimizer", "true", "1", Write::never},
    {"fsdp_config.fsdp_offload_params", "/recipe/offload_parameters", "false", "0", Write::never},
    {"fsdp_config.fsdp_cpu_offload", "/recipe/offload_parameters", "true", "1", Write::never},
    {"fsdp_config.fsdp_cpu_offload", "/recipe/offload_optimizer", "true", "1", Write::never},
    {"fsdp_config.fsdp_cpu_offload", "/recipe/offload_parameters", "false", "0", Write::never},
    {"fsdp_config.fsdp_forward_prefetch", "/recipe/fsdp_forward_prefetch", "true", "1", Write::never},
    {"fsdp_config.fsdp_forward_prefetch", "/recipe/fsdp_forward_prefetch", "false", "0", Write::never},
    {"fsdp_config.fsdp_backward_prefetch", "/recipe/fsdp_backward_prefetch", "backward_pre", "backward_pre",
     Write::never},
    {"fsdp_config.fsdp_backward_prefetch", "/recipe/fsdp_backward_prefetch", "backward_post", "backward_post",
     Write::never},
    {"fsdp_config.fsdp_backward_prefetch", "/recipe/fsdp_backward_prefetch", "no_prefetch", "none", Write::never},
    {"fsdp_config.fsdp_backward_prefetch_policy", "/recipe/fsdp_backward_prefetch", "backward_pre", "backward_pre",
     Write::never},
    {"fsdp_config.fsdp_backward_prefetch_policy", "/recipe/fsdp_backward_prefetch", "backward_post", "backward_post",
     Write::never},
    {"fsdp_config.fsdp_backward_prefetch_policy", "/recipe/fsdp_backward_prefetch", "no_prefetch", "none",
     Write::never},
    {"deepspeed_config.zero_stage", "/recipe/data_parallel", "0", "ddp"},
    {"deepspeed_config.zero_stage", "/recipe/data_parallel", "1", "zero1"},
    {"deepspeed_config.zero_stage", "/recipe/data_parallel", "2", "zero2"},
    {"deepspeed_config.zero_stage", "/recipe/data_parallel", "3", "zero3"},
    {"deepspeed_config.gradient_accumulation_steps", "/recipe/gradient_accumulation_steps", nullptr, nullptr,
     Write::never},
    {"deepspeed_config.gradient_clipping", "/recipe/gradient_clipping", "*", "1"},
    {"deepspeed_config.offload_optimizer_device", "/recipe/offload_optimizer", "none", "0", Write::never},
    {"deepspeed_config.offload_optimizer_device", "/recipe/offload_optimizer", "cpu", "1", Write::never},
    {"deepspeed_config.offload_optimizer_device", "/recipe/offload_optimizer", "nvme", "1", Write::never},
    {"deepspeed_config.offload_param_device", "/recipe/offload_parameters", "none", "0", Write::never},
    {"deepspeed_config.offload_param_device", "/recipe/offload_parameters", "cpu", "1", Write::never},
    {"deepspeed_config.offload_param_device", "/recipe/offload_parameters", "nvme", "1", Write::never},
};

Config start() {
  Config config;
  config.recipe = default_recipe(Framework::transformers);
  config.recipe.precision = Precision::fp32;
  config.recipe.fsdp_version = 1;
  config.recipe.fsdp_wrap_embeddings = false;  // TRANSFORMER_BASED_WRAP: the embedding stays in the root's group
  return config;
}

void finish(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  const std::string* kind = reading.find("distributed_type");
  const std::string word = kind == nullptr ? "no" : lower_case(*kind);
  const bool zero = word == "deepspeed";
  if (zero) {
    recipe.framework = Framework::deepspeed;
    recipe.optimizer_implementation = OptimizerImplementation::fused;
    reading.apply("distributed_type", "/recipe/framework", "deepspeed");
  } else if (word == "fsdp") {
    const std::string* strategy = reading.find("fsdp_config.fsdp_sharding_strategy");
    const std::string name = strategy == nullptr ? "" : lower_case(*strategy);
    const bool hybrid = name == "hybrid_shard" || name == "4" || name == "hybrid_shard_zero2" || name == "5";
    reading.apply("distributed_type", "/recipe/data_parallel", "fsdp");
    // FullyShardedDataParallelPlugin: nothing is prefetched unless the settings say so.
    if (recipe.fsdp_version == 1 && reading.find("fsdp_config.fsdp_backward_prefetch") == nullptr &&
        reading.find("fsdp_config.fsdp_backward_prefetch_policy") == nullptr)
      recipe.fsdp_backward_prefetch = BackwardPrefetch::none;
    const std::int64_t machines = reading.integer("num_machines", 1);
    if (hybrid && machines > 1 && recipe.data_parallel_size % machines == 0)
      reading.apply("num_machines", "/recipe/hybrid_shard_size", std::to_string(recipe.data_parallel_size / machines));
  } else if (kind != nullptr) {
    reading.apply("distributed_type", "/recipe/data_parallel", "ddp");
  }
  if (recipe.data_parallel != DataParallel::fsdp) {  // how it would shard is not the file's to say
    const Recipe unsaid = default_recipe(recipe.framework);
    recipe.fsdp_version = unsaid.fsdp_version;
    recipe.fsdp_wrap_embeddings = unsaid.fsdp_wrap_embeddings;
  }
  const std::string* precision = reading.find("mixed_precision");
  if (precision == nullptr) return;
  const std::string type = lower_case(*precision);
  const bool sharded = recipe.data_parallel == DataParallel::fsdp && recipe.data_parallel_size > 1;
  if (type != "bf16" && type != "fp16") {
    reading.apply("mixed_precision", "/recipe/precision", type == "fp8" ? "fp8" : "fp32");
  } else if (zero) {
    reading.apply("mixed_precision", "/recipe/precision", type + "_mixed");
  } else {
    reading.apply("mixed_precision", "/recipe/precision", sharded && type == "bf16" ? "fsdp_bf16" : type + "_autocast");
    // FullyShardedDataParallelPlugin.set_mixed_precision: one format for parameters and for reduction.
    if (sharded && type == "bf16" && recipe.fsdp_version == 2)
      reading.apply("mixed_precision", "/recipe/gradient_reduce_dtype", "bf16");
  }
}

const char* precision_word(Precision precision) {
  switch (precision) {
    case Precision::bf16_autocast:
    case Precision::fsdp_bf16:
    case Precision::bf16_mixed: return "bf16";
    case Precision::fp16_autocast:
    case Precision::fp16_mixed: return "fp16";
    case Precision::fp8: return "fp8";
    case Precision::fp32:
    case Precision::bf16:
    case Precision::fp16: break;
  }
  return "no";
}

const char* prefetch_word(BackwardPrefetch prefetch) {
  switch (prefetch) {
    case BackwardPrefetch::backward_pre: return "BACKWARD_PRE";
    case BackwardPrefetch::backward_post: return "BACKWARD_POST";
    case BackwardPrefetch::none: break;
  }
  return "NO_PREFETCH";
}

void extra(const Config& config, Settings& out) {
  const Recipe& recipe = config.recipe;
  const bool zero = recipe.data_parallel == DataParallel::zero1 || recipe.data_parallel == DataParallel::zero2 ||
                    recipe.data_parallel == DataParallel::zero3;
  const bool sharded = recipe.data_parallel == DataParallel::fsdp;
  const char* kind = zero ? "DEEPSPEED" : sharded ? "FSDP" : recipe.data_parallel_size > 1 ? "MULTI_GPU" : "NO";
  out.push_back({"compute_environment", "LOCAL_MACHINE"});
  out.push_back({"distributed_type", kind});
  out.push_back({"mixed_precision", precision_word(recipe.precision)});
  const bool hybrid = sharded && recipe.hybrid_shard_size > 0;
  const std::int64_t machines = hybrid && recipe.hybrid_shard_size > 1
                                    ? recipe.data_parallel_size / recipe.hybrid_shard_size
                                    : (recipe.data_parallel_size + 7) / 8;
  out.push_back({"num_machines", std::to_string(machines)});
  out.push_back({"num_processes", std::to_string(recipe.data_parallel_size)});
  if (zero) {
    if (recipe.gradient_accumulation_steps > 1)  // without DeepSpeed it is the script's
      out.push_back(
          {"deepspeed_config.gradient_accumulation_steps", std::to_string(recipe.gradient_accumulation_steps)});
    if (recipe.offload_optimizer) out.push_back({"deepspeed_config.offload_optimizer_device", "cpu"});
    if (recipe.offload_parameters) out.push_back({"deepspeed_config.offload_param_device", "cpu"});
  }
  if (sharded) {
    out.push_back({"fsdp_config.fsdp_version", std::to_string(recipe.fsdp_version)});
    out.push_back({"fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"});
    if (recipe.recomputation == Recomputation::full)
      out.push_back({"fsdp_config.fsdp_activation_checkpointing", "true"});
    if (recipe.offload_parameters && recipe.offload_optimizer)
      out.push_back({"fsdp_config.fsdp_offload_params", "true"});
    const bool kept = recipe.reshard_after_forward == Reshard::never;
    if (recipe.fsdp_version == 2) {
      out.push_back({"fsdp_config.fsdp_reshard_after_forward", kept ? "false" : "true"});
    } else {
      const char* strategy = kept ? "SHARD_GRAD_OP" : "FULL_SHARD";
      if (hybrid) strategy = kept ? "HYBRID_SHARD_ZERO2" : "HYBRID_SHARD";
      if (recipe.hybrid_shard_size == 1) strategy = "NO_SHARD";
      out.push_back({"fsdp_config.fsdp_sharding_strategy", strategy});
      out.push_back({"fsdp_config.fsdp_backward_prefetch", prefetch_word(recipe.fsdp_backward_prefetch)});
      out.push_back({"fsdp_config.fsdp_forward_prefetch", recipe.fsdp_forward_prefetch ? "true" : "false"});
    }
  }
}

constexpr SettingsFormat format = {
    "accelerate", "accelerate YAML", "accelerate.yaml", rules, static_cast<int>(std::size(rules)), false, start, finish,
    extra,        read_yaml,         write_yaml};

}  // namespace

const SettingsFormat& accelerate_format() { return format; }

}  // namespace trainmem
