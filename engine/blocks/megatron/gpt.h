// A stage of Megatron-Core's GPT model on one GPU: embedding, layers, final norm, head and loss.
//
//   s  sequence          a  query heads       t  tensor-parallel size (a, k, f and v are divided by it here)
//   b  micro-batch       k  key/value heads   d  size of a head
//   h  hidden            f  MLP width         v  rows of the padded vocabulary
//
// The same forward serves GPT-3 (LayerNorm, biases, GELU, dropout, learned positions) and Llama (RMSNorm, SwiGLU,
// RoPE, grouped queries), and both as Megatron-DeepSpeed writes them, with BLOOM beside them (deepspeed.cpp). Held
// against Korthikanti et al. 2022 in tests/published/korthikanti_tape_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/blocks/megatron/attention_backend.h"
#include "engine/blocks/megatron/first_uses.h"
#include "engine/blocks/megatron/micro_batch.h"
#include "engine/blocks/megatron/operations.h"
#include "engine/blocks/megatron/stage_weight.h"
#include "engine/config.h"
#include "engine/parallel/pipeline.h"

namespace trainmem::megatron {

/// What one GPU holds of the model and of a micro-batch.
struct Sizes {
  Size s, b, h, d;
  Size a, k, f, v;
  Size t;
  Size whole_sequence;     ///< s of all context-parallel GPUs together
  Size positions;          ///< rows of the position table; 0: none
  Size qkv_width;          ///< outputs of the query, key and value projection
  Size expert_ranks = 1;   ///< among which the experts of a layer are divided
  Size expert_t = 1;       ///< among which each of them is divided
  Size local_experts = 0;  ///< of this rank, in a layer
  SequenceLayout layout;
};

/// Parts of every layer that are recomputed: --recompute-granularity selective.
struct RecomputedModules {
  bool core_attention = false;
  bool mlp = false;
  bool norms = false;
};

/// What all chunks of a GPU share.
struct Buffers {
  DummyGradients dummies;
  FirstUses first_uses;
  bool global = false;  ///< the global memory buffer is there, or expected
};

struct Settings {
  const Model& model;
  const Recipe& recipe;
  DType dtype = DType::bfloat16;  ///< of weights and activations
  AttentionBackend attention = AttentionBackend::cudnn;
  Sizes sizes;
  PipelineChunk stage;
  Buffers* buffers = nullptr;
  bool deepspeed = false;        ///< a stage of Megatron-DeepSpeed's GPTModelPipe: weights have memory of their own
  Float8 float8 = Float8::none;  ///< products of the layers; the head's are in 16 bits
  bool folds = false;            ///< equal layers in a row are one layer that stands for all of them
};

/// How the layers multiply under precision fp8.
Float8 float8_products(const Config& config);

/// Sizes of one rank. Heads, widths and vocabulary are divided by tensor_parallel, rounded up.
Sizes rank_sizes(const Config& config);

/// Adds the parameters of a stage to the run and holds what its forward needs.
class StageModel {
 public:
  explicit StageModel(const Settings& settings);

  /// The stage's forward: `input` is the previous stage's output, undefined on the first one. The result is the
  /// hidden states, or on the last stage the loss; Megatron-DeepSpeed's is the logits in fp32.
  Tensor forward(Tensor input);
  /// The loss of Megatron-DeepSpeed's logits, which it is computed in.
  Tensor loss_of(const Tensor& logits) const;

  /// What lives as long as the run beside the parameters. The first forward makes it, or who asks for it before.
  void make_buffers();

  /// The stage's parameters on this GPU, in the order in which its modules are made.
  const std::vector<StageWeight>& weights() const { return weights_; }

 private:
  struct Norm {
    Tensor weight;
    Tensor bias;
  };
  struct LatentLayer {
    ParallelLinear query_down, query_up;
    ParallelLinear key_value_down, key_value_up;
    Norm query_norm, key_value_norm;
  };
  struct ExpertLayer {
    Tensor router;
    ParallelLinear fc1, fc2;  ///< of one expert
    ParallelLinear shared_fc1, shared_fc2;
    Tensor shared_gate;
  };
  struct Block {
    std::int32_t index = 0;
    Size times = 1;
    bool recomputed = false;
    Norm attention_norm;
    Norm query_norm;
    Norm key_norm;
    ParallelLinear qkv;
    ParallelLinear projection;
    Norm mlp_norm;
    ParallelLinear fc1;
    ParallelLinear fc2;
    LatentLayer latent;
    bool has_experts = false;  ///< in place of the MLP
    ExpertLayer experts;
  };

  /// A layer that predicts one token further on.
  struct NextToken {
    Norm embedding_norm, hidden_norm, final_norm;
    ParallelLinear combine;
    Block block;
  };

  /// Layers that run one after the other, and are recomputed together.
  struct Unit {
    std::size_t first = 0;  ///< index into blocks_
    std::size_t count = 1;
    Size times = 1;
  };

  void make_units();
  Tensor run(const Unit& unit, Tensor hidden) const;
  /// A parameter without memory of its own, whose gradient is let go of once it is added to the main gradients.
  /// Megatron-DeepSpeed's have memory, and are called `name` on the tape.
  Tensor make_leaf(const Shape& shape, const char* name) const;
  /// One of `times` equal layers' parameters, counted as often.
  Tensor add_parameter(const Shape& shape, const char* name, Size times);
  Norm make_norm(Size width, const char* name, Size times);
  ParallelLinear make_linear(Size in, Size out, bool bias, const char* name, Size times);
  /// A linear layer of Transformer Engine's, in fp8 where the settings say so.
  ParallelLinear make_engine_linear(Size in, Size out, bool bias, const char* name, Size times);
  Block make_block(std::int32_t index, Size times, bool recomputed);
  LatentLayer make_latent(Size times);
  ExpertLayer make_experts(Size times);
  void make_next_tokens();
  void make_head();
  void make_buffers_of_megatron();
  void make_float8_weights();
  void make_buffers_of_deepspeed();

  MicroBatch micro_batch() const;
  Tensor embed(const Tensor& ids, const Tensor& position_ids) const;
  Tensor layer(const Block& block, Tensor hidden) const;
  Tensor attention(const Block& block, Tensor normed) const;
  Tensor latent_attention(const Block& block, const Tensor& normed) const;
  Tensor attended(Tensor q, Tensor k, Tensor v) const;
  Tensor projected(const Block& block, Tensor context) const;
  Tensor core_attention(Tensor q, Tensor k, Tensor v) const;
  Tensor mlp(const Block& block, Tensor normed) const;
  Tensor activation(Tensor wide) const;
  Tensor experts(const ExpertLayer& layer, Tensor normed) const;
  Tensor route(const ExpertLayer& layer, const Tensor& tokens) const;
  Tensor gathered_experts(const ExpertLayer& layer, const Tensor& normed, const Tensor& scores) const;
  Tensor exchanged_experts(const ExpertLayer& layer, const Tensor& normed, const Tensor& scores) const;
  Tensor local_experts(const ExpertLayer& layer, Tensor rows, const Tensor& weights) const;
  Tensor expert_mlp(const ExpertLayer& layer, Tensor rows, const Tensor& weights_of_rows) const;
  Tensor shared_expert(const ExpertLayer& layer, const Tensor& normed) const;
  Tensor norm(const Norm& parameters, Tensor x) const;
  Tensor rotate(Tensor x) const;
  Tensor rotate_pairs(const Tensor& x) const;
  Tensor logits_of_deepspeed(Tensor hidden) const;
  Tensor loss(Tensor hidden, const MicroBatch& batch) const;
  Tensor token_losses(Tensor hidden, const Tensor& labels) const;
  Tensor next_token_states(const NextToken& next, const Tensor& hidden, const Tensor& embedded) const;
  Tensor predict_further(Tensor hidden, const MicroBatch& batch) const;

  Settings settings_;
  std::vector<StageWeight> weights_;
  Tensor embedding_;
  Norm embedding_norm_;
  Tensor positions_;
  std::vector<Block> blocks_;
  std::vector<Unit> units_;
  RecomputedModules recomputed_;
  Norm final_norm_;
  std::vector<NextToken> next_tokens_;
  ParallelLinear head_;
  bool has_buffers_ = false;
  Tensor rotary_;
  std::vector<Tensor> buffers_;
};

}  // namespace trainmem::megatron
