// What must hold for every configuration, held for random ones.
#include "engine/estimate.h"

#include <algorithm>

#include "engine/codec/link.h"
#include "engine/peak/peak.h"
#include "engine/validation/validate.h"
#include "tests/catch.h"
#include "tests/random_config.h"

using namespace trainmem;

namespace {

constexpr int cases = 150;

Bytes sum(const ComponentBytes& components) {
  Bytes total = 0;
  for (const Bytes bytes : components) total += bytes;
  return total;
}

/// Query, key, value and output of a layer's attention, in fp32.
Bytes attention_tensors(const Config& config) {
  const Bytes tokens = config.recipe.micro_batch_size * config.recipe.sequence_length;
  return 8 * tokens * (config.model.num_attention_heads + config.model.num_key_value_heads) * config.model.head_dim;
}

/// The hidden states of one micro-batch in fp32.
Bytes hidden_states(const Config& config) {
  return 4 * config.recipe.micro_batch_size * config.recipe.sequence_length * config.model.hidden_size;
}

/// The mask of eager attention: a block that is recomputed keeps it, being one of its arguments.
Bytes eager_mask(const Config& config) {
  const Recipe& recipe = config.recipe;
  if (recipe.attention != AttentionKernel::eager) return 0;
  return 4 * recipe.micro_batch_size * recipe.sequence_length * recipe.sequence_length;
}

/// Do all weights but those of the vocabulary divide by as many shards?
bool even_shards(const Model& model, std::int64_t shards) {
  return model.hidden_size % shards == 0 && model.intermediate_size % shards == 0 &&
         model.num_key_value_heads * model.head_dim % shards == 0;
}

/// The peak of a changed configuration, or -1 if the change does not suit it.
template <class Change>
Bytes peak_after(Config config, Change change) {
  change(config.recipe);
  return validate(config).empty() ? estimate(config).allocated : -1;
}

}  // namespace

TEST_CASE("property: parts sum exactly to the total they belong to") {
  Random random(11);
  for (int i = 0; i < cases; ++i) {
    const Config config = random_valid_config(random);
    INFO(format_link(config));
    const Result result = estimate(config);
    REQUIRE(result.allocated > 0);
    REQUIRE(sum(result.components) == result.allocated);

    Bytes rows = 0;
    ComponentBytes by_component{};
    for (const Row& row : result.rows) {
      REQUIRE(row.bytes >= 0);
      rows += row.bytes;
      by_component[row.component] += row.bytes;
    }
    REQUIRE(rows == result.allocated);
    REQUIRE(by_component == result.components);

    Bytes highest = 0;
    for (const PhasePeak& phase : result.phases) {
      REQUIRE(sum(phase.components) == phase.peak);
      REQUIRE(phase.end <= phase.peak);
      highest = std::max(highest, phase.peak);
    }
    REQUIRE(highest == result.allocated);

    Bytes timeline = 0;
    for (const TimelinePoint& point : result.timeline) {
      REQUIRE(sum(point.components) == point.allocated);
      timeline = std::max(timeline, point.allocated);
    }
    REQUIRE(timeline == result.allocated);

    Bytes worst = 0;
    std::int64_t layers = 0;
    for (const Stage& stage : result.stages) {
      REQUIRE(sum(stage.components) == stage.allocated);
      REQUIRE(stage.allocated <= result.allocated);
      if (stage.worst) worst = stage.allocated;
      layers += stage.layers;
    }
    REQUIRE(worst == result.allocated);
    REQUIRE(layers == config.model.num_hidden_layers);
    REQUIRE(static_cast<std::int64_t>(result.stages.size()) == config.recipe.pipeline_parallel);

    REQUIRE(result.reserved.low <= result.reserved.expected);
    REQUIRE(result.reserved.expected <= result.reserved.high);
    REQUIRE(result.allocated <= result.reserved.expected);
    REQUIRE(result.device.low <= result.device.expected);
    REQUIRE(result.device.expected <= result.device.high);
    REQUIRE(result.reserved.expected <= result.device.expected);
  }
}

TEST_CASE("property: the fast peak is the peak of the whole answer") {
  Random random(12);
  for (int i = 0; i < cases; ++i) {
    const Config config = random_valid_config(random);
    INFO(format_link(config));
    const Result result = estimate(config);
    const Peak peak = estimate_peak(config);
    REQUIRE(peak.allocated == result.allocated);
    REQUIRE(peak.components == result.components);
  }
}

TEST_CASE("property: more recomputation never costs more") {
  Random random(13);
  for (int i = 0; i < cases; ++i) {
    Config config = random_valid_config(random);
    config.recipe.recomputation_layers = 0;
    // Recomputed layers run backward through frozen ones, which without recomputation keep nothing.
    config.recipe.frozen_layers = 0;
    INFO(format_link(config));
    const auto with = [&](Recomputation kind) {
      return peak_after(config, [&](Recipe& r) { r.recomputation = kind; });
    };
    const Bytes none = with(Recomputation::none);
    const Bytes selective = with(Recomputation::selective_attention);
    const Bytes full = with(Recomputation::full);
    // A block that is recomputed makes its output once more, which a single block may not earn back.
    // Attention that runs again copies inputs and gradients once more where its kernel wants the batch first.
    // The value that Megatron's checkpoint keeps is a view, which holds the whole projection in every layer, where the
    // kernel would have kept a copy.
    const std::int64_t layers =
        config.recipe.framework == Framework::megatron ? config.model.num_hidden_layers.value() : 2;
    const std::int64_t times = std::max<std::int64_t>(layers, 2);
    if (selective >= 0 && none >= 0) CHECK(selective <= none + times * attention_tensors(config));
    if (full >= 0 && none >= 0) CHECK(full <= std::max(none, selective) + hidden_states(config) + eager_mask(config));
  }
}

TEST_CASE("property: more sharding never costs more") {
  Random random(14);
  for (int i = 0; i < cases; ++i) {
    const Config config = random_valid_config(random);
    INFO(format_link(config));
    const Bytes now = estimate(config).allocated;
    const auto no_more = [&](const char* what, Bytes changed) {
      INFO(what);
      if (changed >= 0) CHECK(changed <= now);
    };
    const std::int64_t twice = 2 * config.recipe.data_parallel_size;
    if (config.recipe.data_parallel != DataParallel::ddp && twice > 2 && even_shards(config.model, twice)) {
      const Bytes padding = 2 * 4 * twice * config.model.hidden_size;  // of an odd vocabulary, gathered and reduced
      no_more("twice the data-parallel GPUs",
              peak_after(config, [](Recipe& r) { r.data_parallel_size *= 2; }) - padding);
    }
    no_more("twice the tensor-parallel GPUs", peak_after(config, [](Recipe& r) { r.tensor_parallel *= 2; }));
    if (config.recipe.tensor_parallel > 1) {
      // Its price is the gathered input of a layer, which short sequences may not earn back.
      no_more("sequence parallelism",
              peak_after(config, [](Recipe& r) { r.sequence_parallel = true; }) - hidden_states(config));
    }
    // Muon's ranks step whole matrices, and every rank is sent as much as the one with the most of them.
    if (config.recipe.data_parallel == DataParallel::ddp && config.recipe.data_parallel_size > 1 &&
        config.recipe.framework == Framework::megatron && config.recipe.optimizer != Optimizer::muon_adamw) {
      no_more("a distributed optimizer", peak_after(config, [](Recipe& r) { r.distributed_optimizer = true; }));
    }
  }
}

TEST_CASE("property: a larger micro-batch or a longer sequence never costs less") {
  Random random(15);
  for (int i = 0; i < cases; ++i) {
    const Config config = random_valid_config(random);
    INFO(format_link(config));
    const Bytes now = estimate(config).allocated;
    CHECK(peak_after(config, [](Recipe& r) { r.micro_batch_size *= 2; }) >= now);
    const Bytes longer = peak_after(config, [](Recipe& r) { r.sequence_length *= 2; });
    if (longer >= 0) CHECK(longer >= now);
  }
}
