// A pipeline stage of torch.distributed.pipelining, as torchtitan runs it.
//
// A stage has buffers for the inputs and output gradients of every micro-batch of the step, made once. An output lives
// until its backward, the gradient of an input until the next step begins. Under FSDP the weights stay gathered over
// all micro-batches, whole gradients are added up, and reduced when the last backward has run.
// Source: pytorch torch/distributed/pipelining/stage.py and schedules.py; torchtitan distributed/pipeline_parallel.py.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/blocks/causal_model.h"
#include "engine/config.h"
#include "engine/config/formats.h"
#include "engine/parallel/pipeline.h"
#include "engine/tensor/split_backward.h"
#include "engine/training/step_options.h"

namespace trainmem {

class TorchPipeline {
 public:
  /// Makes the models of the stage `options.stage`. `wrapper`: FSDP around their modules, or null.
  TorchPipeline(const Config& config, const StepOptions& options, ModuleWrapper* wrapper);

  /// Forwards and backwards of one step.
  void run(std::int32_t step);

 private:
  struct MicroBatch {
    Tensor input;     ///< a leaf over the buffer it is received into; token ids on the first stage
    Tensor output;    ///< hidden states or logits
    Tensor loss;      ///< of the last stage
    Tensor gradient;  ///< of the output, received
    SplitBackward split;
  };
  struct InputGradient {
    Tensor tensor;
    std::int64_t times = 1;  ///< how many it stands for
  };
  struct Chunk {
    PipelineChunk part;
    std::unique_ptr<CausalModel> model;
    Tensor inputs;            ///< receive buffers of all micro-batches
    Tensor output_gradients;  ///< the same for backward
    std::vector<InputGradient> input_gradients;
    std::deque<MicroBatch> in_flight;
    std::deque<MicroBatch> weights_to_come;
  };

  void begin_step(std::int32_t step);
  void take(const PipelineTurn& turn);
  void forward(Chunk& chunk);
  void backward(Chunk& chunk);
  void input_backward(Chunk& chunk);
  void weight_backward(Chunk& chunk);
  void phase(Phase kind, const char* what);
  void keep_input_gradient(Chunk& chunk, MicroBatch& micro_batch);
  Shape hidden_shape(Size micro_batches) const;

  const Config& config_;
  const StepOptions options_;
  const Formats formats_;
  ModuleWrapper* wrapper_;
  const std::vector<PipelineStretch> order_;
  std::vector<Chunk> chunks_;
  Tensor ids_;  ///< of all micro-batches
  Tensor labels_;
  std::int32_t step_ = 0;
  std::int64_t times_ = 1;  ///< how many turns this one stands for
};

}  // namespace trainmem
