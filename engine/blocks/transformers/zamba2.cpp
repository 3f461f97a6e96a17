// Zamba2: layers of Mamba 2, and some that first run a transformer block that they share in turn, on the hidden states
// beside the embeddings: models/zamba2/modeling_zamba2.py.
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/mamba.h"
#include "engine/tensor/checkpoint.h"

namespace trainmem::transformers {

namespace {

/// A low-rank product beside a shared layer, of one user alone.
struct SideBranch {
  Linear down, up;
  SideBranch(const Size& in, const Size& rank, const Size& out, DType dtype)
      : down(in, rank, false, dtype, "side branch down"), up(rank, out, false, dtype, "side branch up") {}
  Tensor operator()(const Tensor& x) const { return up(down(x)); }
};

/// The weights of Zamba2AttentionDecoderLayer, which its users share, and the side branches of each.
struct SharedBlock {
  Linear query, key, value, output, gate_up, down;
  std::vector<SideBranch> query_sides, key_sides, value_sides, gate_up_sides;
  NormLayer input_norm, mlp_norm;

  SharedBlock(const Model& m, std::int64_t uses, DType dtype) {
    const Size h = m.hidden_size;
    const Size wide = Size(2) * h;
    const Size inner = m.intermediate_size;
    const Size keys = m.num_key_value_heads * m.head_dim;
    query = Linear(wide, m.num_attention_heads * m.head_dim, false, dtype, "query");
    key = Linear(wide, keys, false, dtype, "key");
    value = Linear(wide, keys, false, dtype, "value");
    output = Linear(m.num_attention_heads * m.head_dim, h, false, dtype, "attention projection");
    const auto make = [&](std::vector<SideBranch>& sides, const Size& in, const Size& out) {
      for (std::int64_t i = 0; i < uses; ++i) sides.emplace_back(in, m.adapter_rank, out, dtype);
    };
    if (m.use_shared_attention_adapter)
      for (auto* sides : {&query_sides, &key_sides, &value_sides}) make(*sides, wide, wide);
    gate_up = Linear(h, Size(2) * inner, m.mlp_bias, dtype, "gate and up");
    down = Linear(inner, h, m.mlp_bias, dtype, "down");
    make(gate_up_sides, h, Size(2) * inner);
    input_norm = NormLayer(NormLayer::Form::llama, {wide}, true, false, dtype);
    mlp_norm = block_norm(m, dtype);
  }

  /// The same weights in modules of another user: fine-tuning's adapters are each module's own.
  SharedBlock of_another_user() const {
    SharedBlock copy = *this;
    for (Linear* layer : {&copy.query, &copy.key, &copy.value, &copy.output, &copy.gate_up, &copy.down}) adapt(*layer);
    for (auto* sides : {&copy.query_sides, &copy.key_sides, &copy.value_sides, &copy.gate_up_sides})
      for (SideBranch& side : *sides) adapt(side.down), adapt(side.up);
    return copy;
  }

 private:
  static void adapt(Linear& layer) {
    layer.adapter = make_adapter(layer.weight.size(1), layer.weight.size(0), layer.role);
  }
};

/// Zamba2MambaDecoderLayer.
class MambaHalf {
 public:
  MambaHalf(const Model& m, DType dtype) : mamba_(make_mamba(m, dtype)), norm_(block_norm(m, dtype)) {}

  /// `beside`: what the transformer block before it gives; may be undefined.
  Tensor operator()(Tensor hidden, const Tensor& beside, const BlockInputs& inputs) const {
    const Tensor residual = hidden;
    if (beside.defined()) hidden = hidden + beside;
    hidden = norm_.at("norm before the mixer", std::move(hidden));
    Tensor weights;
    hidden = (*mamba_)(hidden, inputs, weights);
    return residual + hidden;
  }

 private:
  std::unique_ptr<AttentionPart> mamba_;
  NormLayer norm_;
};

class MambaBlock : public Block {
 public:
  MambaBlock(const Model& m, DType dtype) : half_(m, dtype) {}
  Tensor forward(Tensor hidden, const BlockInputs& inputs) override { return half_(std::move(hidden), {}, inputs); }

 private:
  MambaHalf half_;
};

/// Zamba2HybridLayer.
class HybridBlock : public Block {
 public:
  HybridBlock(const Model& m, DType dtype)
      : model_(m), linear_(h(), h(), false, dtype, "side branch of the layer"), half_(m, dtype) {}

  /// The block whose weights it has; `use`: which of its side branches are this layer's.
  void share(SharedBlock block, std::size_t use) {
    shared_ = std::move(block);
    use_ = use;
  }
  const SharedBlock& shared() const { return *shared_; }

  Tensor forward(Tensor hidden, const BlockInputs& inputs) override {
    Tensor beside = transformed(hidden, inputs);
    beside = linear_(std::move(beside));
    const Forward half = [this, beside, inputs](Tensor x) { return half_(std::move(x), beside, inputs); };
    // Both layers are recomputed, the one within the other.
    return active_run().saved_tensor_hooks == nullptr ? half(hidden) : checkpoint(half, hidden, {});
  }

 private:
  Size h() const { return model_.hidden_size; }

  /// Zamba2AttentionDecoderLayer.
  Tensor transformed(const Tensor& given, const BlockInputs& inputs) const {
    Tensor hidden = concatenate({given, inputs.embedded}, -1, "states and embeddings");
    hidden = shared_->input_norm.at("norm before attention", std::move(hidden));
    Tensor weights;
    hidden = attend(hidden, inputs, weights);
    hidden = shared_->mlp_norm.at("norm before MLP", std::move(hidden));
    return mlp(hidden);
  }

  Tensor attend(const Tensor& hidden, const BlockInputs& inputs, Tensor& weights) const {
    const Place place("attention");
    const Size a = model_.num_attention_heads;
    const Size k = model_.num_key_value_heads;
    const Size d = model_.head_dim;
    Tensor query = shared_->query(hidden);
    Tensor key = shared_->key(hidden);
    Tensor value = shared_->value(hidden);
    if (!shared_->query_sides.empty()) {
      query = query + shared_->query_sides[use_](hidden);
      key = key + shared_->key_sides[use_](hidden);
      value = value + shared_->value_sides[use_](hidden);
    }
    query = split_heads(std::move(query), a, d);
    key = split_heads(std::move(key), k, d);
    value = split_heads(std::move(value), k, d);
    if (inputs.cos.defined()) apply_rotary(query, key, inputs.cos, inputs.sin);
    Tensor out = attention(query, key, value, inputs.mask, inputs.attention, {model_.attention_dropout}, weights);
    out = reshape(std::move(out), {hidden.size(0), hidden.size(1), a * d});
    return shared_->output(std::move(out));
  }

  Tensor mlp(const Tensor& x) const {
    const Place place("mlp");
    const Size inner = model_.intermediate_size;
    Tensor together = shared_->gate_up(x);
    together = together + shared_->gate_up_sides[use_](x);
    const std::vector<Tensor> parts = split(std::move(together), {inner, inner}, -1);
    const Tensor hidden = activate(parts[0], model_.hidden_act) * parts[1];
    return shared_->down(hidden);
  }

  const Model& model_;
  Linear linear_;
  MambaHalf half_;
  std::optional<SharedBlock> shared_;
  std::size_t use_ = 0;
};

class Zamba2 : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t layer) override {
    if (layer_type(model, layer) != LayerType::hybrid) return std::make_unique<MambaBlock>(model, weights);
    auto block = std::make_unique<HybridBlock>(model, weights);
    const std::int64_t use = layers_before(model, LayerType::hybrid, layer);
    const std::int64_t blocks = model.num_mem_blocks;
    const auto place = static_cast<std::size_t>(use / blocks);
    if (use < blocks) {
      const std::int64_t users = layers_before(model, LayerType::hybrid, model.num_hidden_layers);
      block->share(SharedBlock(model, (users - use + blocks - 1) / blocks, weights), place);
      shared_.push_back(block->shared());
    } else {
      block->share(shared_[static_cast<std::size_t>(use % blocks)].of_another_user(), place);
    }
    return block;
  }

  void make_head() override {
    make_final_norm();
    if (model.positions == Positions::rope) rotary_ = std::make_unique<Rotary>(turning_width(model));
    make_language_head();
  }

  ForwardState begin(const Tensor& ids, AttentionKernel attention) override {
    ForwardState state;
    const Place place("embedding");
    const Size s = ids.size(1);
    const Tensor embedded = embed(embedding_, ids);
    state.inputs.embedded = clone(embedded);
    state.inputs.positions = position_ids(s);
    state.inputs.attention = attention;
    state.inputs.mask = causal_mask(ids.size(0), s, embedded.dtype(), attention, false);
    if (rotary_) std::tie(state.inputs.cos, state.inputs.sin) = rotary_->tables(s, embedded.dtype());
    state.hidden = embedded;
    state.held = {embedded};
    return state;
  }

 private:
  std::vector<SharedBlock> shared_;  ///< as their first users have them
  std::unique_ptr<Rotary> rotary_;
};

}  // namespace

std::unique_ptr<Architecture> make_zamba2(const Model& model, DType weights) {
  return std::make_unique<Zamba2>(model, weights);
}

}  // namespace trainmem::transformers
