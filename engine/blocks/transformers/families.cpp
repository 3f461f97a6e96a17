#include "engine/blocks/transformers/families.h"

namespace trainmem::transformers {

std::unique_ptr<Architecture> make_architecture(const Model& model, DType weights) {
  const std::string& type = model.model_type;
  // GPT-3 and Megatron's GPT have no class of their own here: they are GPT-2 in another size.
  if (type == "gpt2" || type == "megatron-gpt") return make_gpt2(model, weights);
  if (type == "gpt_bigcode") return make_gpt_bigcode(model, weights);
  if (type == "gpt_neo") return make_gpt_neo(model, weights);
  if (type == "gptj") return make_gptj(model, weights);
  if (type == "codegen") return make_codegen(model, weights);
  if (type == "bloom") return make_bloom(model, weights);
  if (type == "falcon") return make_falcon(model, weights);
  if (type == "mpt") return make_mpt(model, weights);
  if (type == "gpt_neox") return make_gpt_neox(model, weights);
  if (type == "biogpt") return make_biogpt(model, weights);
  if (type == "xglm") return make_xglm(model, weights);
  if (type == "persimmon") return make_persimmon(model, weights);
  if (type == "opt") return make_opt(model, weights);
  if (type == "phi") return make_phi(model, weights);
  if (type == "recurrent_gemma") return make_recurrent_gemma(model, weights);
  if (type == "rwkv") return make_rwkv(model, weights);
  if (type == "openai-gpt") return make_openai_gpt(model, weights);
  if (type == "zamba2") return make_zamba2(model, weights);
  if (type == "modernbert-decoder") return make_modernbert_decoder(model, weights);
  return make_llama(model, weights);  // the families of its kind; null for what is unknown
}

}  // namespace trainmem::transformers
