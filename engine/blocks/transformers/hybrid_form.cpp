// Forms of the families whose layers are of several kinds: convolutions, state spaces or linear attention beside
// attention.
#include <string_view>

#include "engine/blocks/transformers/llama_form.h"

namespace trainmem::transformers {

namespace {

/// Three of four layers are gated delta networks, the others gated attention.
LlamaForm qwen3_next(const char* model_type, LlamaForm::Turning turning) {
  LlamaForm result(model_type);
  result.norm = NormLayer::Form::gemma;
  result.turning = turning;
  result.gated_attention = true;
  result.masks_sentinels = true;
  return result;
}

LlamaForm lfm2_moe() {
  LlamaForm result("lfm2_moe");
  result.masks_sentinels = true;
  return result;
}

LlamaForm jamba() {
  LlamaForm result("jamba");
  result.masks_sentinels = true;
  return result;
}

LlamaForm nemotron_h() {
  LlamaForm result("nemotron_h");
  result.masks_sentinels = true;
  result.block = LlamaForm::BlockForm::one_mixer;
  result.fp32_logits = true;
  return result;
}

LlamaForm mamba(const char* model_type) {
  LlamaForm result(model_type);
  result.shifts_logits = std::string_view(model_type) != "mamba2";
  result.block = LlamaForm::BlockForm::one_mixer;
  result.fp32_residuals = true;
  result.fp32_logits = true;
  result.attends = false;
  return result;
}

LlamaForm falcon_h1() {
  LlamaForm result("falcon_h1");
  result.block = LlamaForm::BlockForm::falcon_h1;
  result.multipliers = true;
  result.scaled_logits = true;
  result.scaled_keys = true;
  return result;
}

LlamaForm bamba() {
  LlamaForm result("bamba");
  result.turning = LlamaForm::Turning::nemotron;
  return result;
}

LlamaForm olmo_hybrid() {
  LlamaForm result("olmo_hybrid");
  result.block = LlamaForm::BlockForm::olmo_hybrid;
  result.norm = NormLayer::Form::olmo2;
  result.turning = LlamaForm::Turning::fp32_tables;
  return result;
}

const LlamaForm forms[] = {LlamaForm("lfm2"),
                           lfm2_moe(),
                           jamba(),
                           nemotron_h(),
                           mamba("mamba"),
                           mamba("falcon_mamba"),
                           mamba("mamba2"),
                           falcon_h1(),
                           bamba(),
                           olmo_hybrid(),
                           qwen3_next("qwen3_next", LlamaForm::Turning::nemotron),
                           qwen3_next("qwen3_5_text", LlamaForm::Turning::interleaved_partial),
                           qwen3_next("qwen3_5_moe_text", LlamaForm::Turning::interleaved_partial)};

}  // namespace

const LlamaForm* hybrid_form(const Model& model) {
  for (const LlamaForm& candidate : forms)
    if (model.model_type == candidate.model_type) return &candidate;
  return nullptr;
}

}  // namespace trainmem::transformers
