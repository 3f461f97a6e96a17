// Sources: huggingface/trl f2cd5771, trl/scripts, examples/scripts, trainer/grpo_config.py, trainer/reward_config.py,
// experimental/orpo/orpo_config.py, experimental/cpo/cpo_config.py.
#include "engine/launch/trl.h"

#include <string>

#include "engine/launch/fine_tuning.h"

namespace trainmem {
namespace {

constexpr TrlTrainer trainers[] = {
    {"sft", "sft.py", "trl sft", "SFTConfig", "next_token"},
    {"dpo", "dpo.py", "trl dpo", "DPOConfig", "dpo"},
    {"grpo", "grpo.py", "trl grpo", "GRPOConfig", "grpo"},
    {"reward", "reward.py", "trl reward", "RewardConfig", "reward"},
    {"reward", "reward_modeling.py", "reward_modeling.py", "RewardConfig", "reward"},
    {"orpo", "orpo.py", "orpo.py", "ORPOConfig", "orpo"},
    {"cpo", "cpo.py", "cpo.py", "CPOConfig", "cpo"},
    {"kto", "kto.py", "trl kto", "KTOConfig", "kto"},
};

bool says(const SettingsReading& reading, const char* key, std::string_view value) {
  const std::string* said = reading.find(key);
  return said != nullptr && *said == value;
}

bool is_zero(const std::string& number) { return number.find_first_not_of("0.") == std::string::npos; }

/// Where vLLM shares the GPU, and what the policy computes again for it.
void take_vllm(SettingsReading& reading) {
  if (!is_set(reading, "use_vllm")) return;
  const bool corrects = !says(reading, "vllm_importance_sampling_correction", "false") &&
                        !says(reading, "vllm_importance_sampling_correction", "False");
  reading.apply("use_vllm", "/recipe/old_log_probabilities", corrects ? "1" : "0");
  if (says(reading, "vllm_mode", "server")) return reading.note("vllm_mode", "/recipe/vllm_memory_fraction", "0");
  if (is_set(reading, "vllm_enable_sleep_mode"))
    return reading.note("vllm_enable_sleep_mode", "/recipe/vllm_memory_fraction", "0");
  const std::string* share = reading.find("vllm_gpu_memory_utilization");
  const char* by = share != nullptr ? "vllm_gpu_memory_utilization" : "use_vllm";
  reading.apply(by, "/recipe/vllm_memory_fraction", share != nullptr ? *share : "0.3");
  if (reading.find("vllm_mode") != nullptr) reading.note("vllm_mode", "/recipe/vllm_memory_fraction", "colocate");
}

/// What a prompt has is the data's: 512 tokens, as GRPOConfig had for long, unless max_prompt_length says otherwise.
void take_completions(SettingsReading& reading) {
  const std::int64_t completion = reading.integer("max_completion_length", 512);
  const char* by = reading.find("max_completion_length") != nullptr ? "max_completion_length" : "grpo";
  reading.apply(by, "/recipe/completion_length", std::to_string(completion));
  const char* of_prompt = reading.find("max_prompt_length") != nullptr ? "max_prompt_length" : by;
  const std::int64_t prompt = reading.integer("max_prompt_length", 512);
  reading.apply(of_prompt, "/recipe/sequence_length", std::to_string(prompt + completion));
}

void take_policy(SettingsReading& reading) {
  take_completions(reading);
  take_vllm(reading);
  take_beta(reading, "beta");
  const Recipe& recipe = reading.out().config.recipe;
  const std::int64_t steps = recipe.gradient_accumulation_steps;
  if (reading.integer("num_iterations", 1) > 1) reading.apply("num_iterations", "/recipe/old_log_probabilities", "1");
  const std::int64_t together = reading.integer("steps_per_generation", steps);
  if (together != steps) {
    if (together > 0 && steps % together != 0)
      reading.apply("steps_per_generation", "/recipe/old_log_probabilities", "1");
    reading.out().unused.push_back({"steps_per_generation", std::to_string(together),
                                    "Counted are completions of one step's micro-batches at a time."});
  }
}

}  // namespace

void take_beta(SettingsReading& reading, const char* key) {
  const std::string* beta = reading.find(key);
  if (beta == nullptr) return;
  const char* with = reading.out().config.recipe.lora.rank > 0 ? "base" : "copy";
  reading.apply(key, "/recipe/reference_model", is_zero(*beta) ? "none" : with);
}

const TrlTrainer* trl_trainer(const SettingsReading& reading) {
  for (const TrlTrainer& trainer : trainers) {
    if (reading.find(trainer.key) != nullptr) return &trainer;
  }
  return nullptr;
}

const TrlTrainer* trl_script(std::string_view text) {
  for (const TrlTrainer& trainer : trainers) {
    const bool named = text.find(trainer.script) != std::string_view::npos;
    if (named || text.find(trainer.command) != std::string_view::npos) return &trainer;
  }
  return nullptr;
}

const TrlTrainer* trl_call(std::string_view name) {
  for (const TrlTrainer& trainer : trainers) {
    if (name == trainer.call) return &trainer;
  }
  return nullptr;
}

void take_objective(SettingsReading& reading, const TrlTrainer& trainer) {
  const std::string_view key = trainer.key;
  if (key != "sft") reading.apply(trainer.key, "/recipe/objective", trainer.objective);
  const std::string* loss = reading.find("loss_type");
  if (key == "cpo" && loss != nullptr && *loss == "simpo") {
    const std::string* alpha = reading.find("cpo_alpha");
    reading.apply("loss_type", "/recipe/objective", alpha != nullptr && is_zero(*alpha) ? "simpo" : "cpo");
    if (alpha != nullptr) reading.note("cpo_alpha", "/recipe/objective", is_zero(*alpha) ? "simpo" : "cpo");
  } else if (key == "sft" && loss != nullptr && (*loss == "nll" || *loss == "chunked_nll")) {
    reading.apply("loss_type", "/recipe/loss", *loss == "nll" ? "full" : "chunked");
  } else if (key != "sft" && loss != nullptr) {
    reading.note("loss_type", "/recipe/objective", trainer.objective);
  }
  if (key == "grpo") take_policy(reading);
}

}  // namespace trainmem
