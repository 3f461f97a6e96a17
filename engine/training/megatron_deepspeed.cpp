#include "engine/training/megatron_deepspeed.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "engine/blocks/megatron/gpt.h"
#include "engine/parallel/pipeline.h"
#include "engine/parallel/zero.h"
#include "engine/tensor/record.h"
#include "engine/training/megatron_optimizer.h"

namespace trainmem {

namespace {

constexpr const char* engine_source = "DeepSpeed deepspeed/runtime/pipe/engine.py";
constexpr Rule buffer_rule{"pipeline buffer", "what is received, activations and gradients alike, for the whole run",
                           "DeepSpeed deepspeed/runtime/pipe/engine.py: _allocate_or_extend_buffers"};
constexpr Rule received_rule{"received activations", "output of the previous stage, input of this one",
                             "DeepSpeed deepspeed/runtime/pipe/engine.py: _exec_recv_activations"};
constexpr Rule sent_rule{"sent activations", "this rank's share of the output, until the backward",
                         "DeepSpeed deepspeed/runtime/pipe/engine.py: _exec_forward_pass"};
constexpr Rule whole_rule{"shares taken together", "", "DeepSpeed deepspeed/runtime/utils.py: PartitionedTensor.full"};
constexpr Rule share_rule{"share of a gradient", "", engine_source};
constexpr Rule logits_rule{"logits of an earlier micro-batch",
                           "stay until their buffer is written again, and with their graph the input and its gradient",
                           "DeepSpeed deepspeed/runtime/pipe/engine.py: pipe_buffers"};
constexpr Rule input_gradient_rule{"gradient of a stage's input", "stays as long as the input does", engine_source};

/// A micro-batch's slot of pipe_buffers.
struct Slot {
  Tensor input;   ///< a leaf; undefined on the first stage
  Tensor output;  ///< its graph, on all stages but the last without storage
  Tensor sent;    ///< this rank's share of the output, or all of it
  Tensor loss;    ///< of the last stage
};

/// What the last stage keeps of a micro-batch after its backward: logits, whose graph holds the rest.
struct Left {
  Tensor logits;
  Tensor input;
  Tensor gradient;  ///< of the input
};

/// Megatron's forward reads the recipe as its own: neither Transformer Engine nor gradients that products add up.
Config as_megatron(const Config& config) {
  Config result = config;
  result.recipe.transformer_engine = false;
  result.recipe.gradient_accumulation_fusion = false;
  return result;
}

/// bigscience's attention makes the tensor that its product adds to anew, unless that is ALiBi's table; deepspeedai's
/// has a buffer for it.
megatron::AttentionBackend attention_of(const Config& config) {
  if (config.recipe.attention != AttentionKernel::eager) return megatron::AttentionBackend::flash_attn;
  return config.model.positions == Positions::learned ? megatron::AttentionBackend::unfused
                                                      : megatron::AttentionBackend::local;
}

class StageTraining {
 public:
  StageTraining(const Config& config, const StepOptions& options, Run& run)
      : config_(as_megatron(config)),
        options_(options),
        run_(run),
        part_(pipeline_stages(config.recipe, config.model.num_hidden_layers)[static_cast<std::size_t>(options.stage)]
                  .chunks.front()),
        order_(pipeline_order(config.recipe, options.stage)),
        sizes_(megatron::rank_sizes(config_)),
        dtype_(megatron_weights(config.recipe)) {}

  void operator()() {
    run_.begin_phase(0, Phase::initialise, "init");
    zero_ = make_zero(config_.recipe);
    megatron::Buffers buffers;
    model_ = std::make_unique<megatron::StageModel>(settings(&buffers));
    model_->make_buffers();
    run_.begin_phase(0, Phase::initialise, "wrap");
    zero_->wrap();
    make_buffers();
    for (step_ = 1; step_ <= options_.steps; ++step_) {
      run_order(order_, options_.fold, [this](const PipelineTurn& turn, std::int64_t) {
        turn.work == PipelineTurn::Work::forward ? forward() : backward();
      });
      phase(Phase::optimizer_step, " reduction");
      zero_->reduce();
      phase(Phase::optimizer_step, " optimizer");
      zero_->step();
      phase(Phase::optimizer_step, " zero_grad");
    }
    run_.closed = true;
  }

  std::int64_t parameters() { return elements_of(megatron::StageModel(settings(nullptr)).weights()).value(); }

 private:
  megatron::Settings settings(megatron::Buffers* buffers) const {
    return {.model = config_.model,
            .recipe = config_.recipe,
            .dtype = dtype_,
            .attention = attention_of(config_),
            .sizes = sizes_,
            .stage = part_,
            .buffers = buffers,
            .deepspeed = true};
  }

  void phase(Phase kind, const char* what) { run_.begin_phase(step_, kind, "step " + std::to_string(step_) + what); }

  bool partitioned() const { return config_.recipe.tensor_parallel > 1; }
  Tensor hidden(const Rule& rule) const { return allocate({sizes_.s, sizes_.b, sizes_.h}, dtype_, {&rule}); }
  Tensor share(const Rule& rule) const {
    if (!partitioned()) return hidden(rule);
    return allocate({ceil_divide(sizes_.s * sizes_.b * sizes_.h, sizes_.t)}, dtype_, {&rule});
  }
  /// A flat buffer that takes the shares, and a copy of it.
  Tensor whole() const {
    const Place place("pipeline", Component::communication);
    const Tensor flat = allocate({sizes_.s * sizes_.b * sizes_.h}, dtype_, {&whole_rule});
    return hidden(whole_rule);
  }

  /// TrainSchedule.num_pipe_buffers is never less than two; a step's only micro-batch takes the first.
  std::int64_t last_stage_slots() const {
    return std::min<std::int64_t>(2, config_.recipe.gradient_accumulation_steps);
  }

  /// What earlier steps left: the buffer of all that is received, and logits of the last micro-batches.
  void make_buffers() {
    const Place place("pipeline", Component::communication);
    if (!part_.first || !part_.last) {
      received_ = share(buffer_rule);
      note_kept(received_, buffer_rule);
    }
    if (!part_.last || !options_.fold) return;
    for (std::int64_t i = 0; i < last_stage_slots(); ++i) {
      Left left;
      run_.component = Component::logits_and_loss;
      left.logits = allocate({sizes_.b, sizes_.s, sizes_.v}, DType::float32, {&logits_rule});
      run_.component = Component::activations;
      if (!part_.first) left.input = hidden(logits_rule);
      if (!part_.first) left.gradient = hidden(input_gradient_rule);
      left_.push_back(std::move(left));
    }
  }

  Tensor receive() const {
    const Place place("pipeline", Component::communication);
    Tensor input;
    if (partitioned()) {
      const Tensor loaded = share(received_rule);
      const Tensor copy = share(received_rule);
      input = whole();
    } else {
      input = hidden(received_rule);
    }
    set_component(input, Component::activations);
    note_kept(input, received_rule);
    input->requires_grad = true;
    return input;
  }

  void forward() {
    phase(Phase::forward, " forward");
    Slot slot;
    if (!part_.first) slot.input = receive();
    // A whole tensor is copied once more, so that the forward does not begin with a leaf.
    Tensor input = slot.input.defined() && !partitioned() ? clone(slot.input) : slot.input;
    slot.output = model_->forward(std::move(input));
    if (part_.last) {
      left_.push_back({slot.output, {}, {}});
      if (static_cast<std::int64_t>(left_.size()) > last_stage_slots()) left_.pop_front();
      phase(Phase::loss, " forward");
      slot.loss = model_->loss_of(slot.output);
      slot.output.reset();
    } else {
      const Place place("pipeline", Component::communication);
      slot.sent = partitioned() ? share(sent_rule) : slot.output;
      note_kept(slot.sent, sent_rule);
      slot.output = without_storage(slot.output);
    }
    in_flight_.push_back(std::move(slot));
  }

  void backward() {
    phase(Phase::backward, " backward");
    Slot slot = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (part_.last) {
      run_backward(slot.loss);
    } else {
      const Tensor output = partitioned() ? whole() : Tensor();
      const Tensor gradient = partitioned() ? whole() : received_;
      run_backward(slot.output, gradient);
    }
    zero_->end_backward();
    slot.output.reset();
    slot.sent.reset();
    if (!slot.input.defined()) return;
    const Place place("pipeline", Component::communication);
    set_component(slot.input->grad, Component::activations);
    note_kept(slot.input->grad, input_gradient_rule);
    if (partitioned()) share(share_rule);
    slot.input->grad_fn = Ref<Node>();
  }

  const Config config_;
  const StepOptions options_;
  Run& run_;
  const PipelineChunk part_;
  const std::vector<PipelineStretch> order_;
  const megatron::Sizes sizes_;
  const DType dtype_;
  std::unique_ptr<Zero> zero_;
  std::unique_ptr<megatron::StageModel> model_;
  std::int32_t step_ = 0;
  Tensor received_;  ///< what arrives, activations and gradients alike
  std::deque<Slot> in_flight_;
  std::deque<Left> left_;  ///< of the last two micro-batches
};

}  // namespace

std::int64_t megatron_deepspeed_parameters(const Config& config, std::int64_t stage) {
  Recording recording;
  Run run(recording);
  const ActivateRun active(run);
  return StageTraining(config, {.stage = stage}, run).parameters();
}

Recording run_megatron_deepspeed(const Config& config, const StepOptions& options) {
  return record([&](Run& run) { StageTraining(config, options, run)(); });
}

}  // namespace trainmem
