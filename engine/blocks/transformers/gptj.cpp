// GPT-J: models/gptj/modeling_gptj.py.
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gptj_block.h"

namespace trainmem::transformers {

namespace {

class GptjProjections {
 public:
  static constexpr Rule table{"sinusoids", "sines and cosines of every position: a buffer of each block",
                              "transformers models/gptj/modeling_gptj.py: create_sinusoidal_positions"};

  GptjProjections(const Model& m, DType dtype)
      : model_(m),
        key_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "key"),
        value_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "value"),
        query_(m.hidden_size, m.hidden_size, m.attention_bias, dtype, "query") {}

  ProjectedHeads operator()(const Tensor& hidden) const {
    const Shape heads{hidden.size(0), hidden.size(1), model_.num_attention_heads, model_.head_dim};
    Tensor query = query_(hidden);
    Tensor key = key_(hidden);
    Tensor value = value_(hidden);
    query = view(std::move(query), heads);
    key = view(std::move(key), heads);
    value = transpose(view(std::move(value), heads), 1, 2);
    return {std::move(query), std::move(key), std::move(value)};
  }

  /// The sinusoids of all positions, copied, then those of this sequence gathered.
  static Tensor rotary(const Tensor& sinusoids, const Size& s, DType dtype, std::vector<Tensor>& held) {
    const Size turning = sinusoids.size(1);
    held.push_back(allocate({1, sinusoids.size(0), turning}, sinusoids.dtype(), {&table}));
    held.push_back(allocate({1, s, turning}, DType::int64, {&table}));
    return to(allocate({1, s, turning}, sinusoids.dtype(), {&table}), dtype);
  }

  static Tensor scaled(Tensor scores, const Tensor& mask) {
    scores = multiply_number(std::move(scores));
    return scores + mask;
  }

 private:
  const Model& model_;
  Linear key_, value_, query_;
};

}  // namespace

std::unique_ptr<Architecture> make_gptj(const Model& model, DType weights) {
  return std::make_unique<GptjDecoder<GptjProjections>>(model, weights);
}

}  // namespace trainmem::transformers
