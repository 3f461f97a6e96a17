#include "engine/parameters/trained_model.h"

#include "engine/text/list.h"

namespace trainmem {

bool can_score_sequences(const Model& model) {
  return has_item(
      "arcee,bloom,deepseek_v2,deepseek_v3,diffllama,exaone4,falcon,gemma,gemma2,gemma3_text,glm,glm4,gpt2,"
      "gpt_bigcode,gpt_neo,gpt_neox,gpt_oss,gptj,helium,jamba,jetmoe,llama,minicpm3,minimax,ministral,ministral3,"
      "mistral,mistral4,mixtral,nemotron,olmo,olmo2,olmo3,opt,persimmon,phi,phi3,phimoe,qwen2,qwen2_moe,qwen3,"
      "qwen3_moe,qwen3_next,seed_oss,smollm3,stablelm,starcoder2",
      model.model_type);
}

Model trained_model(const Config& config) {
  Model model = config.model;
  if (config.recipe.objective != Objective::reward) return model;
  model.scores_sequences = true;
  model.tie_word_embeddings = model.lm_head_bias = false;
  model.final_logit_softcapping = 0;
  return model;
}

}  // namespace trainmem
