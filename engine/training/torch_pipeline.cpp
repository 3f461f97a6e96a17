#include "engine/training/torch_pipeline.h"

#include <algorithm>
#include <string>

#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr const char* stage_source = "pytorch torch/distributed/pipelining/stage.py: _RecvInfo";
constexpr Rule tokens_rule{"input", "token ids and labels of all micro-batches", "torchtitan trainer.py"};
constexpr Rule receive_rule{"receive buffer", "of every micro-batch of a step, made once", stage_source};
constexpr Rule input_gradient_rule{"gradient of a stage's input",
                                   "stays at the receive buffer until the next step begins",
                                   "pytorch torch/distributed/pipelining/stage.py: clear_runtime_states"};

/// The memory of a buffer, seen as one micro-batch's tensor.
Tensor leaf_over(const Tensor& buffer, const Shape& shape) { return alias(buffer, shape, contiguous_strides(shape)); }

}  // namespace

TorchPipeline::TorchPipeline(const Config& config, const StepOptions& options, ModuleWrapper* wrapper)
    : config_(config),
      options_(options),
      formats_(formats(config.recipe)),
      wrapper_(wrapper),
      order_(pipeline_order(config.recipe, options.stage)) {
  const auto stages = pipeline_stages(config.recipe, config.model.num_hidden_layers);
  for (const PipelineChunk& part : stages[static_cast<std::size_t>(options.stage)].chunks) {
    Model of_part = config.model;
    of_part.num_hidden_layers = part.layers;
    std::int64_t& dense = of_part.experts.first_k_dense_replace;
    dense = std::max<std::int64_t>(dense - part.first_layer, 0);
    std::vector<LayerSlot> slots = layer_slots(of_part, config.recipe, options.fold);
    for (LayerSlot& slot : slots) {
      slot.index += static_cast<std::int32_t>(part.first_layer);
      slot.group += static_cast<std::int32_t>(part.first_layer);
      slot.kind += static_cast<std::int32_t>(part.first_layer);
    }
    Chunk chunk;
    chunk.part = part;
    chunk.model = std::make_unique<CausalModel>(make_architecture(config.model, config.recipe), std::move(slots),
                                                config.recipe, wrapper, part);
    chunks_.push_back(std::move(chunk));
  }
}

Shape TorchPipeline::hidden_shape(Size micro_batches) const {
  const Recipe& recipe = config_.recipe;
  Size sequence = Size(recipe.sequence_length) / Size(recipe.context_parallel);
  if (recipe.sequence_parallel) sequence = sequence / Size(recipe.tensor_parallel);
  return {micro_batches * Size(recipe.micro_batch_size), sequence, config_.model.hidden_size};
}

void TorchPipeline::phase(Phase kind, const char* what) {
  active_run().begin_phase(step_, kind, "step " + std::to_string(step_) + what);
}

void TorchPipeline::begin_step(std::int32_t step) {
  step_ = step;
  phase(Phase::forward, " forward");
  const Recipe& recipe = config_.recipe;
  const Size all = recipe.gradient_accumulation_steps;
  const Shape tokens{all * Size(recipe.micro_batch_size), Size(recipe.sequence_length) / Size(recipe.context_parallel)};
  ids_ = allocate(tokens, DType::int64, {&tokens_rule, "token ids"});
  note_kept(ids_, tokens_rule);
  labels_ = allocate(tokens, DType::int64, {&tokens_rule, "labels"});
  note_kept(labels_, tokens_rule);
  const Place place("pipeline", Component::communication);
  const auto buffer = [&](Size micro_batches, const Rule& rule, const char* role) {
    Tensor tensor = allocate(hidden_shape(micro_batches), formats_.computation, {&rule, role});
    note_kept(tensor, rule);
    return tensor;
  };
  const Size left_out = all - Size(micro_batches_taken(order_, options_.fold));
  for (Chunk& chunk : chunks_) {
    for (InputGradient& gradient : chunk.input_gradients) {
      const Repeat repeat{Size(gradient.times)};
      gradient.tensor.reset();
    }
    chunk.input_gradients.clear();
    if (!chunk.part.first && !chunk.inputs.defined()) chunk.inputs = buffer(all, receive_rule, "received inputs");
    if (!chunk.part.last && !chunk.output_gradients.defined())
      chunk.output_gradients = buffer(all, receive_rule, "received gradients");
    // What turns that are not taken would have left behind.
    if (!chunk.part.first && left_out.value() > 0)
      chunk.input_gradients.push_back({buffer(left_out, input_gradient_rule, "gradients of inputs")});
  }
}

void TorchPipeline::run(std::int32_t step) {
  begin_step(step);
  if (wrapper_ != nullptr) wrapper_->begin_accumulation();
  run_order(order_, options_.fold, [this](const PipelineTurn& turn, std::int64_t times) {
    times_ = times;
    take(turn);
  });
  if (wrapper_ != nullptr) wrapper_->finish_accumulation();
}

void TorchPipeline::take(const PipelineTurn& turn) {
  Chunk& chunk = chunks_[static_cast<std::size_t>(turn.chunk)];
  switch (turn.work) {
    case PipelineTurn::Work::forward: return forward(chunk);
    case PipelineTurn::Work::backward: return backward(chunk);
    case PipelineTurn::Work::input: return input_backward(chunk);
    case PipelineTurn::Work::weights: return weight_backward(chunk);
  }
}

void TorchPipeline::forward(Chunk& chunk) {
  phase(Phase::forward, " forward");
  const Size batch = config_.recipe.micro_batch_size;
  MicroBatch micro_batch;
  if (chunk.part.first) {
    micro_batch.input = slice(ids_, 0, 0, batch);
  } else {
    micro_batch.input = leaf_over(chunk.inputs, hidden_shape(1));
    micro_batch.input->requires_grad = true;
  }
  {
    const AutocastScope autocast(Autocast::in(formats_.autocast));
    micro_batch.output = chunk.model->forward_part(micro_batch.input);
    if (chunk.part.last) {
      phase(Phase::loss, " forward");
      const Tensor labels = slice(labels_, 0, 0, batch);
      micro_batch.loss = chunk.model->loss(micro_batch.output, labels);
    }
  }
  chunk.in_flight.push_back(std::move(micro_batch));
}

void TorchPipeline::keep_input_gradient(Chunk& chunk, MicroBatch& micro_batch) {
  if (chunk.part.first) return;
  Tensor gradient = std::move(micro_batch.input->grad);
  set_component(gradient, Component::communication);
  note_kept(gradient, input_gradient_rule);
  chunk.input_gradients.push_back({std::move(gradient), times_});
  micro_batch.input->grad_fn = Ref<Node>();
}

void TorchPipeline::backward(Chunk& chunk) {
  phase(Phase::backward, " backward");
  MicroBatch micro_batch = std::move(chunk.in_flight.front());
  chunk.in_flight.pop_front();
  if (chunk.part.last) {
    run_backward(micro_batch.loss);
  } else {
    run_backward(micro_batch.output, leaf_over(chunk.output_gradients, hidden_shape(1)));
  }
  keep_input_gradient(chunk, micro_batch);
}

void TorchPipeline::input_backward(Chunk& chunk) {
  phase(Phase::backward, " backward");
  chunk.weights_to_come.push_back(std::move(chunk.in_flight.front()));
  chunk.in_flight.pop_front();
  MicroBatch& micro_batch = chunk.weights_to_come.back();
  if (chunk.part.first) return;  // the weights' turn does all
  Tensor& root = chunk.part.last ? micro_batch.loss : micro_batch.output;
  micro_batch.gradient = chunk.part.last ? allocate({}, root.dtype(), {&input_gradient_rule, "gradient of the loss"})
                                         : leaf_over(chunk.output_gradients, hidden_shape(1));
  micro_batch.split.run_input(root, micro_batch.gradient, micro_batch.input);
  micro_batch.output = detach(micro_batch.output);
  micro_batch.loss.reset();
  keep_input_gradient(chunk, micro_batch);
}

void TorchPipeline::weight_backward(Chunk& chunk) {
  if (chunk.part.first) {
    chunk.in_flight.push_front(std::move(chunk.weights_to_come.front()));
    chunk.weights_to_come.pop_front();
    return backward(chunk);
  }
  phase(Phase::backward, " backward");
  chunk.weights_to_come.front().split.run_weights();
  chunk.weights_to_come.pop_front();
}

}  // namespace trainmem
