#include "engine/blocks/architecture.h"
#include "engine/blocks/litgpt/decoder.h"
#include "engine/blocks/llm_foundry/mpt.h"
#include "engine/blocks/torchtitan/llama.h"
#include "engine/blocks/torchtune/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/config/formats.h"
#include "engine/parallel/tensor.h"

namespace trainmem {

std::unique_ptr<Architecture> make_architecture(const Model& whole, const Recipe& recipe) {
  const DType weights = formats(recipe).weights;
  const Model model = recipe.tensor_parallel > 1 ? tensor_parallel_share(whole, recipe) : whole;
  if (recipe.framework == Framework::torchtune && recipe.tensor_parallel == 1 && torchtune::describes(model))
    return torchtune::make_decoder(model, weights);
  if (recipe.framework == Framework::litgpt)
    return litgpt::describes(model) ? litgpt::make_decoder(model, weights, recipe) : nullptr;
  if (recipe.framework == Framework::llm_foundry)
    return llm_foundry::describes(model) ? llm_foundry::make_mpt(model, weights) : nullptr;
  if (recipe.framework != Framework::torchtitan) return transformers::make_architecture(model, weights);
  if (!torchtitan::describes(model)) return nullptr;
  return torchtitan::make_llama(model, weights, recipe);
}

}  // namespace trainmem
