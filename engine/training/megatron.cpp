#include "engine/training/megatron.h"

#include <deque>
#include <memory>
#include <string>

#include "engine/blocks/megatron/gpt.h"
#include "engine/parallel/pipeline.h"
#include "engine/runtime.h"
#include "engine/tensor/record.h"
#include "engine/training/megatron_optimizer.h"

namespace trainmem {

namespace {

constexpr Rule received_rule{"received activations", "output of the previous stage, input of this one",
                             "Megatron-Core pipeline_parallel/p2p_communication.py"};
constexpr Rule received_gradient_rule{"received gradient", "", "Megatron-Core pipeline_parallel/p2p_communication.py"};

constexpr Rule engine_workspace_rule{
    "Transformer Engine workspace", "scratch memory of its matrix products",
    "Transformer Engine pytorch/cpp_extensions/gemm.py: get_cublas_workspace_size_bytes"};
constexpr Rule grouped_workspace_rule{"grouped product workspace",
                                      "scratch memory of the experts' products, one for each stream they run on",
                                      "Transformer Engine pytorch/module/base.py: get_multi_stream_cublas_workspace"};
constexpr int grouped_product_streams = 4;  // transformer_engine/common/util/multi_stream.cpp
constexpr Rule cublas_workspace_rule{"cuBLAS workspace", "scratch memory of a cuBLAS handle",
                                     "pytorch aten/src/ATen/cuda/CublasHandlePool.cpp: parseChosenWorkspaceSize"};

constexpr Rule put_off_rule{"gathered input", "input of a linear layer, gathered again for its weight's gradient",
                            "sail-sg/zero-bubble-pipeline-parallelism megatron/core/tensor_parallel/layers.py"};

/// Output and input of a forward whose backward is still to come.
struct InFlight {
  Tensor input;   ///< undefined on the first stage
  Tensor output;  ///< its graph; the storage is gone on all stages but the last
};

class StageTraining {
 public:
  StageTraining(const Config& config, const StepOptions& options, Run& run)
      : config_(config),
        options_(options),
        run_(run),
        stage_(pipeline_stages(config.recipe, config.model.num_hidden_layers)[static_cast<std::size_t>(options.stage)]),
        order_(pipeline_order(config.recipe, options.stage)),
        sizes_(megatron::rank_sizes(config)),
        in_flight_(stage_.chunks.size()),
        put_off_(stage_.chunks.size()) {}

  void operator()() {
    run_.begin_phase(0, Phase::initialise, "init");
    const DType dtype = megatron_weights(config_.recipe);
    const megatron::AttentionBackend attention = megatron::attention_backend(config_);
    std::vector<std::vector<StageWeight>> weights;
    for (const PipelineChunk& chunk : stage_.chunks) {
      models_.push_back(
          std::make_unique<megatron::StageModel>(megatron::Settings{.model = config_.model,
                                                                    .recipe = config_.recipe,
                                                                    .dtype = dtype,
                                                                    .attention = attention,
                                                                    .sizes = sizes_,
                                                                    .stage = chunk,
                                                                    .buffers = &buffers_,
                                                                    .float8 = megatron::float8_products(config_),
                                                                    .folds = options_.fold}));
      weights.push_back(models_.back()->weights());
    }
    MegatronOptimizer optimizer(config_.recipe, weights, options_.fold);
    expect_workspaces();
    // A folded run is the steady state alone: states are there from the beginning, and the last step is enough.
    if (options_.fold) {
      run_.begin_phase(options_.steps - 1, Phase::optimizer_step, "earlier steps");
      optimizer.make_states();
      for (const std::unique_ptr<megatron::StageModel>& model : models_) model->make_buffers();
      buffers_.first_uses.make_all();
      buffers_.dummies.make_all(dtype);
    }
    for (step_ = options_.fold ? options_.steps : 1; step_ <= options_.steps; ++step_) {
      run_order(order_, options_.fold, [this](const PipelineTurn& turn, std::int64_t) { take(turn); });
      end_schedule();
      phase(Phase::optimizer_step, " optimizer");
      optimizer.step();
      phase(Phase::optimizer_step, " zero_grad");
      optimizer.zero_grad();
    }
    run_.closed = true;
  }

 private:
  /// Transformer Engine's products share one workspace. PyTorch's own have one of a handle for forward's thread and one
  /// for backward's; they serve the head, attention as separate operations, and layers that are not Transformer
  /// Engine's.
  void expect_workspaces() {
    using megatron::FirstUse;
    const bool own_layers = !config_.recipe.transformer_engine;
    const bool own_products = own_layers || config_.recipe.attention == AttentionKernel::eager;
    const auto expect = [this](FirstUse moment, Bytes bytes, const Rule& rule) {
      if (bytes > 0) buffers_.first_uses.expect(moment, {bytes}, DType::uint8, rule);
    };
    if (!own_layers) expect(FirstUse::layer, transformer_engine_workspace(config_.gpu), engine_workspace_rule);
    const bool grouped = config_.model.experts.num_experts > 0 && config_.recipe.grouped_experts;
    for (int i = 0; i < grouped_product_streams && grouped; ++i)
      expect(FirstUse::layer, transformer_engine_workspace(config_.gpu), grouped_workspace_rule);
    if (!own_products && !stage_.chunks.back().last) return;
    const Bytes of_handle = cublas_workspace(config_) / 2;
    expect(own_products ? FirstUse::layer : FirstUse::head_product, of_handle, cublas_workspace_rule);
    expect(FirstUse::backward, of_handle, cublas_workspace_rule);
  }

  void phase(Phase kind, const char* what) { run_.begin_phase(step_, kind, "step " + std::to_string(step_) + what); }

  Tensor receive(const Rule& rule) const {
    const Place place("pipeline", Component::communication);
    return allocate({sizes_.layout.local, sizes_.b, sizes_.h}, megatron_weights(config_.recipe), {&rule});
  }

  // The schedule's variables keep the last gradient received and the last one sent until the next ones replace them.

  void take(const PipelineTurn& turn) {
    const auto chunk = static_cast<std::size_t>(turn.chunk);
    switch (turn.work) {
      case PipelineTurn::Work::forward: return forward(chunk);
      case PipelineTurn::Work::backward: return backward(chunk);
      case PipelineTurn::Work::input: {
        put_off_[chunk].emplace_back();
        const Set<std::vector<megatron::PutOffProduct>*> put_off(run_.put_off_products, &put_off_[chunk].back());
        return backward(chunk);
      }
      case PipelineTurn::Work::weights: return weights(chunk);
    }
  }

  void forward(std::size_t chunk) {
    phase(Phase::forward, " forward");
    const PipelineChunk& part = stage_.chunks[chunk];
    InFlight micro_batch;
    if (!part.first) {
      micro_batch.input = receive(received_rule);
      set_component(micro_batch.input, Component::activations);
      note_kept(micro_batch.input, received_rule);
      micro_batch.input->requires_grad = true;
      last_.input.reset();
    }
    Tensor output = models_[chunk]->forward(micro_batch.input);
    micro_batch.output = part.last ? std::move(output) : without_storage(output);
    in_flight_[chunk].push_back(std::move(micro_batch));
  }

  void backward(std::size_t chunk) {
    phase(Phase::backward, " backward");
    const PipelineChunk& part = stage_.chunks[chunk];
    if (!part.last) received_ = receive(received_gradient_rule);
    last_ = std::move(in_flight_[chunk].front());
    in_flight_[chunk].pop_front();
    buffers_.first_uses.make(megatron::FirstUse::backward);
    if (part.last) {
      run_backward(last_.output);
    } else {
      run_backward(last_.output, received_);
    }
    last_.output.reset();
    if (part.first) return;
    sent_ = std::move(last_.input->grad);
    set_component(sent_, Component::communication);
    last_.input->grad_fn = Ref<Node>();
  }

  /// Weight gradients that a backward put off: they go straight to the main gradients.
  void weights(std::size_t chunk) {
    phase(Phase::backward, " backward");
    std::vector<megatron::PutOffProduct>& products = put_off_[chunk].front();
    for (std::size_t i = 0; i < products.size();) {
      const std::int32_t layer = products[i].layer;
      const Repeat repeat(run_.times_of(layer));
      for (; i < products.size() && products[i].layer == layer; ++i) {
        Tensor rows;
        if (products[i].gathers) {
          const Place place("pipeline", Component::communication);
          rows = allocate(products[i].gathered, products[i].input.dtype(), {&put_off_rule});
        }
        products[i] = {};
      }
    }
    put_off_[chunk].pop_front();
  }

  void end_schedule() {
    last_ = {};
    received_.reset();
    sent_.reset();
  }

  const Config& config_;
  const StepOptions options_;
  Run& run_;
  const PipelineStage stage_;
  const std::vector<PipelineStretch> order_;
  const megatron::Sizes sizes_;
  megatron::Buffers buffers_;
  std::vector<std::unique_ptr<megatron::StageModel>> models_;  ///< of each chunk
  std::int32_t step_ = 0;
  std::vector<std::deque<InFlight>> in_flight_;                            ///< of each chunk
  std::vector<std::deque<std::vector<megatron::PutOffProduct>>> put_off_;  ///< of each chunk, by backward
  InFlight last_;                                                          ///< whose backward ran last
  Tensor received_;                                                        ///< gradient from the next stage
  Tensor sent_;                                                            ///< gradient for the previous stage
};

}  // namespace

std::int64_t megatron_parameters(const Config& config, std::int64_t stage) {
  Recording recording;
  Run run(recording);
  const ActivateRun active(run);
  const auto stages = pipeline_stages(config.recipe, config.model.num_hidden_layers);
  megatron::Buffers buffers;
  Size sum = 0;
  for (const PipelineChunk& chunk : stages[static_cast<std::size_t>(stage)].chunks) {
    const megatron::StageModel model({.model = config.model,
                                      .recipe = config.recipe,
                                      .dtype = megatron_weights(config.recipe),
                                      .attention = megatron::attention_backend(config),
                                      .sizes = megatron::rank_sizes(config),
                                      .stage = chunk,
                                      .buffers = &buffers,
                                      .folds = true});
    sum = sum + elements_of(model.weights());
  }
  return sum.value();
}

Recording run_megatron(const Config& config, const StepOptions& options) {
  return record([&](Run& run) { StageTraining(config, options, run)(); });
}

}  // namespace trainmem
