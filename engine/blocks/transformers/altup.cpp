#include "engine/blocks/transformers/altup.h"

#include <utility>

#include "engine/tensor/run.h"
#include "engine/tensor/write_columns.h"

namespace trainmem::transformers {

namespace {

constexpr Rule scale_rule{"router input scale", "a buffer that the router's input is multiplied with",
                          "transformers models/gemma3n/modeling_gemma3n.py: Gemma3nTextAltUp"};
constexpr Rule root_rule{"sqrt", "result of the root: its backward needs it", "derivatives.yaml: sqrt"};
constexpr Rule least_rule{"least magnitude", "", "transformers models/gemma3n/modeling_gemma3n.py: epsilon_tensor"};
constexpr Rule repeat_rule{"repeat", "", "derivatives.yaml: repeat (repeat_backward)"};
constexpr Rule slice_rule{"add into a slice", "",
                          "pytorch torch/csrc/autograd/functions/tensor.cpp: CopySlices::apply, of add_"};

Tensor root(const Tensor& x) {
  const Ref<Node> node = begin_node(root_rule, {&x});
  Tensor result = allocate(x.shape(), x.dtype(), {&root_rule});
  keep(node, result);
  if (node)
    node->backward = [](Backward& b) {
      const Tensor kept = b.kept(0);
      const Tensor twice = allocate(kept.shape(), kept.dtype(), {&root_rule});
      b.give(0, allocate(kept.shape(), kept.dtype(), {&root_rule}));
    };
  finish_node(node, result);
  return result;
}

/// x.repeat(A, 1, 1, 1).
Tensor repeat(Tensor argument, const Size& times) {
  const Tensor x = std::move(argument);
  const Ref<Node> node = begin_node(repeat_rule, {&x});
  Tensor result = allocate({times, x.size(0), x.size(1), x.size(2)}, x.dtype(), {&repeat_rule, "innovation"});
  if (node)
    node->backward = [shape = x.shape()](Backward& b) {
      b.give(0, allocate(shape, b.gradient().dtype(), {&repeat_rule}));
    };
  finish_node(node, result);
  return result;
}

/// all += values, where what is written to is a view of the whole, or of a part of it that has the shape `part`.
Tensor add_into_view(Tensor argument, const Tensor& values, const Shape& part) {
  const Tensor all = std::move(argument);
  const Ref<Node> node = begin_node(slice_rule, {&all, &values});
  Tensor result = alias(all, all.shape(), all->strides);
  if (node)
    node->backward = [part](Backward& b) {
      const Tensor& gradient = b.gradient();
      Tensor whole = allocate(gradient.shape(), gradient.dtype(), {&slice_rule});
      Tensor slice = allocate(part, gradient.dtype(), {&slice_rule});
      if (b.wants(1)) b.give(1, std::move(slice));
      if (b.wants(0)) b.give(0, std::move(whole));
    };
  finish_node(node, result);
  return result;
}

/// (A, b, s, h) as (b, s, h, A).
Tensor streams_last(Tensor x) {
  for (int i = 0; i < 3; ++i) x = transpose(std::move(x), i, i + 1);
  return x;
}

}  // namespace

AltUp::AltUp(const Model& m, const LlamaForm& form, DType dtype) : streams_(m.altup_num_inputs) {
  const Place place("altup");
  output_scale_ = make_parameter({m.hidden_size}, dtype, "output scale");
  correction_ = make_parameter({streams_, streams_}, dtype, "correction");
  correction_adapter_ = make_adapter(streams_, streams_, "correction");
  prediction_ = Linear(streams_, streams_ * streams_, false, dtype, "prediction");
  router_ = Linear(m.hidden_size, streams_, false, dtype, "modality router");
  norm_ = llama_norm_layer(m, form, dtype);
  input_scale_ = model_buffer({}, dtype, scale_rule);
}

Tensor AltUp::modalities(const Tensor& x) const {
  const Tensor inputs = norm_(x) * input_scale_;
  const Tensor routed = router_(inputs);
  return to(tanh(to(routed, DType::float32)), x.dtype());
}

Tensor AltUp::predict(const Tensor& streams) const {
  const Place place("prediction");
  const Tensor modal = modalities(select(streams, 0, 0));
  Tensor coefficients = prediction_(modal);
  coefficients = view(std::move(coefficients), {modal.size(0), modal.size(1), streams_, streams_});
  coefficients = transpose(std::move(coefficients), 2, 3);
  Tensor predictions = matmul(streams_last(streams), coefficients, "predictions");
  const Shape whole = predictions.shape();
  predictions = add_into_view(std::move(predictions), streams_last(streams), whole);
  for (int i = 3; i > 0; --i) predictions = transpose(std::move(predictions), i - 1, i);
  return to(contiguous(predictions, "predictions"), streams.dtype());
}

Tensor AltUp::correct(const Tensor& predictions, const Tensor& activated) const {
  const Place place("correction");
  const Tensor modal = modalities(activated);
  Tensor innovation = subtract(activated, select(predictions, 0, 0));
  innovation = repeat(std::move(innovation), streams_);
  const Tensor weight = clamp(correction_);
  Tensor coefficients = add_number(linear(modal, weight, {}, "correction"));
  coefficients = transpose(transpose(std::move(coefficients), 1, 2), 0, 1);
  coefficients = unsqueeze(std::move(coefficients), 3);
  Tensor corrected = multiply(innovation, coefficients, "corrected");
  corrected = add_in_place(std::move(corrected), predictions);
  return to(corrected, activated.dtype());
}

Tensor AltUp::scaled(const Tensor& corrected) const {
  return to(to(corrected, output_scale_.dtype()) * output_scale_, corrected.dtype());
}

StreamProjections::StreamProjections(const Model& m, DType dtype, const char* role) {
  for (std::int64_t i = 1; i < m.altup_num_inputs; ++i)
    projections_.emplace_back(m.hidden_size, m.hidden_size, false, dtype, role);
}

std::vector<Tensor> StreamProjections::operator()(const Tensor& measured, const std::vector<Tensor>& given,
                                                  std::vector<Tensor>& locals) const {
  const Tensor target = inverse_root(mean_last(square(measured)));
  std::vector<Tensor> streams{given[0]};
  Tensor projected, magnitude;
  for (std::size_t i = 0; i < projections_.size(); ++i) {
    projected = projections_[i](given.size() > 1 ? given[i + 1] : given[0]);
    const Tensor current = to(projected, given[0].dtype());
    magnitude = mean_last(square(current));
    const Tensor least = allocate({}, DType::float32, {&least_rule});
    magnitude = root(minimum_with(std::move(magnitude), least));
    streams.push_back(divide(current * target, magnitude));
  }
  locals = streams;
  for (const Tensor& local : {target, projected, magnitude}) locals.push_back(local);
  return streams;
}

Tensor stack(const std::vector<Tensor>& tensors, const char* role) {
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) parts.push_back(unsqueeze(tensor, 0));
  return concatenate(parts, 0, role);
}

Tensor add_to_others(Tensor all, const Tensor& x) {
  const Size streams = all.size(0);
  Shape others = all.shape();
  others[0] = streams - 1;
  all = add_into_view(std::move(all), x, others);
  const Tensor slice_of_sum = slice(all, 0, 1, streams);
  return write_columns(std::move(all), slice_of_sum);
}

}  // namespace trainmem::transformers
