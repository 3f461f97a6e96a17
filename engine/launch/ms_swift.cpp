// ms-swift's arguments, on a command line or in YAML. Source: modelscope/ms-swift 3602360a,
// swift/arguments/sft_args.py, tuner_args.py, rlhf_args.py, base_args/model_args.py (_init_mixed_precision),
// quant_args.py; trainers/arguments.py (defaults), mixin.py (_fix_gradient_checkpointing, prepare_logits_to_keep);
// config/*.json; cli/main.py (NPROC_PER_NODE).
#include <iterator>

#include "engine/config/values.h"
#include "engine/launch/fine_tuning.h"

namespace trainmem {
namespace {

constexpr const char* other_task = "Counted is the training of a causal language model.";
constexpr const char* parts_frozen = "Which weights that freezes is not counted.";

constexpr KeyRule rules[] = {
    {"per_device_train_batch_size", "/recipe/micro_batch_size"},
    {"gradient_accumulation_steps", "/recipe/gradient_accumulation_steps"},
    {"max_length", "/recipe/sequence_length"},
    {"gradient_checkpointing", "/recipe/recomputation", "true", "full"},
    {"gradient_checkpointing", "/recipe/recomputation", "false", "none"},
    {"max_grad_norm", "/recipe/gradient_clipping", "0", "0"},
    {"max_grad_norm", "/recipe/gradient_clipping", "0.0", "0"},
    {"max_grad_norm", "/recipe/gradient_clipping", "*", "1"},
    {"torch_dtype", "/recipe/weights_dtype", "bfloat16", "bf16"},
    {"torch_dtype", "/recipe/weights_dtype", "float16", "fp16"},
    {"torch_dtype", "/recipe/weights_dtype", "float32", "fp32"},
    {"attn_impl", "/recipe/attention", "flash_attn", "flash"},
    {"attn_impl", "/recipe/attention", "flash_attention_2", "flash"},
    {"attn_impl", "/recipe/attention", "flash_attention_3", "flash"},
    {"attn_impl", "/recipe/attention", "sdpa", "sdpa"},
    {"attn_impl", "/recipe/attention", "eager", "eager"},
    {"attn_impl", nullptr, "flex_attention", "FlexAttention is counted as PyTorch's fused attention."},
    {"use_liger_kernel", "/recipe/loss", "true", "fused_linear"},
    {"use_liger_kernel", "/recipe/fused_norm", "true", "1"},
    {"use_liger_kernel", "/recipe/fused_mlp", "true", "1"},
    {"use_liger_kernel", "/recipe/fused_rope", "true", "1"},
    {"quant_bits", "/recipe/quantization", "4", "nf4_double"},  // bnb_4bit_use_double_quant is on by default
    {"quant_bits", "/recipe/quantization", "8", "int8"},
    {"lora_dropout", "/recipe/lora/dropout"},
    {"use_galore", "/recipe/optimizer", "true", "galore"},
    {"use_dora", nullptr, "true", "DoRA is counted as LoRA."},
    {"modules_to_save", nullptr, "*", uncounted},
    {"target_regex", nullptr, "*", uncounted},
    {"target_parameters", nullptr, "*", uncounted},
    {"freeze_parameters", nullptr, "*", parts_frozen},
    {"freeze_parameters_ratio", nullptr, "*", parts_frozen},
    {"freeze_llm", nullptr, "true", parts_frozen},
    {"sequence_parallel_size", nullptr, "*", "Context parallelism of transformers' classes is not modelled."},
    {"deepspeed_autotp_size", nullptr, "*", "DeepSpeed's tensor parallelism of transformers' classes is not modelled."},
    {"task_type", nullptr, "seq_cls", other_task},
    {"task_type", nullptr, "embedding", other_task},
    {"task_type", nullptr, "reranker", other_task},
    {"task_type", nullptr, "generative_reranker", other_task},
    {"rlhf_type", "/recipe/objective", "dpo", "dpo"},
    {"rlhf_type", nullptr, "*", other_loss},
};

/// Every block is recomputed; one sequence is a micro-batch.
Config start() {
  Config config = trainer_defaults();
  config.recipe.micro_batch_size = 1;
  config.recipe.recomputation = Recomputation::full;
  return config;
}

void take_adapters(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  const char* key = reading.find("tuner_type") != nullptr ? "tuner_type" : "train_type";  // the name before 4.0
  const std::string* type = reading.find(key);
  if (type != nullptr && *type == "full") {
    recipe.lora = Lora{};
    return reading.note(key, "/recipe/lora/rank", "0");
  }
  if (type != nullptr && *type != "lora") return reading.leave(key, "Counted are lora and full.");
  const std::string* rank = reading.find("lora_rank");
  const char* by = rank != nullptr ? "lora_rank" : type != nullptr ? key : "swift";
  const bool dropout_said = reading.find("lora_dropout") != nullptr;
  reading.apply(by, "/recipe/lora/rank", rank != nullptr ? *rank : "8");
  if (type != nullptr) reading.note(key, "/recipe/lora/rank", std::to_string(recipe.lora.rank));
  if (!dropout_said) recipe.lora.dropout = 0.05;
  recipe.lora.targets = "q,k,v,o,gate,up,down,other";
  take_lora_targets(reading, "target_modules");
}

/// Both the format of the weights and the precision follow from torch_dtype, which the checkpoint says otherwise.
void take_formats(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  const std::string* dtype = reading.find("torch_dtype");
  if (dtype == nullptr) {
    recipe.weights_dtype = DType::bfloat16;
    reading.out().unused.push_back({"torch_dtype", "",
                                    "It is not there: the checkpoint says it, and is taken to be in bfloat16, as most "
                                    "are."});
  }
  const bool bf16 = recipe.weights_dtype == DType::bfloat16;
  const char* by = dtype != nullptr ? "torch_dtype" : "swift";
  const std::string format = bf16 ? "bf16" : "fp16";
  const bool zero = recipe.framework == Framework::deepspeed;
  const bool sharded = recipe.data_parallel == DataParallel::fsdp && bf16;
  reading.apply(by, "/recipe/precision", sharded ? "fsdp_bf16" : format + (zero ? "_mixed" : "_autocast"));
  if (zero) recipe.weights_dtype = DType::automatic;
}

void take_reentrancy(SettingsReading& reading) {
  Recipe& recipe = reading.out().config.recipe;
  recipe.recomputation_reentrant = recipe.data_parallel_size == 1 || recipe.data_parallel != DataParallel::ddp;
  const std::string* words = reading.find("gradient_checkpointing_kwargs");
  if (words == nullptr) return;
  const bool off = words->find("false") != std::string::npos;
  reading.apply("gradient_checkpointing_kwargs", "/recipe/recomputation_reentrant", off ? "0" : "1");
}

void finish(SettingsReading& reading) {
  take_model(reading, "model");
  take_optimizer(reading, "optim");
  take_launcher(reading);
  take_allocator(reading);
  take_fsdp(reading, "fsdp");
  take_deepspeed(reading, "deepspeed");
  take_adapters(reading);
  take_formats(reading);
  take_reentrancy(reading);
  take_padding_of_objective(reading, "rlhf_type");
  if (is_set(reading, "swift")) reading.note("swift", "/recipe/training_loop", "trainer");
  const std::string* on = reading.find("use_logits_to_keep");
  if (on != nullptr && *on == "false") return;
  reading.out().unused.push_back({"use_logits_to_keep", on != nullptr ? *on : "",
                                  "Logits are counted for every token; ms-swift computes those of answers alone."});
}

/// The command "swift sft", "swift pt" or "swift rlhf", with the number of GPUs before it.
Settings read(std::string_view text) {
  Settings out = read_yaml(text);
  if (is_ms_swift(out)) return out;
  out = read_dataclass_arguments(text);
  for (const char* variable : {"NPROC_PER_NODE", "NNODES"}) {
    const std::string name = std::string(variable) + "=";
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    const std::string_view value = text.substr(at + name.size());
    out.push_back({lower_case(variable), std::string(value.substr(0, value.find_first_of(" \t\r\n\\")))});
  }
  if (const std::string_view command = ms_swift_command(text); !command.empty())
    out.push_back({"swift", std::string(command)});
  return out;
}

constexpr SettingsFormat format = {"ms_swift",
                                   "ms-swift arguments",
                                   "train.sh",
                                   rules,
                                   static_cast<int>(std::size(rules)),
                                   false,
                                   start,
                                   finish,
                                   nullptr,
                                   read,
                                   nullptr};

}  // namespace

bool is_ms_swift(const Settings& settings) { return has_any(settings, {"tuner_type", "train_type"}); }

std::string_view ms_swift_command(std::string_view text) {
  constexpr std::string_view program = "swift ";
  for (const std::string_view command : {"sft", "pt", "rlhf"}) {
    const std::size_t at = text.find(std::string(program) + std::string(command));
    const bool begins = at == 0 || (at != std::string_view::npos && (text[at - 1] == ' ' || text[at - 1] == '\n'));
    if (begins) return command;
  }
  return {};
}

const SettingsFormat& ms_swift_format() { return format; }

}  // namespace trainmem
