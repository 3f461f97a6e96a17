#include "engine/blocks/fused_lora.h"

#include <utility>
#include <vector>

#include "engine/tensor/autograd.h"
#include "engine/tensor/run.h"
#include "engine/tensor/work.h"

namespace trainmem {

namespace {

constexpr const char* lora_source =
    "foundation-model-stack/fms-acceleration fused_ops/unsloth_lora/bnb/fast_lora.py: LoRA_QKV, LoRA_W";
constexpr Rule lora_rule{"fused LoRA",
                         "what dropout made of the argument, and the argument: the adapters' gradients need the one, "
                         "that of the argument is written over the other",
                         lora_source};
constexpr Rule product_rule{"fused LoRA", "", lora_source, true};
constexpr Rule copy_rule{"16-bit copy of a 4-bit weight", "",
                         "foundation-model-stack/fms-acceleration fused_ops/unsloth_lora/utils.py: fast_dequantize"};

/// What a backward knows of a layer beside what its node keeps.
struct Sizes {
  Shape weight;  ///< (out, in)
  Size stored;   ///< bytes of the weight in memory
  bool quantized = false;
  double dropout = 0.0;
};

Sizes sizes_of(const Linear& layer) {
  Sizes sizes;
  sizes.quantized = layer.quantized.defined();
  sizes.dropout = layer.adapter.dropout;
  sizes.weight = sizes.quantized ? Shape{layer.quantized.out, layer.quantized.in} : layer.weight.shape();
  const Size elements = sizes.weight.elements();
  sizes.stored = sizes.quantized ? ceil_divide(elements, 2) : elements * element_bytes(layer.weight.dtype());
  return sizes;
}

Tensor temporary(const Shape& shape, DType dtype, const char* role = nullptr) {
  return allocate(shape, dtype, {&lora_rule, role});
}

/// The weight in 16 bits, with the scales that it is made with: fast_dequantize.
Tensor dequantized(const Sizes& sizes, DType dtype) {
  if (!sizes.quantized) return {};
  Tensor copy = allocate(sizes.weight, dtype, {&copy_rule});
  const Tensor scales = allocate({ceil_divide(sizes.weight.elements(), 64)}, DType::float32, {&copy_rule, "scales"});
  return copy;
}

/// A factor of the adapter in the argument's format: .to(dtype).
Tensor cast_of(const Tensor& factor, DType dtype) {
  return factor.dtype() == dtype ? Tensor() : temporary(factor.shape(), dtype);
}

/// matmul_lora: `dropped` becomes what the adapter saw of the argument.
Tensor product(const Tensor& x, const Linear& layer, Tensor& dropped) {
  const Sizes sizes = sizes_of(layer);
  const DType dtype = x.dtype();
  const Size tokens = x.elements() / sizes.weight[1];
  const Tensor& a = layer.adapter.a;
  const Tensor& b = layer.adapter.b;
  Shape shape = x.shape();
  shape[-1] = sizes.weight[0];
  Tensor copy = dequantized(sizes, dtype);
  note_linear(Pass::forward, tokens, sizes.weight.elements(), sizes.stored);
  Tensor result = allocate(shape, dtype, {&product_rule, layer.role});
  copy.reset();
  dropped = x;
  if (sizes.dropout > 0) {
    dropped = temporary(x.shape(), dtype, "dropout");
    const Tensor mask = temporary(x.shape(), DType::boolean, "dropout mask");
  }
  Tensor low;
  {
    const Tensor cast = cast_of(a, dtype);
    low = temporary({tokens, a.size(0)}, dtype);
    note_linear(Pass::forward, tokens, a.elements(), a.elements() * element_bytes(dtype));
  }
  Tensor scaled;
  {
    const Tensor cast = cast_of(b, dtype);
    scaled = temporary(b.shape(), dtype);
  }
  note_linear(Pass::forward, tokens, b.elements(), b.elements() * element_bytes(dtype));
  const Tensor branch = temporary(shape, dtype);
  return result;
}

/// Gradients of a layer's two factors, in the argument's format; a cast to theirs follows when all are made.
void give_adapters(Backward& backward, int first, const Tensor& a, const Tensor& b, const Size& tokens, DType dtype) {
  const Size rank = a.size(0);
  note_linear(Pass::backward, tokens, Size(2) * (a.elements() + b.elements()), Size(0));
  {
    const Tensor cast = cast_of(b, dtype);
    const Tensor low = temporary({tokens, rank}, dtype);
    backward.give(first, temporary(a.shape(), dtype, "LoRA A gradient"));
  }
  const Tensor cast = cast_of(a, dtype);
  const Tensor low = temporary({rank, tokens}, dtype);
  backward.give(first + 1, temporary(b.shape(), dtype, "LoRA B gradient"));
}

/// dX += (dropped != 0) * (dY @ B @ A)
void add_of_adapter(const Shape& shape, const Tensor& a, const Tensor& b, const Size& tokens, DType dtype) {
  const Tensor nonzero = temporary(shape, DType::boolean);
  Tensor low;
  {
    const Tensor cast = cast_of(b, dtype);
    low = temporary({tokens, a.size(0)}, dtype);
  }
  Tensor scaled;
  {
    const Tensor cast = cast_of(a, dtype);
    scaled = temporary(a.shape(), dtype);
  }
  const Tensor of_branch = temporary(shape, dtype);
  const Tensor masked = temporary(shape, dtype);
}

/// One node for the products of all `layers` with x.
std::vector<Tensor> lora_node(const Tensor& x, const std::vector<const Linear*>& layers) {
  std::vector<Tensor> arguments{x};
  for (const Linear* layer : layers) {
    arguments.push_back(layer->adapter.a);
    arguments.push_back(layer->adapter.b);
  }
  const Ref<Node> node = begin_node(lora_rule, arguments);
  std::vector<Tensor> results, dropped(layers.size());
  std::vector<Sizes> sizes;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    results.push_back(product(x, *layers[i], dropped[i]));
    sizes.push_back(sizes_of(*layers[i]));
  }
  for (const Tensor& argument : arguments) keep(node, argument);
  for (const Tensor& one : dropped) keep(node, one);
  if (node)
    node->backward = [sizes = std::move(sizes)](Backward& b) {
      const int count = static_cast<int>(sizes.size());
      std::vector<Tensor> held;
      for (int i = 0; i < 1 + 3 * count; ++i) held.push_back(b.kept(i));
      const Tensor& kept_x = held[0];
      const DType dtype = kept_x.dtype();
      const Size tokens = kept_x.elements() / kept_x.size(-1);
      const auto a_of = [&](int layer) -> const Tensor& { return held[1 + 2 * static_cast<std::size_t>(layer)]; };
      const auto b_of = [&](int layer) -> const Tensor& { return held[2 + 2 * static_cast<std::size_t>(layer)]; };
      for (int i = 0; i < count; ++i) give_adapters(b, 1 + 2 * i, a_of(i), b_of(i), tokens, dtype);
      if (!b.wants(0)) return;
      Tensor of_x;
      for (int i = 0; i < count; ++i) {
        const Sizes& layer = sizes[static_cast<std::size_t>(i)];
        Tensor copy = dequantized(layer, dtype);
        note_linear(Pass::backward, tokens, layer.weight.elements(), layer.stored);
        if (i > 0) {
          const Tensor more = temporary(kept_x.shape(), dtype);
        } else {
          of_x = count > 1 ? kept_x : temporary(kept_x.shape(), dtype);  // LoRA_QKV: out = X
        }
        copy.reset();
        add_of_adapter(kept_x.shape(), a_of(i), b_of(i), tokens, dtype);
      }
      b.give(0, view(std::move(of_x), kept_x.shape()));
    };
  for (const Tensor& result : results) finish_node(node, result);
  return results;
}

}  // namespace

bool has_fused_adapter(const Linear& layer) {
  return active_run().settings.fine_tuning.fused && layer.adapter.defined();
}

Tensor fused_lora(const Tensor& x, const Linear& layer) { return lora_node(x, {&layer})[0]; }

Projections::Projections(const Tensor& x, const Linear& query, const Linear& key, const Linear& value)
    : x_(x),
      layers_{&query, &key, &value},
      fused_(has_fused_adapter(query) && has_fused_adapter(key) && has_fused_adapter(value)) {}

Tensor Projections::take(int which) {
  if (!fused_) return (*layers_[which])(x_);
  if (!results_[0].defined() && !results_[1].defined() && !results_[2].defined()) {
    std::vector<Tensor> all = lora_node(x_, {layers_[0], layers_[1], layers_[2]});
    std::move(all.begin(), all.end(), results_);
  }
  return std::move(results_[which]);
}

}  // namespace trainmem
