// What Megatron-DeepSpeed's GPTModelPipe has of its own: ALiBi, the head, and what stays on the GPU beside the layers.
//
// GPT and BLOOM follow bigscience-workshop/Megatron-DeepSpeed (8387ae1), which turns its sequence-first tensors back
// before the head; models with RoPE follow deepspeedai/Megatron-DeepSpeed (4efb479).
#include "engine/blocks/megatron/gpt.h"
#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule alibi_rule{"ALiBi", "distances times slopes: every layer has a table of its own",
                          "bigscience Megatron-DeepSpeed megatron/model/transformer.py: _build_alibi_tensor"};
constexpr Rule rotary_rule{"rotary table", "angles of every position, cached for all layers",
                           "Megatron-DeepSpeed megatron/model/rotary_pos_embedding.py; megatron/training.py: "
                           "update_rotary_pos_emb"};
constexpr Rule mask_rule{"attention mask", "made once for all layers, though the fused softmax needs none",
                         "Megatron-DeepSpeed pretrain_gpt.py: model_provider"};
constexpr Rule buffer_rule{"global memory buffer", "input of attention scores, one for all layers",
                           "Megatron-DeepSpeed megatron/model/transformer.py: CoreAttention"};

}  // namespace

void StageModel::make_buffers_of_deepspeed() {
  const Sizes& z = settings_.sizes;
  const Place place("buffers", Component::workspace);
  const auto add = [this](const Shape& shape, DType dtype, const Rule& rule) {
    buffers_.push_back(allocate(shape, dtype, {&rule}));
    note_kept(buffers_.back(), rule);
  };
  if (settings_.model.positions == Positions::alibi)
    add({settings_.stage.layers, z.b * z.a, 1, z.s}, settings_.dtype, alibi_rule);
  if (settings_.model.positions != Positions::rope) return;
  rotary_ = allocate({z.s, 1, 1, z.d}, DType::float32, {&rotary_rule});
  note_kept(rotary_, rotary_rule);
  add({1, 1, z.s, z.s}, DType::boolean, mask_rule);
  if (settings_.attention == AttentionBackend::local) add({z.b * z.a, z.s, z.s}, settings_.dtype, buffer_rule);
}

/// gpt_model.py, GPTModelPipe: undo, LayerNorm, _logits_helper, float16_to_fp32.
Tensor StageModel::logits_of_deepspeed(Tensor hidden) const {
  if (settings_.model.positions != Positions::rope) hidden = contiguous(transpose(std::move(hidden), 0, 1));
  hidden = norm(final_norm_, std::move(hidden));
  const Place place("head", Component::logits_and_loss);
  Tensor logits = linear(std::move(hidden), head_.weight, head_.bias, "logits");
  return to(std::move(logits), DType::float32, "fp32 logits");
}

/// gpt_model.py, CrossEntropy. The softmax is written over the logits.
Tensor StageModel::loss_of(const Tensor& logits) const {
  const Tensor labels = make_input(settings_.sizes.b, settings_.sizes.s, DType::int64, "labels");
  const Tensor loss_mask = make_input(settings_.sizes.b, settings_.sizes.s, DType::float32, "loss mask");
  const Place place("loss", Component::logits_and_loss);
  Tensor losses = vocabulary_cross_entropy(logits, labels);
  return masked_mean(std::move(losses), loss_mask);
}

}  // namespace trainmem::megatron
