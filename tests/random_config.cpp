#include "tests/random_config.h"

#include <algorithm>
#include <span>
#include <vector>

#include "engine/config/layer_types.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/presets/presets.h"
#include "engine/validation/validate.h"

namespace trainmem {
namespace {

std::string random_name(Random& random, std::int64_t shortest, std::int64_t longest) {
  static constexpr const char* pieces[] = {"a", "Z", "9", "-",  "_",  " ", "&",  "=",
                                           "%", "#", "?", "\"", "\\", "é", "漢", "+"};
  std::string text;
  const std::int64_t length = shortest + random.below(longest - shortest + 1);
  while (static_cast<std::int64_t>(text.size()) < length) {
    const std::string piece = random.pick(pieces);
    if (static_cast<std::int64_t>(text.size() + piece.size()) <= longest) text += piece;
  }
  return text;
}

std::string random_targets(Random& random) {
  std::string text;
  for (const char* word : {"q", "k", "v", "o", "gate", "up", "down"}) {
    if (random.chance(50)) text += (text.empty() ? "" : ",") + std::string(word);
  }
  return text.empty() ? "q" : text;
}

std::string random_modules(Random& random) {
  std::string text;
  for (const char* word : {"core_attn", "layernorm", "mlp"}) {
    if (random.chance(50)) text += (text.empty() ? "" : ",") + std::string(word);
  }
  return text.empty() ? "core_attn" : text;
}

std::string random_layer_types(Random& random) {
  std::vector<LayerType> pattern;
  while (random.chance(90) && pattern.size() < 16) {
    const auto type = static_cast<LayerType>(random.below(layer_type_count));
    for (std::int64_t times = 1 + random.below(3); times > 0; --times) pattern.push_back(type);
  }
  return layer_types_text(pattern);
}

std::string random_preset(std::span<const PresetText> presets, Random& random) {
  return std::string(presets[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(presets.size())))].id);
}

}  // namespace

std::uint64_t Random::next() {  // splitmix64
  state_ += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

std::int64_t Random::below(std::int64_t count) {
  return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
}

void randomise(const Field& field, Config& config, Random& random) {
  const Member member = field.in(config);
  switch (member.type()) {
    case FieldType::integer: {
      const auto low = static_cast<std::int64_t>(field.minimum);
      const auto high = static_cast<std::int64_t>(field.maximum);
      member.integer() =
          low + random.below(random.chance(50) ? high - low + 1 : std::min<std::int64_t>(high - low, 64) + 1);
      break;
    }
    case FieldType::number: {
      static constexpr double shares[] = {0, 0.1, 0.25, 1.0 / 3, 0.5, 0.7, 0.999, 1};
      const double share =
          random.chance(50) ? random.pick(shares) : static_cast<double>(random.below(1 << 30)) / (1 << 30);
      member.number() = field.minimum + share * (field.maximum - field.minimum);
      break;
    }
    case FieldType::boolean: member.boolean() = random.chance(50); break;
    case FieldType::enumeration: do { member.choose(static_cast<int>(random.below(member.words().count)));
      } while (member.word() == nullptr);
      break;
    case FieldType::text:
      member.text() = field.name() == "targets"                 ? random_targets(random)
                      : field.name() == "recomputation_modules" ? random_modules(random)
                      : field.name() == "layer_types"           ? random_layer_types(random)
                                                      : random_name(random, static_cast<std::int64_t>(field.minimum),
                                                                    static_cast<std::int64_t>(field.maximum));
      break;
  }
}

Config random_fields(Random& random) {
  Config config;
  Issues ignored;
  if (random.chance(60)) apply_model_preset(random_preset(model_presets(), random), config, ignored);
  if (random.chance(60)) apply_gpu_preset(random_preset(gpu_presets(), random), config, ignored);
  if (random.chance(40)) {
    apply_recipe_preset(random_preset(recipe_presets(), random), config, ignored);
  } else if (random.chance(50)) {
    config.recipe = default_recipe(static_cast<Framework>(random.below(words(Framework{}).count)));
  }
  static constexpr int densities[] = {0, 3, 10, 50, 100};
  const int density = random.pick(densities);
  for (const Field& field : config_fields()) {
    const bool missing = field.in(config).type() == FieldType::integer &&
                         static_cast<double>(field.in(config).integer()) < field.minimum;
    if (missing || random.chance(density)) randomise(field, config, random);
  }
  complete(config);
  return config;
}

namespace {

constexpr std::int64_t powers[] = {1, 2, 4, 8};

/// One of every family; what is not yet modelled is drawn again.
void take_whole_model(Config& config, Issues& issues, Random& random) {
  static constexpr const char* whole_models[] = {
      "gpt2",       "llama2-7b",    "llama2-70b",      "llama3.1-8b", "mistral-7b-v0.1",  "qwen2.5-7b", "qwen3-0.6b",
      "gemma-2b",   "gemma2-2b",    "gemma3-1b",       "opt-1.3b",    "pythia-1.4b",      "phi-2",      "phi-3-mini",
      "bloom-560m", "gpt-j-6b",     "mpt-7b",          "falcon-7b",   "stablelm-3b-4e1t", "olmo2-7b",   "starcoder2-3b",
      "gpt3-175b",  "mixtral-8x7b", "deepseek-v2-lite"};
  apply_model_preset(random.pick(whole_models), config, issues);
}

/// A GPT or a Llama of random sizes.
void make_model(Config& config, Issues& issues, Random& random) {
  static constexpr std::int64_t head_dims[] = {32, 64, 80, 128};
  static constexpr std::int64_t vocabularies[] = {1000, 32000, 50257, 128256};
  Model& model = config.model;
  const bool gpt = random.chance(30);
  apply_model_preset(gpt ? "gpt2" : "llama2-7b", config, issues);
  config.model_preset.clear();
  const std::int64_t groups = random.pick(powers);
  model.num_key_value_heads = random.pick(powers);
  model.num_attention_heads = gpt ? model.num_key_value_heads : groups * model.num_key_value_heads;
  model.head_dim = random.pick(head_dims);
  model.hidden_size = model.num_attention_heads * model.head_dim;
  model.intermediate_size = model.hidden_size * (2 + random.below(4));
  model.num_hidden_layers = 1 + random.below(random.chance(80) ? 12 : 100);
  model.vocab_size = random.pick(vocabularies);
  model.tie_word_embeddings = random.chance(50);
  if (gpt) model.learned_positions = model.max_position_embeddings = 8192;
}

/// Some of the recipe's choices and switches.
void choose(Config& config, Random& random) {
  for (const Field& field : config_fields()) {
    const std::string_view path = field.path;
    const bool choice =
        field.in(config).type() == FieldType::enumeration || field.in(config).type() == FieldType::boolean;
    if (path.substr(0, 8) == "/recipe/" && path != "/recipe/framework" && choice && random.chance(15))
      randomise(field, config, random);
  }
}

/// Stages, and a schedule that goes with them. `model_is_free`: the model's layers may follow.
void divide_into_stages(Config& config, bool model_is_free, Random& random) {
  Recipe& recipe = config.recipe;
  recipe.pipeline_parallel = random.chance(70) ? 1 : 1 + random.below(8);
  if (recipe.pipeline_parallel > 1 && random.chance(20))
    recipe.pipeline_first_stage_layers = 1 + random.below(config.model.num_hidden_layers);
  if (recipe.pipeline_parallel > 1 && random.chance(50))
    recipe.pipeline_schedule = static_cast<PipelineSchedule>(random.below(words(PipelineSchedule{}).count));
  if (recipe.pipeline_schedule != PipelineSchedule::interleaved || !random.chance(80)) return;
  recipe.virtual_pipeline_stages = 2 + random.below(2);
  recipe.gradient_accumulation_steps = recipe.pipeline_parallel * (1 + random.below(3));
  if (!model_is_free) return;
  config.model.num_hidden_layers = recipe.pipeline_parallel * recipe.virtual_pipeline_stages * (1 + random.below(3));
}

/// The recipe's sizes, and what is divided among GPUs.
void choose_sizes(Config& config, bool model_is_free, Random& random) {
  static constexpr std::int64_t sequences[] = {128, 512, 1000, 2048, 4096, 8192};
  Recipe& recipe = config.recipe;
  recipe.micro_batch_size = 1 + random.below(8);
  recipe.sequence_length = random.pick(sequences);
  recipe.gradient_accumulation_steps = 1 + random.below(random.chance(80) ? 4 : 64);
  recipe.data_parallel_size = random.chance(50) ? 1 : random.pick(powers) * random.pick(powers);
  recipe.tensor_parallel = random.chance(60) ? 1 : random.pick(powers);
  divide_into_stages(config, model_is_free, random);
  recipe.context_parallel = random.chance(85) ? 1 : random.pick(powers);
  recipe.expert_parallel = config.model.experts.num_experts == 0 || random.chance(40) ? 1 : random.pick(powers);
  recipe.lora.rank = random.chance(85) ? 0 : random.pick(powers) * 8;
  if (random.chance(10)) recipe.hybrid_shard_size = random.pick(powers);
  if (random.chance(50)) recipe.recomputation_modules = random_modules(random);
  if (random.chance(50)) recipe.offload_optimizer_fraction = 0.25 * static_cast<double>(random.below(5));
  if (random.chance(10)) recipe.recomputation_layers = 1 + random.below(config.model.num_hidden_layers);
  if (random.chance(10)) recipe.frozen_layers = 1 + random.below(config.model.num_hidden_layers);
}

}  // namespace

Config random_valid_config(Random& random) {
  while (true) {
    Config config;
    Issues issues;
    const bool preset = random.chance(40);
    if (preset)
      take_whole_model(config, issues, random);
    else
      make_model(config, issues, random);
    if (random.chance(80)) apply_gpu_preset(random_preset(gpu_presets(), random), config, issues);
    config.recipe = default_recipe(static_cast<Framework>(random.below(words(Framework{}).count)));
    choose(config, random);
    choose_sizes(config, !preset, random);
    complete(config);
    if (issues.empty() && validate(config).empty()) return config;
  }
}

std::string random_text(Random& random, std::int64_t longest) {
  static constexpr const char* pieces[] = {"{",
                                           "}",
                                           "[",
                                           "]",
                                           "\"",
                                           ":",
                                           ",",
                                           "&",
                                           "=",
                                           "%",
                                           "#",
                                           "?",
                                           "v=1",
                                           "end",
                                           "null",
                                           "true",
                                           "1e999",
                                           "-1",
                                           "9007199254740993",
                                           "model",
                                           "gpu",
                                           "recipe",
                                           "llama2-7b",
                                           "h100-sxm",
                                           "preset",
                                           "tp",
                                           "\\u0000",
                                           "\xff",
                                           "\n",
                                           "%00",
                                           "%zz",
                                           "__proto__"};
  std::string text;
  const std::int64_t length = random.below(longest);
  while (static_cast<std::int64_t>(text.size()) < length) {
    const std::int64_t kind = random.below(4);
    if (kind == 0) {
      text += static_cast<char>(random.below(256));
    } else if (kind == 1) {
      text += config_fields().first[random.below(config_fields().count)].key;
    } else {
      text += random.pick(pieces);
    }
  }
  return text;
}

}  // namespace trainmem
