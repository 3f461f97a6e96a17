// CodeGen: models/codegen/modeling_codegen.py. GPT-J with one projection, its heads in four groups, each of which has
// its query, value and key beside each other.
#include "engine/blocks/transformers/families.h"
#include "engine/blocks/transformers/gptj_block.h"

namespace trainmem::transformers {

namespace {

constexpr std::int64_t groups = 4;  // mp_num

class CodegenProjections {
 public:
  static constexpr Rule table{"sinusoids", "sines and cosines of every position: a buffer of each block",
                              "transformers models/codegen/modeling_codegen.py: create_sinusoidal_positions"};

  CodegenProjections(const Model& m, DType dtype)
      : model_(m), together_(m.hidden_size, Size(3) * m.hidden_size, false, dtype, "query, key and value") {}

  ProjectedHeads operator()(const Tensor& hidden) const {
    const Size b = hidden.size(0);
    const Size s = hidden.size(1);
    const Size d = model_.head_dim;
    const Size in_group = Size(model_.num_attention_heads) / groups;
    const Tensor together = together_(hidden);
    const Size width = model_.hidden_size / groups;
    std::vector<Tensor> parts = split(view(together, {b, s, groups, Size(3) * width}), {width, width, width}, 3);
    const auto heads = [&](const Tensor& part) {
      return reshape(view(part, {b, s, groups, in_group, d}), {b, s, Size(groups) * in_group, d});
    };
    Tensor query = heads(parts[0]);
    Tensor key = heads(parts[2]);
    Tensor value = transpose(heads(parts[1]), 1, 2);
    return {std::move(query), std::move(key), std::move(value), std::move(parts)};
  }

  static Tensor rotary(const Tensor& sinusoids, const Size& s, DType, std::vector<Tensor>&) {
    return allocate({1, s, sinusoids.size(1)}, sinusoids.dtype(), {&table});
  }

  /// The mask before the scale.
  static Tensor scaled(Tensor scores, const Tensor& mask) {
    scores = scores + mask;
    return multiply_number(std::move(scores));
  }

 private:
  const Model& model_;
  Linear together_;
};

}  // namespace

std::unique_ptr<Architecture> make_codegen(const Model& model, DType weights) {
  return std::make_unique<GptjDecoder<CodegenProjections>>(model, weights);
}

}  // namespace trainmem::transformers
