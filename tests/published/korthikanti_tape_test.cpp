// Korthikanti et al. 2022 (arXiv:2205.05198) from the tape: what a recorded forward of Megatron's GPT keeps, byte
// for byte. The paper counts the main tensors and leaves out mean and 1/std of the layer norms (section 4.1.3:
// 2sb against 2sbh); they are checked apart: 16 bytes a token and layer, fp32.
#include <string>
#include <vector>

#include "engine/tape/rows.h"
#include "engine/tensor/tensor.h"
#include "engine/training/megatron.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

/// Table 3 of the paper; the number of layers does not enter what one layer keeps.
struct PaperModel {
  const char* name;
  std::int64_t a, h, b;
};
constexpr PaperModel paper_models[] = {
    {"22B", 64, 6144, 4}, {"175B (GPT-3)", 96, 12288, 1}, {"530B (MT-NLG)", 128, 20480, 1}, {"1T", 160, 25600, 1}};
constexpr std::int64_t s = 2048;
constexpr std::int64_t vocabulary = 51200;

Config paper_config(const PaperModel& paper, std::int64_t t, bool sequence_parallel) {
  Config config;
  Model& model = config.model;
  model.hidden_size = paper.h;
  model.num_hidden_layers = 2;
  model.num_attention_heads = model.num_key_value_heads = paper.a;
  model.head_dim = paper.h / paper.a;
  model.intermediate_size = 4 * paper.h;
  model.vocab_size = vocabulary;
  model.max_position_embeddings = model.learned_positions = s;
  model.positions = Positions::learned;
  model.norm = Norm::layernorm;
  model.norm_bias = true;
  model.gated_mlp = false;
  model.hidden_act = Activation::gelu_pytorch_tanh;
  model.attention_bias = model.attention_output_bias = model.mlp_bias = true;
  model.attention_dropout = model.hidden_dropout = model.embedding_dropout = 0.1;
  model.tie_word_embeddings = true;
  Recipe& recipe = config.recipe;
  recipe.framework = Framework::megatron;
  recipe.precision = Precision::fp16_mixed;
  recipe.micro_batch_size = paper.b;
  recipe.sequence_length = s;
  recipe.tensor_parallel = t;
  recipe.sequence_parallel = sequence_parallel;
  recipe.attention = AttentionKernel::eager;
  recipe.transformer_engine = false;
  recipe.loss = Loss::vocabulary_parallel;
  recipe.optimizer_implementation = OptimizerImplementation::fused;
  recipe.fused_mlp = recipe.fused_norm = true;
  return config;
}

struct Kept {
  Bytes attention = 0;
  Bytes mlp = 0;
  Bytes norms = 0;            ///< inputs of layer norms
  Bytes norm_statistics = 0;  ///< mean and 1/std
  Bytes total() const { return attention + mlp + norms; }
};

/// Storages alive when backward begins.
std::vector<StorageRecord> alive_after_forward(const Recording& tape) {
  std::uint32_t end = 0;
  for (const PhaseMark& mark : tape.phases) {
    if (mark.phase == Phase::backward) {
      end = mark.first_event;
      break;
    }
  }
  const std::vector<bool> alive = alive_after(tape, end);
  std::vector<StorageRecord> result;
  for (std::size_t i = 0; i < alive.size(); ++i)
    if (alive[i]) result.push_back(tape.storages[i]);
  return result;
}

bool is_norm_input(const StorageRecord& storage) {
  return storage.kept_by != nullptr && std::string(storage.kept_by->name) == "layer_norm" &&
         storage.dtype == DType::float16;
}

/// What layer 1, the second of two, keeps. Its input was made by layer 0, and it makes the input of what follows.
Kept kept_by_layer(const Config& config) {
  const Recording tape = run_megatron(config, {.steps = 1, .fold = false, .stage = 0});
  Kept kept;
  for (const StorageRecord& storage : alive_after_forward(tape)) {
    if (storage.layer != 1) continue;
    if (is_norm_input(storage)) {
      kept.norms += storage.bytes;
    } else if (storage.role != nullptr &&
               (std::string(storage.role) == "mean" || std::string(storage.role) == "1/std")) {
      kept.norm_statistics += storage.bytes;
    } else if (tape.places[storage.place] == "attention") {
      kept.attention += storage.bytes;
    } else if (tape.places[storage.place] == "mlp") {
      kept.mlp += storage.bytes;
    }
  }
  return kept;
}

}  // namespace

TEST_CASE("Korthikanti 2022, section 4.1, from the tape: attention, MLP and norms of one layer") {
  for (const PaperModel& paper : paper_models) {
    CAPTURE(paper.name);
    const Kept kept = kept_by_layer(paper_config(paper, 1, false));
    const Bytes sbh = s * paper.b * paper.h;
    const Bytes scores = paper.a * s * s * paper.b;
    CHECK(kept.attention == 11 * sbh + 5 * scores);
    CHECK(kept.mlp == 19 * sbh);
    CHECK(kept.norms == 4 * sbh);
    CHECK(kept.norm_statistics == 16 * s * paper.b);
  }
}

TEST_CASE("Korthikanti 2022, table 2, from the tape: all six rows") {
  for (const PaperModel& paper : paper_models) {
    CAPTURE(paper.name);
    const Bytes sbh = s * paper.b * paper.h;
    const Bytes scores = paper.a * s * s * paper.b;
    const std::int64_t t = 8;
    const auto kept = [&](std::int64_t ranks, bool sequence_parallel, Recomputation recomputation) {
      Config config = paper_config(paper, ranks, sequence_parallel);
      config.recipe.recomputation = recomputation;
      return kept_by_layer(config).total();
    };
    CHECK(kept(1, false, Recomputation::none) == 34 * sbh + 5 * scores);
    CHECK(kept(t, false, Recomputation::none) == 10 * sbh + 24 * sbh / t + 5 * scores / t);
    CHECK(kept(t, true, Recomputation::none) == 34 * sbh / t + 5 * scores / t);
    CHECK(kept(t, false, Recomputation::selective_attention) == 10 * sbh + 24 * sbh / t);
    CHECK(kept(t, true, Recomputation::selective_attention) == 34 * sbh / t);
  }
}

TEST_CASE("Korthikanti 2022, table 2, from the tape: full recomputation keeps the input of every layer") {
  const PaperModel& paper = paper_models[1];
  for (const bool sequence_parallel : {false, true}) {
    Config config = paper_config(paper, 8, sequence_parallel);
    config.recipe.recomputation = Recomputation::full;
    const Recording tape = run_megatron(config, {.steps = 1, .fold = false, .stage = 0});
    Bytes inputs = 0;
    for (const StorageRecord& storage : alive_after_forward(tape))
      if (storage.kept_by != nullptr && std::string(storage.kept_by->name) == "recomputation") inputs += storage.bytes;
    // 2sbh for each of the two layers; with sequence parallelism a rank holds its part.
    CHECK(inputs == 2 * 2 * s * paper.b * paper.h / (sequence_parallel ? 8 : 1));
  }
}

TEST_CASE("Korthikanti 2022, section 4.2.3, from the tape: embedding dropout, final norm, head and loss") {
  const PaperModel& paper = paper_models[0];
  const std::int64_t t = 8;
  const Recording tape = run_megatron(paper_config(paper, t, true), {.steps = 1, .fold = false, .stage = 0});
  const Bytes sbh = s * paper.b * paper.h;
  Bytes dropout_mask = 0, norm_input = 0, head_input = 0, softmax = 0;
  for (const StorageRecord& storage : alive_after_forward(tape)) {
    const std::string role = storage.role == nullptr ? "" : storage.role;
    const std::string place = tape.places[storage.place];
    if (place == "embedding" && role == "dropout mask") dropout_mask += storage.bytes;
    if (role == "softmax of the logits") softmax += storage.bytes;
    if (storage.layer == -1 && storage.kept_by != nullptr) {
      if (std::string(storage.kept_by->name) == "column-parallel linear") head_input += storage.bytes;
      if (place != "embedding" && is_norm_input(storage)) norm_input += storage.bytes;
    }
  }
  for (const StorageRecord& storage : alive_after_forward(tape))
    if (storage.layer == 1 && std::string(tape.places[storage.place]) == "mlp" && is_norm_input(storage))
      norm_input += storage.bytes;
  CHECK(dropout_mask == sbh / t);                      // sbhp/t with p = 1
  CHECK(norm_input == 2 * sbh / t);                    // final norm: 2sbh/t
  CHECK(head_input == 2 * sbh / t);                    // output layer: 2sbh/t
  CHECK(softmax == 4 * s * paper.b * vocabulary / t);  // cross entropy: 4sbv/t
}
