// RWKV 4: models/rwkv/modeling_rwkv.py. Attention is a recurrence over the tokens, a kernel or a loop of PyTorch's
// operations.
#include <utility>

#include "engine/blocks/transformers/chunks.h"
#include "engine/blocks/transformers/decoder.h"
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/weighted_keys.h"

namespace trainmem::transformers {

namespace {

/// Every token mixed with the one before it.
class TimeMix {
 public:
  TimeMix(const Size& width, DType dtype) : share_(make_parameter({1, 1, width}, dtype, "time mix")) {}
  Tensor operator()(const Tensor& x, const Tensor& before) const {
    Tensor own = x * share_;
    const Tensor rest = negate(share_);  // 1 - share
    return std::move(own) + before * rest;
  }

 private:
  Tensor share_;
};

/// nn.ZeroPad2d((0, 0, 1, -1)).
Tensor one_before(const Tensor& x) { return padded(x, x.shape()); }

class RwkvBlock : public Block {
 public:
  RwkvBlock(const Model& m, DType dtype, std::int64_t layer)
      : first_norm_(layer == 0 ? block_norm(m, dtype) : NormLayer()),
        attention_norm_(block_norm(m, dtype)),
        mlp_norm_(block_norm(m, dtype)),
        decay_(make_parameter({m.hidden_size}, dtype, "time decay")),
        bonus_(make_parameter({m.hidden_size}, dtype, "time first")),
        key_mix_(m.hidden_size, dtype),
        value_mix_(m.hidden_size, dtype),
        receptance_mix_(m.hidden_size, dtype),
        key_(m.hidden_size, m.hidden_size, false, dtype, "key"),
        value_(m.hidden_size, m.hidden_size, false, dtype, "value"),
        receptance_(m.hidden_size, m.hidden_size, false, dtype, "output gate"),
        output_(m.hidden_size, m.hidden_size, false, dtype, "attention projection"),
        up_mix_(m.hidden_size, dtype),
        gate_mix_(m.hidden_size, dtype),
        up_(m.hidden_size, m.intermediate_size, false, dtype, "up"),
        gate_(m.hidden_size, m.hidden_size, false, dtype, "output gate"),
        down_(m.intermediate_size, m.hidden_size, false, dtype, "down") {}

  Tensor forward(Tensor hidden, const BlockInputs&) override {
    if (first_norm_.weight.defined()) hidden = first_norm_.at("first norm", std::move(hidden));
    const Tensor attended = attend(attention_norm_.at("norm before attention", hidden));
    hidden = std::move(hidden) + attended;
    const Tensor fed = mlp(mlp_norm_.at("norm before MLP", hidden));
    return std::move(hidden) + fed;
  }

 private:
  Tensor attend(const Tensor& hidden) const {
    const Place place("attention");
    Tensor receptance, key, value;
    {
      const Tensor before = one_before(hidden);
      key = key_mix_(hidden, before);
      value = value_mix_(hidden, before);
      receptance = receptance_mix_(hidden, before);
      key = key_(key);
      value = value_(value);
      receptance = sigmoid(receptance_(receptance));
    }
    const bool kernel = active_run().settings.fused.fast_path;
    const Tensor weighted =
        kernel ? weighted_keys(decay_, bonus_, key, value) : weighted_keys_by_operations(decay_, bonus_, key, value);
    return output_(receptance * weighted);
  }

  Tensor mlp(const Tensor& hidden) const {
    const Place place("mlp");
    const Tensor before = one_before(hidden);
    Tensor key = up_mix_(hidden, before);
    Tensor receptance = gate_mix_(hidden, before);
    key = square(relu(up_(key)));
    const Tensor value = down_(key);
    receptance = sigmoid(gate_(receptance));
    return receptance * value;
  }

  NormLayer first_norm_, attention_norm_, mlp_norm_;
  Tensor decay_, bonus_;
  TimeMix key_mix_, value_mix_, receptance_mix_;
  Linear key_, value_, receptance_, output_;
  TimeMix up_mix_, gate_mix_;
  Linear up_, gate_, down_;
};

class Rwkv : public Decoder {
 public:
  using Decoder::Decoder;

  std::unique_ptr<Block> make_block(std::int64_t layer) override {
    return std::make_unique<RwkvBlock>(model, weights, layer);
  }

  ForwardState begin(const Tensor& ids, AttentionKernel) override {
    ForwardState state;
    const Place place("embedding");
    state.hidden = embed(embedding_, ids);
    state.held = {state.hidden};
    return state;
  }
};

}  // namespace

std::unique_ptr<Architecture> make_rwkv(const Model& model, DType weights) {
  return std::make_unique<Rwkv>(model, weights);
}

}  // namespace trainmem::transformers
