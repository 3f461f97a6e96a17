// Formulas of the textbook and their lines. Sources stand with each group of lines.
#include "engine/textbook.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "engine/config/sequences.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

constexpr Bytes largest = std::numeric_limits<Bytes>::max();

Bytes sum(Bytes a, Bytes b) {
  Bytes result = 0;
  return __builtin_add_overflow(a, b, &result) ? largest : result;
}

Bytes product(std::initializer_list<std::int64_t> factors) {
  Bytes result = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(result, factor, &result)) return largest;
  }
  return result;
}

Bytes divide_up(Bytes a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// Collects lines that share a source.
struct Lines {
  std::vector<TextbookLine> list;

  void add(std::string method, std::string formula, Bytes bytes, std::string source, std::string leaves_out) {
    list.push_back({std::move(method), std::move(formula), bytes, std::move(source), std::move(leaves_out)});
  }
};

/// Bytes of a number when everything is kept in one precision.
std::int64_t one_precision_bytes(Precision precision) { return precision == Precision::fp32 ? 4 : 2; }

void add_four_components(Lines& lines, const Recipe& recipe, std::int64_t n) {
  const std::int64_t p = one_precision_bytes(recipe.precision);
  const std::string times_p = " x " + grouped(p);
  const std::string source = "Four-component account: N parameters, P bytes a number, Adam";
  const std::string leaves_out =
      "fp32 master weights, for one precision serves everything; sharding, for there is one GPU; logits; peaks in time";
  const Bytes weights = product({n, p});
  lines.add("four components: weights", "N x P = " + grouped(n) + times_p, weights, source, leaves_out);
  lines.add("four components: gradients", "N x P = " + grouped(n) + times_p, weights, source, leaves_out);
  lines.add("four components: Adam states", "2 x N x P = 2 x " + grouped(n) + times_p, product({2, weights}), source,
            leaves_out);
  lines.add("four components: optimizer intermediates", "N x P = " + grouped(n) + times_p, weights, source, leaves_out);

  const double per_token = heuristic_activations_per_token(n);
  const double activations = per_token * static_cast<double>(recipe.micro_batch_size) *
                             static_cast<double>(recipe.sequence_length) * static_cast<double>(p);
  const Bytes activation_bytes = activations < 9.0e18 ? static_cast<Bytes>(std::llround(activations)) : largest;
  lines.add("four components: activations",
            "A x B x L x P with A = 4.6894e-4 x " + grouped(n) +
                " + 1.8494e6 = " + grouped(static_cast<std::int64_t>(std::llround(per_token))) + ": A x " +
                grouped(recipe.micro_batch_size) + " x " + grouped(recipe.sequence_length) + times_p,
            activation_bytes, "Heuristic: a straight line fitted through models by their parameter count",
            "the shape of the model: depth, width, heads, attention kernel, recomputation, parallelism");
  lines.add("four components: total",
            "5 x N x P + A x B x L x P = " + grouped(product({5, weights})) + " + " + grouped(activation_bytes),
            sum(product({5, weights}), activation_bytes), source, leaves_out);
}

void add_states(Lines& lines, const Config& config, std::int64_t n) {
  const std::string states_only =
      "activations, logits, temporaries of the optimizer step, gathered parameters, communication, runtime";
  const auto states = [&](const std::string& method, const std::string& terms, std::int64_t factor,
                          const std::string& source) {
    lines.add(method, "(" + terms + ") x N = " + grouped(factor) + " x " + grouped(n), product({factor, n}), source,
              states_only);
  };
  states("fp32 training: model states", "4 + 4 + 8", 16,
         "fp32 weights, fp32 gradients, two fp32 Adam moments; 2.8 TB for 175 B parameters");
  states("mixed precision without master weights: model states", "2 + 2 + 8", 12,
         "16-bit weights and gradients, two fp32 Adam moments; 2.1 TB for 175 B parameters");

  const Model& model = config.model;
  const Recipe& recipe = config.recipe;
  lines.add("mixed precision without master weights: activations, up to a constant",
            "B x L x d_model x layers = " + grouped(recipe.micro_batch_size) + " x " + grouped(recipe.sequence_length) +
                " x " + grouped(model.hidden_size) + " x " + grouped(model.num_hidden_layers),
            product({recipe.micro_batch_size, recipe.sequence_length, model.hidden_size, model.num_hidden_layers}),
            "Proportionality only: the source names no constant; here it is one byte",
            "the constant: 34 bytes and more for a plain layer, plus what grows with the square of the sequence");

  states("mixed precision, fp16 gradients copied to fp32: model states", "(2 + 4) + (2 + 4) + (4 + 4)", 20,
         "Megatron Core, distributed optimizer, table of bytes per parameter: 20 with fp16 gradients");
  states("mixed precision, 16N: model states", "2 + 2 + 4 + 4 + 4", 16,
         "Rajbhandari et al. 2019 (ZeRO, arXiv:1910.02054), section 3.1: 2N + 2N + KN with K = 12");
  states("mixed precision, 18N: model states", "2 + 4 + 4 + 4 + 4", 18,
         "Megatron Core, distributed optimizer, table of bytes per parameter: 18 with fp32 gradients");

  const std::int64_t d = recipe.data_parallel_size;
  lines.add("Megatron distributed optimizer: model states",
            "(6 + 12 / d) x N = (6 + 12 / " + grouped(d) + ") x " + grouped(n), distributed_optimizer_bytes(n, d),
            "Megatron Core, distributed optimizer, table of bytes per parameter: 6 + 12/d",
            states_only + "; the t x p GPUs of one copy of the model are taken together");
}

void add_zero(Lines& lines, std::int64_t n, std::int64_t d) {
  struct Stage {
    int stage;
    const char* method;
    const char* formula;
  };
  for (const Stage& stage : {Stage{0, "ZeRO paper: no partitioning", "(2 + 2 + 12) x N"},
                             Stage{1, "ZeRO paper: optimizer states partitioned", "(2 + 2 + 12 / d) x N"},
                             Stage{2, "ZeRO paper: and gradients", "(2 + (2 + 12) / d) x N"},
                             Stage{3, "ZeRO paper: and parameters", "(2 + 2 + 12) / d x N"}}) {
    lines.add(stage.method, std::string(stage.formula) + " with d = " + grouped(d) + ", N = " + grouped(n),
              zero_state_bytes(stage.stage, n, d),
              "Rajbhandari et al. 2019 (ZeRO, arXiv:1910.02054), figure 1 and table 1, K = 12",
              "activations, gathered parameters of stage 3, buckets, padding, temporaries");
  }
}

void add_activations(Lines& lines, const Model& model, const Recipe& recipe) {
  const LayerSizes z{recipe.sequence_length, recipe.micro_batch_size, model.hidden_size, model.num_attention_heads,
                     recipe.tensor_parallel};
  const std::int64_t layers = model.num_hidden_layers;
  const std::string section = "Korthikanti et al. 2022 (arXiv:2205.05198), section 4.1";
  const std::string shape =
      "grouped queries, gated or other MLP widths, flash attention, no dropout, logits and loss, working memory";
  const std::string sbh = grouped(z.s) + " x " + grouped(z.b) + " x " + grouped(z.h);
  lines.add("attention of one layer",
            "11sbh + 5as^2b = 11 x " + sbh + " + 5 x " + grouped(z.a) + " x " + grouped(z.s) + "^2 x " + grouped(z.b),
            attention_activation_bytes(z), section, shape);
  lines.add("MLP of one layer", "19sbh = 19 x " + sbh, mlp_activation_bytes(z), section, shape);
  lines.add("two layer norms of one layer", "4sbh = 4 x " + sbh, norm_activation_bytes(z), section, shape);

  const std::string table = "Korthikanti et al. 2022 (arXiv:2205.05198), table 2, times layers";
  const std::string pipeline = shape + "; counts all layers, as the first stage of a full 1F1B pipeline holds them";
  const std::string t = grouped(z.t);
  const std::string h_and_t = grouped(z.h) + " x " + t;
  const std::string scores = "5 x " + grouped(z.a) + " x " + grouped(z.s) + " / ";
  const auto add = [&](ActivationTechnique technique, const char* method, const std::string& factor) {
    lines.add(std::string("activations: ") + method, grouped(layers) + " x " + sbh + " x " + factor,
              korthikanti_bytes(technique, z, layers), table, pipeline);
  };
  add(ActivationTechnique::no_parallelism, "no parallelism", "(34 + " + scores + grouped(z.h) + ")");
  add(ActivationTechnique::tensor, "tensor parallel", "(10 + 24 / " + t + " + " + scores + "(" + h_and_t + "))");
  add(ActivationTechnique::tensor_and_sequence, "tensor and sequence parallel",
      "(34 / " + t + " + " + scores + "(" + h_and_t + "))");
  add(ActivationTechnique::tensor_and_selective, "tensor parallel, selective recomputation", "(10 + 24 / " + t + ")");
  add(ActivationTechnique::tensor_and_sequence_and_selective, "tensor and sequence parallel, selective recomputation",
      "(34 / " + t + ")");
  add(ActivationTechnique::full_recomputation, "full recomputation", "2");
}

}  // namespace

Bytes attention_activation_bytes(const LayerSizes& z) {
  return sum(product({11, z.s, z.b, z.h}), product({5, z.a, z.s, z.s, z.b}));
}

Bytes mlp_activation_bytes(const LayerSizes& z) { return product({19, z.s, z.b, z.h}); }

Bytes norm_activation_bytes(const LayerSizes& z) { return product({4, z.s, z.b, z.h}); }

Bytes korthikanti_bytes(ActivationTechnique technique, const LayerSizes& z, std::int64_t layers) {
  const Bytes sbh = product({z.s, z.b, z.h, layers});
  const Bytes scores = product({5, z.a, z.s, z.s, z.b, layers});
  switch (technique) {
    case ActivationTechnique::no_parallelism: return sum(product({34, sbh}), scores);
    case ActivationTechnique::tensor: return sum(product({10, sbh}), divide_up(sum(product({24, sbh}), scores), z.t));
    case ActivationTechnique::tensor_and_sequence: return divide_up(sum(product({34, sbh}), scores), z.t);
    case ActivationTechnique::tensor_and_selective: return sum(product({10, sbh}), divide_up(product({24, sbh}), z.t));
    case ActivationTechnique::tensor_and_sequence_and_selective: return divide_up(product({34, sbh}), z.t);
    case ActivationTechnique::full_recomputation: return product({2, sbh});
  }
  return 0;
}

Bytes zero_state_bytes(int stage, std::int64_t parameters, std::int64_t d) {
  // 2 bytes of weights, 2 of gradients and 12 of optimizer states a parameter; a stage divides the last of them.
  const std::int64_t divided = stage == 0 ? 0 : stage == 1 ? 12 : stage == 2 ? 14 : 16;
  return sum(product({16 - divided, parameters}), divide_up(product({divided, parameters}), d));
}

Bytes distributed_optimizer_bytes(std::int64_t parameters, std::int64_t d) {
  return sum(product({6, parameters}), divide_up(product({12, parameters}), d));
}

double heuristic_activations_per_token(std::int64_t parameters) {
  return 4.6894e-4 * static_cast<double>(parameters) + 1.8494e6;
}

std::vector<TextbookLine> textbook(const Config& of_recipe, std::int64_t parameters) {
  Config config = of_recipe;
  config.recipe.micro_batch_size = sequences_of_micro_batch(of_recipe.recipe);
  Lines lines;
  add_four_components(lines, config.recipe, parameters);
  add_states(lines, config, parameters);
  add_zero(lines, parameters, config.recipe.data_parallel_size);
  add_activations(lines, config.model, config.recipe);
  return std::move(lines.list);
}

}  // namespace trainmem
