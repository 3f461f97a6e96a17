// The YAML of accelerate, read and written.
#include <algorithm>
#include <string>

#include "engine/config/text.h"
#include "engine/launch/export.h"
#include "engine/launch/import.h"
#include "tests/catch.h"
#include "tests/imports.h"

using namespace trainmem;

// huggingface/trl examples/accelerate_configs/fsdp2.yaml
TEST_CASE("accelerate YAML: TRL's FSDP2 file") {
  const Import import = import_text(R"(# Requires accelerate 1.7.0 or higher
compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: FULL_STATE_DICT
  fsdp_version: 2
machine_rank: 0
mixed_precision: bf16
num_machines: 1
num_processes: 8
tpu_env: []
)");
  CHECK(import.format == "accelerate");
  CHECK(value(import, "/recipe/data_parallel") == "fsdp");
  CHECK(value(import, "/recipe/data_parallel_size") == "8");
  CHECK(value(import, "/recipe/fsdp_version") == "2");
  CHECK(value(import, "/recipe/precision") == "fsdp_bf16");
  CHECK(value(import, "/recipe/reshard_after_forward") == "auto");
  CHECK(is_unused(import, "fsdp_config.fsdp_state_dict_type"));
}

TEST_CASE("accelerate YAML: hybrid sharding, DeepSpeed, plain data parallelism") {
  const Import hybrid = import_text(
      "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 4\nnum_processes: 32\n"
      "fsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n");
  CHECK(value(hybrid, "/recipe/fsdp_version") == "1");
  CHECK(value(hybrid, "/recipe/hybrid_shard_size") == "8");
  CHECK(value(hybrid, "/recipe/fsdp_backward_prefetch") == "none");  // accelerate's default, not PyTorch's
  const Import zero = import_text(
      "deepspeed_config:\n  zero_stage: 2\n  gradient_accumulation_steps: 4\ndistributed_type: DEEPSPEED\n"
      "mixed_precision: bf16\nnum_processes: 8\n");
  CHECK(value(zero, "/recipe/data_parallel") == "zero2");
  CHECK(value(zero, "/recipe/precision") == "bf16_mixed");
  CHECK(value(zero, "/recipe/gradient_accumulation_steps") == "4");
  const Import plain = import_text("distributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 2\n");
  CHECK(value(plain, "/recipe/data_parallel") == "ddp");
  CHECK(value(plain, "/recipe/precision") == "fp16_autocast");
}

TEST_CASE("accelerate YAML: the words of FSDP1 go in and out") {
  const auto import_of = [](const std::string& lines) {
    return import_text(
        "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\nfsdp_config:\n" + lines);
  };
  const Import ahead = import_of(
      "  fsdp_backward_prefetch: BACKWARD_POST\n  fsdp_forward_prefetch: true\n"
      "  fsdp_sharding_strategy: HYBRID_SHARD_ZERO2\n");
  CHECK(value(ahead, "/recipe/fsdp_backward_prefetch") == "backward_post");
  CHECK(value(ahead, "/recipe/fsdp_forward_prefetch") == "1");
  CHECK(value(ahead, "/recipe/reshard_after_forward") == "never");
  CHECK(value(ahead, "/recipe/hybrid_shard_size") == "8");
  const Import whole = import_of("  fsdp_backward_prefetch_policy: BACKWARD_PRE\n  fsdp_sharding_strategy: NO_SHARD\n");
  CHECK(value(whole, "/recipe/data_parallel") == "fsdp");
  CHECK(value(whole, "/recipe/hybrid_shard_size") == "1");
  CHECK(value(whole, "/recipe/fsdp_backward_prefetch") == "backward_pre");
  for (const Import& import : {ahead, whole}) {
    Config config = import.config;
    config.model_preset = "llama3.2-1b";
    const Import again = import_text(export_settings(accelerate_format(), config).text);
    for (const char* path : {"/recipe/fsdp_backward_prefetch", "/recipe/fsdp_forward_prefetch",
                             "/recipe/reshard_after_forward", "/recipe/hybrid_shard_size"}) {
      CAPTURE(path);
      CHECK(value(again, path) == value(import, path));
    }
  }
}

// accelerate/commands/config/config_args.py: ClusterConfig refuses keys that it does not know, and YAML takes NO for
// false.
TEST_CASE("accelerate YAML: keys stand where accelerate looks for them") {
  const auto text_of = [](DataParallel kind, Export& out) {
    Config config;
    config.recipe.data_parallel = kind;
    config.recipe.data_parallel_size = kind == DataParallel::ddp ? 1 : 8;
    config.recipe.gradient_accumulation_steps = 4;
    config.recipe.recomputation = Recomputation::full;
    config.recipe.offload_optimizer = config.recipe.offload_parameters = true;
    out = export_settings(accelerate_format(), config);
    return out.text;
  };
  const auto says_nothing_of = [](const Export& out, const std::string& path) {
    return std::find(out.not_said.begin(), out.not_said.end(), path) != out.not_said.end();
  };
  Export out;
  const std::string single = text_of(DataParallel::ddp, out);
  CHECK(single.find("distributed_type: 'NO'\n") != std::string::npos);
  CHECK(single.find("_config:") == std::string::npos);
  CHECK(single.find("gradient_accumulation_steps") == std::string::npos);
  CHECK(says_nothing_of(out, "/recipe/gradient_accumulation_steps"));
  const std::string zero = text_of(DataParallel::zero3, out);
  CHECK(zero.find("\n  gradient_accumulation_steps: 4\n") != std::string::npos);
  CHECK(zero.find("\n  offload_optimizer_device: cpu\n  offload_param_device: cpu\n") != std::string::npos);
  CHECK(zero.find("fsdp_") == std::string::npos);
  CHECK(says_nothing_of(out, "/recipe/recomputation"));
  const std::string sharded = text_of(DataParallel::fsdp, out);
  CHECK(sharded.find("\n  fsdp_offload_params: true\n") != std::string::npos);
  CHECK(sharded.find("\n  fsdp_activation_checkpointing: true\n") != std::string::npos);
  CHECK(sharded.find("deepspeed_config") == std::string::npos);
  CHECK(says_nothing_of(out, "/recipe/gradient_accumulation_steps"));
}
