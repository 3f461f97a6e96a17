// The families of transformers that have a forward here.
#pragma once

#include <memory>
#include <tuple>

#include "engine/blocks/architecture.h"
#include "engine/blocks/transformers/parts.h"

namespace trainmem::transformers {

/// The family of a model_type; null if there is none.
std::unique_ptr<Architecture> make_architecture(const Model& model, DType weights);

std::unique_ptr<Architecture> make_llama(const Model& model, DType weights);
std::unique_ptr<Architecture> make_gpt2(const Model& model, DType weights);
std::unique_ptr<Architecture> make_gpt_bigcode(const Model& model, DType weights);
std::unique_ptr<Architecture> make_gpt_neo(const Model& model, DType weights);
std::unique_ptr<Architecture> make_bloom(const Model& model, DType weights);
std::unique_ptr<Architecture> make_falcon(const Model& model, DType weights);
std::unique_ptr<Architecture> make_codegen(const Model& model, DType weights);
std::unique_ptr<Architecture> make_gptj(const Model& model, DType weights);
std::unique_ptr<Architecture> make_mpt(const Model& model, DType weights);
std::unique_ptr<Architecture> make_gpt_neox(const Model& model, DType weights);
std::unique_ptr<Architecture> make_biogpt(const Model& model, DType weights);
std::unique_ptr<Architecture> make_persimmon(const Model& model, DType weights);
std::unique_ptr<Architecture> make_xglm(const Model& model, DType weights);
std::unique_ptr<Architecture> make_openai_gpt(const Model& model, DType weights);
std::unique_ptr<Architecture> make_opt(const Model& model, DType weights);
std::unique_ptr<Architecture> make_modernbert_decoder(const Model& model, DType weights);
std::unique_ptr<Architecture> make_recurrent_gemma(const Model& model, DType weights);
std::unique_ptr<Architecture> make_rwkv(const Model& model, DType weights);
std::unique_ptr<Architecture> make_zamba2(const Model& model, DType weights);
std::unique_ptr<Architecture> make_phi(const Model& model, DType weights);

}  // namespace trainmem::transformers
