#include "engine/parallel/megatron.h"

#include <deque>
#include <string>

#include "engine/blocks/megatron/gpt.h"
#include "engine/parallel/megatron_optimizer.h"
#include "engine/parallel/pipeline.h"
#include "engine/tensor/run.h"

namespace trainmem {

namespace {

constexpr Rule received_rule{"received activations", "output of the previous stage, input of this one",
                             "Megatron-Core pipeline_parallel/p2p_communication.py"};
constexpr Rule received_gradient_rule{"received gradient", "", "Megatron-Core pipeline_parallel/p2p_communication.py"};

/// Output and input of a forward whose backward is still to come.
struct InFlight {
  Tensor input;   ///< undefined on the first stage
  Tensor output;  ///< its graph; the storage is gone on all stages but the last
};

/// schedules.py, deallocate_output_tensor: the graph without the storage.
Tensor without_storage(const Tensor& output) {
  Tensor root = allocate_nothing(output.shape(), output.dtype());
  root->grad_fn = output->grad_fn;
  root->output_number = output->output_number;
  root->requires_grad = true;
  root->leaf = false;
  return root;
}

class StageTraining {
 public:
  StageTraining(const Config& config, const StepOptions& options, Run& run)
      : config_(config),
        options_(options),
        run_(run),
        stages_(pipeline_stages(config.recipe, config.model.num_hidden_layers)),
        stage_(stages_[static_cast<std::size_t>(options.stage)]),
        sizes_(megatron::rank_sizes(config)) {}

  void operator()() {
    run_.begin_phase(0, Phase::initialise, "init");
    const DType dtype = megatron_weights(config_.recipe);
    megatron::StageModel model({config_.model, config_.recipe, dtype, sizes_, stage_}, options_.fold);
    model_ = &model;
    MegatronOptimizer optimizer(config_.recipe, model.parameters());
    const auto stages = static_cast<std::int64_t>(stages_.size());
    for (step_ = 1; step_ <= options_.steps; ++step_) {
      one_forward_one_backward(
          stage_, stages, config_.recipe.gradient_accumulation_steps, options_.fold, [this] { forward(); },
          [this] { backward(); });
      phase(Phase::optimizer_step, " optimizer");
      optimizer.step();
      phase(Phase::optimizer_step, " zero_grad");
      optimizer.zero_grad();
    }
    run_.begin_phase(options_.steps, Phase::optimizer_step, "end");
  }

 private:
  void phase(Phase kind, const char* what) { run_.begin_phase(step_, kind, "step " + std::to_string(step_) + what); }

  Tensor receive(const Rule& rule) const {
    const Place place("pipeline", Component::communication);
    return allocate({sizes_.layout.local, sizes_.b, sizes_.h}, megatron_weights(config_.recipe), {&rule});
  }

  void forward() {
    phase(Phase::forward, " forward");
    InFlight micro_batch;
    if (!stage_.first) {
      micro_batch.input = receive(received_rule);
      set_component(micro_batch.input, Component::activations);
      micro_batch.input->requires_grad = true;
    }
    Tensor output = model_->forward(micro_batch.input);
    micro_batch.output = stage_.last ? std::move(output) : without_storage(output);
    in_flight_.push_back(std::move(micro_batch));
  }

  void backward() {
    phase(Phase::backward, " backward");
    InFlight micro_batch = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (stage_.last) {
      run_backward(micro_batch.output);
    } else {
      run_backward(micro_batch.output, receive(received_gradient_rule));
    }
    if (!micro_batch.input.defined()) return;
    micro_batch.input->grad_fn = Ref<Node>();  // sent to the previous stage, then gone
    micro_batch.input->grad.reset();
  }

  const Config& config_;
  const StepOptions options_;
  Run& run_;
  const std::vector<PipelineStage> stages_;
  const PipelineStage stage_;
  const megatron::Sizes sizes_;
  const megatron::StageModel* model_ = nullptr;
  std::int32_t step_ = 0;
  std::deque<InFlight> in_flight_;
};

}  // namespace

std::int64_t megatron_parameters(const Config& config, std::int64_t stage) {
  Recording recording;
  Run run(recording);
  const ActivateRun active(run);
  const auto stages = pipeline_stages(config.recipe, config.model.num_hidden_layers);
  const megatron::StageModel model({config.model, config.recipe, megatron_weights(config.recipe),
                                    megatron::rank_sizes(config), stages[static_cast<std::size_t>(stage)]},
                                   true);
  return model.parameters().value();
}

Recording run_megatron(const Config& config, const StepOptions& options) {
  Recording recording;
  {
    Run run(recording);
    const ActivateRun active(run);
    StageTraining(config, options, run)();
  }
  return recording;
}

}  // namespace trainmem
