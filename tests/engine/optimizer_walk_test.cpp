// The optimizer on a run's tape, against recorded steps, and layer by layer against the same layers folded.
#include "engine/codec/json_config.h"
#include "engine/config/fields.h"
#include "engine/optimizer/walk.h"
#include "engine/parameters/parameters.h"
#include "engine/tape/fold.h"
#include "tests/catch.h"
#include "tests/engine/recorded_optimizer_steps.h"

using namespace trainmem;

namespace {

constexpr Rule parameter_rule{"parameter", "a weight", "test"};

Shape shape_of(const ParameterTensor& tensor) {
  Shape shape;
  for (int i = 0; i < tensor.rank; ++i) shape.append(tensor.shape[static_cast<std::size_t>(i)]);
  return shape;
}

/// Parameters and gradients of a model on the active run; folded: the first layer stands for all but the last, which
/// runs apart, as it does in a run's folded layers.
void add_parameters(Run& run, const Model& model, DType dtype, bool folded) {
  for (const ParameterTensor& tensor : parameters(model)) {
    const Size others = model.num_hidden_layers - Size(1);
    if (tensor.tied_to != nullptr || (folded && tensor.layer > 0 && tensor.layer < others)) continue;
    const bool layer = tensor.layer == 0;
    const Repeat repeat(folded && layer ? others : Size(1));
    Tensor parameter = allocate(shape_of(tensor), dtype, {&parameter_rule});
    parameter->grad = allocate(shape_of(tensor), dtype, {&parameter_rule});
    run.parameters.push_back({parameter, tensor.layer});
    if (folded && layer) run.folding.times[0] = others;
  }
}

struct Measured {
  Bytes end = 0;
  Bytes peak = 0;
};

/// The second step's optimizer phase.
Measured step(const Model& model, Optimizer optimizer, OptimizerImplementation implementation, DType dtype, bool clip,
              bool folded) {
  Recording recording;
  {
    Run run(recording);
    const ActivateRun active(run);
    run.begin_phase(0, Phase::initialise, "init");
    add_parameters(run, model, dtype, folded);
    std::vector<OptimizerWalk> walks;
    for (const OptimizerPart& part : optimizer_parts(optimizer)) walks.emplace_back(part, implementation);
    for (int i = 1; i <= 2; ++i) {
      run.begin_phase(i, Phase::optimizer_step, "optimizer");
      if (clip) clip_gradient_norm();
      step_parts(walks);
    }
    run.closed = true;
  }
  const FoldedPhase phase = fold(recording).back();
  return {phase.end.total, phase.peak.total};
}

Model preset(const char* id) { return read_config("{\"model\": \"" + std::string(id) + "\"}").config.model; }

}  // namespace

TEST_CASE("optimizer walk: recorded steps, to the byte") {
  for (const recorded::OptimizerStep& run : recorded::optimizer_steps) {
    CAPTURE(run.model, static_cast<int>(run.optimizer), static_cast<int>(run.implementation), name(run.weights));
    const Measured own = step(preset(run.model), run.optimizer, run.implementation, run.weights, false, false);
    CHECK(own.end + run.buffers == run.end);
    CHECK(own.peak + run.buffers == run.peak);
  }
}

TEST_CASE("optimizer walk: recorded steps of optimizers outside torch, and of torch's rarer ones, to the byte") {
  for (const recorded::OptimizerStep& run : recorded::library_steps) {
    CAPTURE(run.model, static_cast<int>(run.optimizer), static_cast<int>(run.implementation), name(run.weights));
    const Measured own = step(preset(run.model), run.optimizer, run.implementation, run.weights, false, false);
    CHECK(own.end + run.buffers == run.end);
    CHECK(own.peak + run.buffers == run.peak);
  }
}

TEST_CASE("optimizer walk: recorded steps with clipping, to the byte") {
  for (const recorded::OptimizerStep& run : recorded::clipped_steps) {
    CAPTURE(run.model, name(run.weights));
    const Measured own = step(preset(run.model), run.optimizer, run.implementation, run.weights, true, false);
    CHECK(own.end + run.buffers == run.end);
    CHECK(own.peak + run.buffers == run.peak);
  }
}

TEST_CASE("optimizer walk: one layer that stands for all but the last gives the same peak and end") {
  const Model model = preset("llama2-7b");
  for (const char* word : words(Optimizer{})) {
    const auto optimizer = static_cast<Optimizer>(find_word(words(Optimizer{}), word));
    for (const auto how :
         {OptimizerImplementation::for_loop, OptimizerImplementation::foreach, OptimizerImplementation::fused}) {
      CAPTURE(word, static_cast<int>(how));
      const Measured full = step(model, optimizer, how, DType::bfloat16, true, false);
      const Measured folded = step(model, optimizer, how, DType::bfloat16, true, true);
      CHECK(full.end == folded.end);
      CHECK(full.peak == folded.peak);
    }
  }
}
