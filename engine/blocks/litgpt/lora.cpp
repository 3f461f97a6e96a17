#include "engine/blocks/litgpt/lora.h"

#include "engine/tensor/run.h"
#include "engine/text/list.h"

namespace trainmem::litgpt {

namespace {

constexpr Rule convolution_rule{"convolution", "input and weight: each one's gradient needs the other",
                                "derivatives.yaml: convolution; aten/src/ATen/native/cudnn/ConvShared.cpp"};
constexpr Rule index_copy_rule{"index_copy", "the index, and what was copied, for its shape",
                               "derivatives.yaml: index_copy"};
constexpr Rule indices_rule{"buffer", "a buffer of the layer", "litgpt/lora.py: LoRAQKVLinear.lora_ind"};

/// F.conv1d over one position: (b, in, s) and (out, in / groups) to (b, out, s). cuDNN reads contiguous memory only.
Tensor convolution(Tensor argument, const Tensor& filter) {
  const Tensor given = std::move(argument);
  const Tensor weight = autocast_low(filter);
  const Tensor x = autocast_low(given);
  const Ref<Node> node = begin_node(convolution_rule, {&x, &weight});
  keep(node, x);
  keep(node, weight);
  const Shape shape{x.size(0), weight.size(0), x.size(2)};
  Tensor result;
  {
    const Tensor copy = allocate(x.shape(), x.dtype(), {&convolution_rule});
    result = allocate(shape, x.dtype(), {&convolution_rule, "LoRA B output"});
  }
  if (node)
    node->backward = [](Backward& backward) {
      const Tensor kept_x = backward.kept(0);
      const Tensor kept_weight = backward.kept(1);
      const Tensor& gradient = backward.gradient();
      const Tensor input_copy = allocate(kept_x.shape(), kept_x.dtype(), {&convolution_rule});
      const Tensor copy =
          allocate(gradient.shape(), gradient.dtype(), {&convolution_rule, "gradient of LoRA B output"});
      Tensor of_x = allocate(kept_x.shape(), kept_x.dtype(), {&convolution_rule});
      Tensor of_weight = allocate(kept_weight.shape(), kept_weight.dtype(), {&convolution_rule, "weight gradient"});
      backward.give(0, std::move(of_x));
      backward.give(1, std::move(of_weight));
    };
  finish_node(node, result);
  return result;
}

/// zeros.index_copy_(-1, indices, x): x (b, s, n) in a result of `width` channels.
Tensor pad_channels(Tensor argument, const Tensor& indices, Size width) {
  const Tensor x = std::move(argument);
  const Shape shape{x.size(0), x.size(1), width};
  Tensor result = allocate(shape, x.dtype(), {&index_copy_rule, "padded LoRA output"});
  const Tensor index = allocate(indices.shape(), DType::int64, {&index_copy_rule, "indices"});  // a clone
  const Ref<Node> node = begin_node(index_copy_rule, {&x});
  keep(node, index);
  keep(node, x);
  if (node)
    node->backward = [narrow = x.shape()](Backward& backward) {
      const Tensor kept_index = backward.kept(0);
      const Tensor kept_x = backward.kept(1);
      backward.give(0, allocate(narrow, backward.gradient().dtype(), {&index_copy_rule}));
    };
  finish_node(node, result);
  return result;
}

}  // namespace

QueryKeyValue::QueryKeyValue(const Model& m, DType dtype) {
  const Size query = Size(m.num_attention_heads) * Size(m.head_dim);
  const Size group = Size(m.num_key_value_heads) * Size(m.head_dim);
  out_ = query + group + group;
  const FineTuning tuning = active_run().settings.fine_tuning;
  {
    const Set<std::int64_t> rank(active_run().settings.fine_tuning.rank, 0);  // its adapter is another
    linear_ = Linear(m.hidden_size, out_, m.attention_bias, dtype, "query, key and value");
  }
  if (tuning.rank == 0) return;
  same_widths_ = m.num_attention_heads == m.num_key_value_heads;
  Size width = 0;
  const auto choose = [&](const char* word, const Size& size) {
    if (!has_item(tuning.targets, word)) return;
    chosen_.push_back(size);
    width = width + size;
  };
  choose("q", query);
  choose("k", group);
  choose("v", group);
  if (chosen_.empty()) return;
  Run& run = active_run();
  const Set<bool> trained(run.new_parameters.frozen, false);
  const Size rows = Size(tuning.rank) * Size(static_cast<std::int64_t>(chosen_.size()));
  a_ = make_parameter({rows, m.hidden_size}, tuning.dtype, "LoRA A");
  b_ = make_parameter({width, tuning.rank}, tuning.dtype, "LoRA B");
  run.tape.adapter_elements +=
      ((rows * Size(m.hidden_size) + width * Size(tuning.rank)) * run.times_of(run.layer)).recorded();
  if (chosen_.size() == 3) return;
  const Set<Component> component(run.component, Component::weights);
  indices_ = allocate({width}, DType::int64, {&indices_rule, "channels of adapters"});
  note_kept(indices_, indices_rule);
}

Tensor QueryKeyValue::adapted(const Tensor& x) const {
  const FineTuning& tuning = active_run().settings.fine_tuning;
  const Tensor after_a = linear(dropout(x, tuning.dropout), a_, {}, "LoRA A output");
  const Tensor columns = transpose(after_a, 1, 2);
  Tensor after_b;
  if (same_widths_) {
    after_b = convolution(columns, b_);
  } else {
    std::vector<Tensor> parts;
    {
      const Size rank = tuning.rank;
      const std::vector<Tensor> inputs = split(columns, std::vector<Size>(chosen_.size(), rank), 1);
      const std::vector<Tensor> filters = split(b_, chosen_, 0);
      for (std::size_t i = 0; i < chosen_.size(); ++i) parts.push_back(convolution(inputs[i], filters[i]));
    }
    after_b = concatenate(parts, 1);
  }
  after_b = transpose(std::move(after_b), 1, 2);
  return multiply_number(indices_.defined() ? pad_channels(after_b, indices_, out_) : after_b);
}

Tensor QueryKeyValue::operator()(Tensor argument) const {
  const Tensor x = std::move(argument);
  Tensor pretrained = linear_(x);
  if (!a_.defined()) return pretrained;
  const Tensor lora = adapted(x);
  return add(pretrained, lora, "output with LoRA");
}

}  // namespace trainmem::litgpt
