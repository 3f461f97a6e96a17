// Forward of a stage. Parameters and buffers: gpt_parameters.cpp.
#include "engine/blocks/megatron/gpt.h"

#include "engine/tensor/run.h"

namespace trainmem::megatron {

namespace {

constexpr Rule deepspeed_rule{"recomputation", "input of a recomputed layer: its forward runs again in backward",
                              "DeepSpeed deepspeed/runtime/activation_checkpointing/checkpointing.py: "
                              "CheckpointFunction"};
constexpr Rule empty_rule{"attention scores", "", "Transformer Engine backends.py: matmul_result"};

/// (s, b, heads, d) as (b * heads, s, d): a view.
Tensor by_head(Tensor x) {
  const Shape shape{x.size(0), x.size(1) * x.size(2), x.size(3)};
  return transpose(reshape(std::move(x), shape), 0, 1);
}

/// The flash-attn package takes and gives (b, s, heads, d): copies, unless there is one sequence only.
/// Transformer Engine's backends.py, FlashAttention.
Tensor batch_first_attention(Tensor q, Tensor k, Tensor v) {
  q = contiguous(transpose(std::move(q), 0, 1), "query");
  k = contiguous(transpose(std::move(k), 0, 1), "key");
  v = contiguous(transpose(std::move(v), 0, 1), "value");
  q = transpose(std::move(q), 0, 1);
  k = transpose(std::move(k), 0, 1);
  v = transpose(std::move(v), 0, 1);
  Tensor output = flash_attention(std::move(q), std::move(k), std::move(v));
  return output.size(1) == 1 ? output : clone(std::move(output));
}

/// repeat_interleave over the heads.
Tensor repeat_heads(Tensor x, Size times) {
  const Shape shape{x.size(0), x.size(1), x.size(2) * times, x.size(3)};
  const Shape wide{x.size(0), x.size(1), x.size(2), times, x.size(3)};
  return reshape(contiguous(expand(unsqueeze(std::move(x), 3), wide)), shape);
}

}  // namespace

Tensor StageModel::norm(const Norm& parameters, Tensor x) const {
  if (settings_.model.norm == trainmem::Norm::layernorm)
    return layer_norm(std::move(x), parameters.weight, parameters.bias);
  return fused_rms_norm(std::move(x), parameters.weight);
}

Tensor StageModel::embed(const Tensor& ids, const Tensor& position_ids) const {
  // language_model_embedding.py.
  const Place place("embedding");
  const Sizes& z = settings_.sizes;
  const bool scatters = z.layout.sequence_parallel && !positions_.defined();
  Tensor hidden = vocabulary_embedding(embedding_, ids, z.layout, scatters, z.t);
  if (embedding_norm_.weight.defined()) hidden = norm(embedding_norm_, std::move(hidden));
  if (positions_.defined()) {
    Tensor rows = embedding(positions_, position_ids);
    hidden = add(std::move(hidden), std::move(rows));
  }
  if (!scatters) hidden = contiguous(transpose(std::move(hidden), 0, 1), "residual stream");
  if (z.layout.sequence_parallel && !scatters) hidden = scatter_sequence(std::move(hidden), z.layout);
  return dropout(std::move(hidden), settings_.model.embedding_dropout);
}

Tensor StageModel::rotate(Tensor x) const {
  const bool latent = settings_.model.latent_attention.kv_lora_rank > 0;
  if (settings_.recipe.fused_rope && !latent) return fused_rope(std::move(x), rotary_);
  // rope_utils.py: t * cos + rotate_half(t) * sin, then a copy by cat.
  const Tensor cos = to(multiply_number(rotary_), x.dtype(), "cosines");
  const Tensor sin = to(multiply_number(rotary_), x.dtype(), "sines");
  const Size half = x.size(-1) / Size(2);
  Tensor turned;
  {
    Tensor right = negate(slice(x, -1, half, x.size(-1)));
    turned = concatenate({std::move(right), slice(x, -1, 0, half)}, -1);
  }
  Tensor product = multiply(std::move(x), cos);
  Tensor sum = add(std::move(product), multiply(std::move(turned), sin));
  return concatenate({std::move(sum)}, -1);
}

Tensor StageModel::core_attention(Tensor q, Tensor k, Tensor v) const {
  const Sizes& z = settings_.sizes;
  if (const std::int64_t gpus = settings_.recipe.context_parallel; gpus > 1)
    return context_parallel_attention(std::move(q), std::move(k), std::move(v), gpus,
                                      settings_.recipe.context_parallel_method);
  switch (settings_.attention) {
    case AttentionBackend::cudnn: return flash_attention(std::move(q), std::move(k), std::move(v));
    case AttentionBackend::flash_attn: return batch_first_attention(std::move(q), std::move(k), std::move(v));
    default: break;
  }
  // dot_product_attention.py; Transformer Engine's backends.py, UnfusedDotProductAttention.
  if (z.a > z.k) {
    k = repeat_heads(std::move(k), z.a / z.k);
    v = repeat_heads(std::move(v), z.a / z.k);
  }
  Tensor values = by_head(std::move(v));
  Tensor scores;
  {
    Tensor queries = by_head(std::move(q));
    Tensor keys = transpose(by_head(std::move(k)), 1, 2);
    const bool fresh = settings_.attention == AttentionBackend::unfused;  // Megatron's own is the global memory buffer
    const Shape shape{queries.size(0), queries.size(1), keys.size(2)};
    const Tensor empty = fresh ? allocate(shape, queries.dtype(), {&empty_rule}) : Tensor();
    scores = bmm(std::move(queries), std::move(keys), "attention scores");
  }
  Tensor probabilities = dropout(scaled_masked_softmax(scores), settings_.model.attention_dropout);
  Tensor context = bmm(std::move(probabilities), std::move(values), "attention context");
  const Size width = context.size(-1);
  context = view(std::move(context), {z.b, z.a, z.s, width});
  context = contiguous(transpose(transpose(std::move(context), 0, 2), 1, 2), "attention output");
  return context;
}

Tensor StageModel::attention(const Block& block, Tensor normed) const {
  const Sizes& z = settings_.sizes;
  const Model& model = settings_.model;
  Tensor q, k, v;
  {
    Tensor mixed = column_linear(std::move(normed), block.qkv, z.layout, "query, key and value");
    mixed = view(std::move(mixed), {z.s, z.b, z.k, z.qkv_width / z.k});
    const Size queries = z.a / z.k * z.d;
    std::vector<Tensor> parts = split(std::move(mixed), {queries, z.d, z.d}, 3);
    q = reshape(std::move(parts[0]), {z.s, z.b, z.a, z.d});
    k = std::move(parts[1]);
    v = std::move(parts[2]);
  }
  if (model.qk_norm != QkNorm::none) {
    q = norm(block.query_norm, std::move(q));
    k = norm(block.key_norm, std::move(k));
  }
  const bool turns = model.positions == Positions::rope;
  if (turns) {
    q = rotate(std::move(q));
    k = rotate(std::move(k));
  }
  // Parts of one tensor with strides of their own are made contiguous: _get_qkv_layout.
  const bool copies =
      settings_.attention == AttentionBackend::cudnn && (turns || z.a > z.k || model.qk_norm != QkNorm::none);
  const auto laid_out = [copies](const Tensor& x, const char* role) { return copies ? contiguous(x, role) : x; };
  Tensor query = laid_out(q, "query");
  Tensor key = laid_out(k, "key");
  Tensor value = laid_out(v, "value");
  // Attention.forward has names for q, k and v until it returns.
  return projected(block, attended(std::move(query), std::move(key), std::move(value)));
}

Tensor StageModel::attended(Tensor q, Tensor k, Tensor v) const {
  if (!recomputed_.core_attention) return core_attention(std::move(q), std::move(k), std::move(v));
  std::vector<Tensor> inputs{std::move(q), std::move(k), std::move(v)};
  return recompute([this](const std::vector<Tensor>& x) { return core_attention(x[0], x[1], x[2]); },
                   std::move(inputs));
}

Tensor StageModel::projected(const Block& block, Tensor context) const {
  const Sizes& z = settings_.sizes;
  context = view(std::move(context), {z.s, z.b, block.projection.in});
  return row_linear(std::move(context), block.projection, z.layout, "attention projection");
}

Tensor StageModel::mlp(const Block& block, Tensor normed) const {
  const Sizes& z = settings_.sizes;
  const Model& model = settings_.model;
  const bool fused = settings_.recipe.fused_mlp;
  Tensor wide = column_linear(std::move(normed), block.fc1, z.layout, "MLP input projection");
  if (!fused && block.fc1.bias.defined()) wide = add(std::move(wide), block.fc1.bias);
  const Tensor bias = fused ? block.fc1.bias : Tensor();
  Tensor active;
  if (model.gated_mlp && fused) {
    active = bias_swiglu(std::move(wide), bias);
  } else if (fused && model.hidden_act != Activation::relu2 && model.hidden_act != Activation::relu) {
    active = bias_gelu(std::move(wide), bias);
  } else {
    active = activation(std::move(wide));
  }
  return row_linear(std::move(active), block.fc2, z.layout, "MLP output projection");
}

/// One operation after another, without bias.
Tensor StageModel::activation(Tensor wide) const {
  const Model& model = settings_.model;
  if (model.gated_mlp) {
    const Size half = wide.size(-1) / Size(2);
    std::vector<Tensor> halves = split(std::move(wide), {half, half}, -1);
    Tensor gate = model.hidden_act == Activation::silu ? silu(std::move(halves[0])) : gelu(std::move(halves[0]));
    return multiply(std::move(gate), std::move(halves[1]));
  }
  if (model.hidden_act == Activation::relu2) return square(relu(std::move(wide)));
  return model.hidden_act == Activation::relu ? relu(std::move(wide)) : gelu(std::move(wide));
}

// transformer_layer.py. Transformer Engine's linear layers hold the norm before them, so recomputing an MLP repeats
// its norm, and norms are not recomputed by themselves; Megatron's own layers stand beside their norms.
Tensor StageModel::layer(const Block& block, Tensor hidden) const {
  const double probability = settings_.model.hidden_dropout;
  const bool own_layers = !settings_.recipe.transformer_engine;
  const auto normed = [&](const Norm& parameters, const Tensor& x, DiscardedResult& discarded) {
    if (!recomputed_.norms || !own_layers) return norm(parameters, x);
    return discarded.run([this, &parameters](const std::vector<Tensor>& y) { return norm(parameters, y[0]); }, x);
  };
  {
    const Place place("attention");
    DiscardedResult discarded;
    Tensor input = normed(block.attention_norm, hidden, discarded);
    Tensor branch = settings_.model.latent_attention.kv_lora_rank > 0 ? latent_attention(block, input)
                                                                      : attention(block, std::move(input));
    discarded.discard(branch);
    hidden = bias_dropout_add(std::move(branch), block.projection.bias, std::move(hidden), probability);
  }
  if (block.has_experts) {
    const Place place("experts");
    Tensor branch = experts(block.experts, norm(block.mlp_norm, hidden));
    return bias_dropout_add(std::move(branch), {}, std::move(hidden), probability);
  }
  const Place place("mlp");
  Tensor branch;
  DiscardedResult discarded;
  if (recomputed_.mlp && !own_layers) {
    branch = recompute([this, &block](const std::vector<Tensor>& x) { return mlp(block, norm(block.mlp_norm, x[0])); },
                       {hidden});
  } else if (recomputed_.mlp) {
    branch = recompute([this, &block](const std::vector<Tensor>& x) { return mlp(block, x[0]); },
                       {normed(block.mlp_norm, hidden, discarded)});
  } else {
    branch = mlp(block, normed(block.mlp_norm, hidden, discarded));
  }
  discarded.discard(branch);
  return bias_dropout_add(std::move(branch), block.fc2.bias, std::move(hidden), probability);
}

Tensor StageModel::run(const Unit& unit, Tensor hidden) const {
  const auto layers = [this, &unit](Tensor x) {
    for (std::size_t i = unit.first; i < unit.first + unit.count; ++i) {
      const Layer scope(blocks_[i].index);
      x = layer(blocks_[i], std::move(x));
    }
    return x;
  };
  const Layer scope(blocks_[unit.first].index);
  const Repeat repeat(unit.times);
  if (!blocks_[unit.first].recomputed) return layers(std::move(hidden));
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(hidden));
  const auto again = [layers](const std::vector<Tensor>& x) { return layers(x[0]); };
  return settings_.deepspeed ? recompute(deepspeed_rule, again, std::move(inputs))
                             : recompute(again, std::move(inputs));
}

Tensor StageModel::token_losses(Tensor hidden, const Tensor& labels) const {
  const Sizes& z = settings_.sizes;
  SequenceLayout layout = z.layout;
  layout.gather_buffer = true;  // the head is Megatron's own layer
  const Place place("head", Component::logits_and_loss);
  FirstUses& first_uses = settings_.buffers->first_uses;
  first_uses.make(FirstUse::head_input);
  const Tensor logits = column_linear(std::move(hidden), head_, layout, "logits");
  first_uses.make(FirstUse::head_product);
  const Place inner("loss", Component::logits_and_loss);
  if (settings_.recipe.loss == Loss::compiled) return native_cross_entropy(logits, labels);
  const bool fused = settings_.recipe.loss == Loss::fused || settings_.recipe.loss == Loss::fused_linear;
  return fused ? fused_cross_entropy(logits, labels, z.t) : vocabulary_cross_entropy(logits, labels);
}

Tensor StageModel::loss(Tensor hidden, const MicroBatch& batch) const {
  hidden = norm(final_norm_, std::move(hidden));
  if (!next_tokens_.empty()) hidden = predict_further(std::move(hidden), batch);
  Tensor losses = token_losses(std::move(hidden), batch.labels);
  const Place place("loss", Component::logits_and_loss);
  return masked_mean(std::move(losses), batch.loss_mask);
}

/// Megatron's middle stages read none; DeepSpeed's first stage gets ids and positions, its last one labels and mask.
MicroBatch StageModel::micro_batch() const {
  const Sizes& z = settings_.sizes;
  const bool first = settings_.stage.first || !next_tokens_.empty();
  if (!settings_.deepspeed)
    return first || settings_.stage.last ? make_micro_batch(z.b, z.whole_sequence, z.s) : MicroBatch{};
  MicroBatch batch;
  if (first) batch.ids = make_input(z.b, z.s, DType::int64, "token ids");
  if (first && positions_.defined()) batch.position_ids = make_input(z.b, z.s, DType::int64, "position ids");
  return batch;
}

Tensor StageModel::forward(Tensor input) {
  const PipelineChunk& stage = settings_.stage;
  const MicroBatch batch = micro_batch();
  Tensor hidden = stage.first ? embed(batch.ids, batch.position_ids) : std::move(input);
  make_buffers();
  if (settings_.buffers != nullptr) settings_.buffers->first_uses.make(FirstUse::layer);
  for (const Unit& unit : units_) hidden = run(unit, std::move(hidden));
  if (stage.last && settings_.deepspeed) return logits_of_deepspeed(std::move(hidden));
  return stage.last ? loss(std::move(hidden), batch) : hidden;
}

}  // namespace trainmem::megatron
