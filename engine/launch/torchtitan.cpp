// torchtitan's TOML. Source: pytorch/torchtitan, torchtitan/config/job_config.py (keys and defaults).
#include <algorithm>
#include <cstring>
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/format.h"
#include "engine/presets/apply.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

constexpr KeyRule rules[] = {
    {"training.local_batch_size", "/recipe/micro_batch_size", nullptr, nullptr, Write::always},
    {"training.batch_size", "/recipe/micro_batch_size", nullptr, nullptr, Write::never},  // its name until May 2025
    {"training.seq_len", "/recipe/sequence_length", nullptr, nullptr, Write::always},
    {"training.max_norm", "/recipe/gradient_clipping", "*", "1"},
    {"training.dtype", "/recipe/precision", "bfloat16", "bf16"},
    {"training.mixed_precision_param", "/recipe/precision", "bfloat16", "fsdp_bf16"},
    {"training.mixed_precision_param", "/recipe/precision", "float32", "fp32"},
    {"training.mixed_precision_reduce", "/recipe/gradient_reduce_dtype", "float32", "auto"},
    {"training.enable_cpu_offload", "/recipe/offload_parameters", "true", "1"},
    {"training.enable_cpu_offload", "/recipe/offload_optimizer", "true", "1"},
    {"training.enable_cpu_offload", "/recipe/offload_parameters", "false", "0"},
    {"optimizer.name", "/recipe/optimizer", "AdamW", "adamw"},
    {"optimizer.name", "/recipe/optimizer", "Adam", "adamw", Write::never},
    {"optimizer.implementation", "/recipe/optimizer_implementation", "fused", "fused"},
    {"optimizer.implementation", "/recipe/optimizer_implementation", "foreach", "foreach"},
    {"optimizer.implementation", "/recipe/optimizer_implementation", "for-loop", "for_loop"},
    {"optimizer.early_step_in_backward", "/recipe/optimizer_implementation", "true", "in_backward"},
    {"parallelism.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "default", "auto"},
    {"parallelism.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "always", "always"},
    {"parallelism.fsdp_reshard_after_forward", "/recipe/reshard_after_forward", "never", "never"},
    {"parallelism.tensor_parallel_degree", "/recipe/tensor_parallel"},
    {"parallelism.pipeline_parallel_degree", "/recipe/pipeline_parallel"},
    {"parallelism.pipeline_parallel_schedule", "/recipe/pipeline_schedule", "1F1B", "1f1b"},
    {"parallelism.pipeline_parallel_schedule", "/recipe/pipeline_schedule", "GPipe", "gpipe"},
    {"parallelism.pipeline_parallel_schedule", "/recipe/pipeline_schedule", "Interleaved1F1B", "interleaved"},
    {"parallelism.pipeline_parallel_schedule", "/recipe/pipeline_schedule", "InterleavedZeroBubble", "zero_bubble"},
    {"parallelism.pipeline_parallel_schedule", "/recipe/pipeline_schedule", "ZBVZeroBubble", "zero_bubble",
     Write::never},
    {"parallelism.context_parallel_degree", "/recipe/context_parallel"},
    {"parallelism.expert_parallel_degree", "/recipe/expert_parallel"},
    {"parallelism.expert_tensor_parallel_degree", "/recipe/expert_tensor_parallel"},
    {"parallelism.enable_async_tensor_parallel", nullptr, "true", uncounted},
};

struct Flavor {
  const char* name;
  const char* flavor;
  const char* preset;
};
/// torchtitan/models/*/__init__.py: flavours whose sizes are those of the published models.
constexpr Flavor flavors[] = {
    {"llama3", "8B", "llama3.1-8b"},
    {"llama3", "70B", "llama3.1-70b"},
    {"llama3", "405B", "llama3.1-405b"},
    {"llama4", "17bx16e", "llama4-scout"},
    {"llama4", "17bx128e", "llama4-maverick"},
    {"deepseek_v3", "16B", "deepseek-v2-lite"},
    {"deepseek_v3", "236B", "deepseek-v2"},
    {"deepseek_v3", "671B", "deepseek-v3"},
    {"qwen3", "0.6B", "qwen3-0.6b"},
    {"qwen3", "1.7B", "qwen3-1.7b"},
    {"qwen3", "4B", "qwen3-4b"},
    {"qwen3", "8B", "qwen3-8b"},
    {"qwen3", "14B", "qwen3-14b"},
    {"qwen3", "32B", "qwen3-32b"},
    {"qwen3", "30B-A3B", "qwen3-30b-a3b"},
    {"qwen3", "235B-A22B", "qwen3-235b-a22b"},
};

Config start() {
  Config config;
  // Later than 0.2.2 its settings are Python (9810191bb).
  config.recipe = default_recipe(Framework::torchtitan, TorchtitanRelease::release_0_2_2);
  config.recipe.micro_batch_size = 8;
  config.recipe.sequence_length = 2048;
  config.recipe.recomputation = Recomputation::every_k;  // mode "selective", selective_ac_option "2"
  config.recipe.fused_norm = true;                       // nn.RMSNorm is one kernel
  return config;
}

void finish_model(SettingsReading& reading) {
  const std::string* name = reading.find("model.name");
  const std::string* flavor = reading.find("model.flavor");
  if (name == nullptr || flavor == nullptr) return;
  for (const Flavor& known : flavors) {
    if (*name != known.name || *flavor != known.flavor) continue;
    Import& out = reading.out();
    apply_model_preset(known.preset, out.config, out.issues);
    out.has_model = true;
    reading.apply("model.name", "/model/model_type", out.config.model.model_type);
    reading.apply("model.flavor", "/model/num_hidden_layers", std::to_string(out.config.model.num_hidden_layers));
    return;
  }
  reading.leave("model.flavor", "No preset is known for this flavour: choose the model.");
}

void finish_recomputation(SettingsReading& reading) {
  constexpr const char* path = "/recipe/recomputation";
  const std::string* mode = reading.find("activation_checkpoint.mode");
  const std::string* option = reading.find("activation_checkpoint.selective_ac_option");
  if (mode != nullptr && *mode != "selective") {
    reading.apply("activation_checkpoint.mode", path, *mode);
    reading.leave("activation_checkpoint.selective_ac_option", "It counts with mode \"selective\" only.");
    return;
  }
  const bool operations = option != nullptr && *option == "op";
  const char* const ours = operations ? "selective_operations" : "every_k";
  if (mode != nullptr) reading.apply("activation_checkpoint.mode", path, ours);
  if (option == nullptr) return;
  if (operations) {
    reading.apply("activation_checkpoint.selective_ac_option", path, ours);
  } else {
    reading.apply("activation_checkpoint.selective_ac_option", "/recipe/recomputation_interval", *option);
  }
}

void finish_data_parallel(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  constexpr const char* replicate_key = "parallelism.data_parallel_replicate_degree";
  constexpr const char* shard_key = "parallelism.data_parallel_shard_degree";
  const std::int64_t replicate = reading.integer(replicate_key, 1);
  const std::int64_t shard = reading.integer(shard_key, -1);
  if (reading.find(replicate_key) != nullptr)
    reading.apply(replicate_key, "/recipe/data_parallel_size", std::to_string(replicate * (shard > 0 ? shard : 1)));
  if (shard < 1) {
    reading.leave(shard_key, "-1 means all GPUs of the run: say how many in data_parallel_size.");
  } else if (shard == 1) {
    reading.apply(shard_key, "/recipe/data_parallel", "ddp");
  } else {
    reading.apply(shard_key, "/recipe/data_parallel_size", std::to_string(replicate * shard));
    if (replicate > 1) reading.apply(shard_key, "/recipe/hybrid_shard_size", std::to_string(shard));
  }
  if (recipe.tensor_parallel > 1) {  // torchtitan's plan is always sequence parallel
    recipe.sequence_parallel = true;
    const bool loss_parallel = !reading.is_on("parallelism.disable_loss_parallel");
    recipe.loss = loss_parallel ? Loss::vocabulary_parallel : Loss::full;
    if (reading.find("parallelism.disable_loss_parallel") != nullptr)
      reading.apply("parallelism.disable_loss_parallel", "/recipe/loss",
                    loss_parallel ? "vocabulary_parallel" : "full");
  }
}

void finish_batches(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  if (recipe.pipeline_parallel > 1) {  // the local batch passes the pipeline in micro-batches
    const std::int64_t micro = reading.integer("parallelism.pipeline_parallel_microbatch_size", 1);
    const std::int64_t local = recipe.micro_batch_size;
    if (micro > 0 && local % micro == 0) {
      recipe.micro_batch_size = micro;
      recipe.gradient_accumulation_steps = local / micro;
      if (reading.find("parallelism.pipeline_parallel_microbatch_size") != nullptr)
        reading.apply("parallelism.pipeline_parallel_microbatch_size", "/recipe/micro_batch_size",
                      std::to_string(micro));
    }
    return;
  }
  const std::int64_t global = reading.integer("training.global_batch_size", -1);
  const std::int64_t step = recipe.micro_batch_size * recipe.data_parallel_size;
  if (global > 0 && global % step == 0) {
    reading.apply("training.global_batch_size", "/recipe/gradient_accumulation_steps", std::to_string(global / step));
  }
}

void finish_compiled(SettingsReading& reading) {
  for (const char* key : {"compile.enable", "training.compile"}) {  // the second: its place until August 2025
    if (reading.find(key) == nullptr) continue;
    const std::string* components = reading.find("compile.components");
    const bool on = reading.is_on(key);
    const auto has = [&](const char* part) {
      return on && (components == nullptr || components->find(part) != std::string::npos);
    };
    reading.apply(key, "/recipe/compile_blocks", has("model") ? "1" : "0");
    if (components != nullptr) reading.apply("compile.components", "/recipe/compile_loss", has("loss") ? "1" : "0");
    reading.out().config.recipe.compile_loss = has("loss");
  }
  const std::string* converters = reading.find("model.converters");
  if (converters != nullptr && converters->find("float8") != std::string::npos)
    reading.apply("model.converters", "/recipe/precision", "fp8");
}

void finish(SettingsReading& reading) {
  finish_model(reading);
  finish_recomputation(reading);
  finish_data_parallel(reading);
  finish_batches(reading);
  finish_compiled(reading);
}

void extra(const Config& config, Settings& out) {
  const Recipe& recipe = config.recipe;
  for (const Flavor& known : flavors) {
    if (config.model_preset != known.preset) continue;
    out.push_back({"model.name", known.name});
    out.push_back({"model.flavor", known.flavor});
  }
  if (recipe.precision == Precision::fp8) out.push_back({"model.converters", "[\"quantize.linear.float8\"]"});
  const bool pipeline = recipe.pipeline_parallel > 1;
  const std::int64_t local = recipe.micro_batch_size * (pipeline ? recipe.gradient_accumulation_steps : Size(1));
  out.push_back({"training.local_batch_size", std::to_string(local)});
  if (!pipeline && recipe.gradient_accumulation_steps > 1) {
    out.push_back({"training.global_batch_size",
                   std::to_string(local * recipe.data_parallel_size * recipe.gradient_accumulation_steps)});
  }
  const bool sharded = recipe.data_parallel == DataParallel::fsdp;
  const std::int64_t shard = !sharded                       ? 1
                             : recipe.hybrid_shard_size > 0 ? recipe.hybrid_shard_size
                                                            : recipe.data_parallel_size.value();
  out.push_back({"parallelism.data_parallel_replicate_degree", std::to_string(recipe.data_parallel_size / shard)});
  out.push_back({"parallelism.data_parallel_shard_degree", std::to_string(shard)});
  if (recipe.tensor_parallel > 1 && recipe.loss == Loss::full)
    out.push_back({"parallelism.disable_loss_parallel", "true"});
  if (pipeline)
    out.push_back({"parallelism.pipeline_parallel_microbatch_size", std::to_string(recipe.micro_batch_size)});
  switch (recipe.recomputation) {
    case Recomputation::full: out.push_back({"activation_checkpoint.mode", "full"}); break;
    case Recomputation::none: out.push_back({"activation_checkpoint.mode", "none"}); break;
    case Recomputation::selective_operations:
    case Recomputation::selective_attention:
    case Recomputation::selective_modules:
    case Recomputation::every_k: {
      const bool every = recipe.recomputation == Recomputation::every_k;
      out.push_back({"activation_checkpoint.mode", "selective"});
      out.push_back({"activation_checkpoint.selective_ac_option",
                     every ? '"' + std::to_string(recipe.recomputation_interval) + '"' : "op"});
      break;
    }
  }
  if (recipe.compile_blocks || recipe.compile_loss) {
    out.push_back({"compile.enable", "true"});
    out.push_back({"compile.components", recipe.compile_blocks && recipe.compile_loss ? "[\"model\", \"loss\"]"
                                         : recipe.compile_blocks                      ? "[\"model\"]"
                                                                                      : "[\"loss\"]"});
  }
}

constexpr SettingsFormat format = {"torchtitan",
                                   "torchtitan TOML",
                                   "train_config.toml",
                                   rules,
                                   static_cast<int>(std::size(rules)),
                                   false,
                                   start,
                                   finish,
                                   extra,
                                   read_toml,
                                   write_toml};

}  // namespace

bool is_torchtitan(const Settings& settings) {
  constexpr std::string_view sections =
      "job,profiling,metrics,model,optimizer,lr_scheduler,training,parallelism,"
      "checkpoint,activation_checkpoint,compile,float8,quantize,comm,experimental";
  return std::any_of(settings.begin(), settings.end(), [&](const Setting& setting) {
    const std::size_t dot = setting.key.find('.');
    return dot != std::string::npos && has_item(sections, std::string_view(setting.key).substr(0, dot));
  });
}

const SettingsFormat& torchtitan_format() { return format; }

}  // namespace trainmem
