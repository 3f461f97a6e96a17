#include "engine/validation/validate.h"

#include <numeric>
#include <string>

#include "engine/config/layer_types.h"
#include "engine/config/values.h"
#include "engine/modelled/modelled.h"
#include "engine/text/issue_text.h"
#include "engine/text/list.h"
#include "engine/validation/rules.h"

namespace trainmem {
namespace {

/// Every field by itself. A size that must be given and is 0 is called missing.
void check_ranges(const Config& config, Issues& issues) {
  Config copy = config;
  for (const Field& field : config_fields()) {
    const Member member = field.in(config);
    const Store to{copy, issues};
    switch (member.type()) {
      case FieldType::integer:
        if (member.integer() == 0 && field.minimum > 0 && std::string_view(field.path).substr(0, 7) == "/model/") {
          issues.push_back({"missing", field.path, std::string(field.name()) + " is not given.",
                            "Give " + allowed_values(field) + "."});
        } else {
          to.integer(field, member.integer());
        }
        break;
      case FieldType::number: to.number(field, member.number()); break;
      case FieldType::boolean: break;
      case FieldType::text: to.word(field, member.text()); break;
      case FieldType::enumeration:
        if (member.word() == nullptr) to.out_of_range(field, "this number format");
        break;
    }
  }
}

/// Rules about the model, and its experts on their GPUs.
class ModelRules : Rules {
 public:
  using Rules::Rules;

  void check() {
    check_heads();
    check_positions();
    check_experts();
    check_layer_types();
    check_latent_attention();
    check_linear_attention();
    check_layers_apart();
  }

 private:
  static constexpr std::int64_t most_experts = 1 << 16;

  void check_heads() {
    not_divisible("/model/num_key_value_heads", "num_attention_heads", model_.num_attention_heads,
                  "num_key_value_heads", model_.num_key_value_heads);
  }

  /// Queries alone may do without a rank.
  void check_latent_attention() {
    const LatentAttention& l = model_.latent_attention;
    const bool all = l.qk_nope_head_dim > 0 && l.qk_rope_head_dim > 0 && l.v_head_dim > 0;
    if (l.kv_lora_rank > 0 && !all) {
      contradiction("/model/latent_attention/v_head_dim", "Latent attention lacks some of its sizes.",
                    "Give qk_nope_head_dim, qk_rope_head_dim and v_head_dim.");
    }
  }

  /// A gated delta network has all its sizes.
  void check_linear_attention() {
    const LinearAttention& l = model_.linear_attention;
    const bool some = l.linear_num_key_heads > 0;
    const bool all = l.linear_num_value_heads > 0 && l.linear_key_head_dim > 0 && l.linear_value_head_dim > 0 &&
                     l.linear_conv_kernel_dim > 0;
    if (some && !all) {
      contradiction("/model/linear_attention/linear_num_value_heads", "Linear attention lacks some of its sizes.",
                    "Give all fields of linear_attention.");
    } else if (some) {
      not_divisible("/model/linear_attention/linear_num_value_heads", "linear_num_value_heads",
                    l.linear_num_value_heads, "linear_num_key_heads", l.linear_num_key_heads);
    }
  }

  /// Heads of layers without a window, shared keys and values, embeddings of each layer.
  void check_layers_apart() {
    if (model_.num_global_key_value_heads > 0) {
      not_divisible("/model/num_global_key_value_heads", "num_attention_heads", model_.num_attention_heads,
                    "num_global_key_value_heads", model_.num_global_key_value_heads);
    }
    if (model_.num_sliding_attention_heads > 0) {
      not_divisible("/model/num_sliding_attention_heads", "num_sliding_attention_heads",
                    model_.num_sliding_attention_heads, "num_key_value_heads", model_.num_key_value_heads);
    }
    if (model_.hidden_size_per_layer_input > 0 && model_.vocab_size_per_layer_input == 0) {
      issues_.push_back({"missing", "/model/vocab_size_per_layer_input",
                         "Each layer has embeddings, and their vocabulary is not given.", "Give vocab_size."});
    }
    if (model_.num_kv_shared_layers == 0) return;
    const std::int64_t own = model_.num_hidden_layers - model_.num_kv_shared_layers;
    for (std::int64_t layer = own; layer < model_.num_hidden_layers; ++layer) {
      bool has_one_before = false;
      for (std::int64_t i = 0; i < own && !has_one_before; ++i)
        has_one_before = layer_type(model_, i) == layer_type(model_, layer);
      if (has_one_before) continue;
      contradiction("/model/num_kv_shared_layers",
                    "Layer " + text(layer) + " shares keys and values, and no layer of its kind has some of its own.",
                    "Set it to 0, or to less.", {"/model/num_kv_shared_layers", "0"});
      return;
    }
  }

  void check_layer_types() {
    if (model_.layer_types.empty()) return;
    const bool slides = has_layer_type(model_, LayerType::sliding_attention);
    if (slides && model_.sliding_window == 0) {
      contradiction("/model/sliding_window", "layer_types has layers that slide, and there is no window.",
                    "Give sliding_window, or layer_types without them.");
    }
    if (slides && model_.sliding_window_pattern > 1) {
      contradiction("/model/sliding_window_pattern", "layer_types says already which layers slide.",
                    "Set sliding_window_pattern to 1.", {"/model/sliding_window_pattern", "1"});
    }
    const Mamba& mamba = model_.mamba;
    if (has_mamba(model_) && (mamba.n_heads == 0 || mamba.d_head == 0 || mamba.d_state == 0)) {
      issues_.push_back({"missing", "/model/mamba", "layer_types has layers with Mamba, whose sizes are not given.",
                         "Give n_heads, d_head and d_state."});
    }
    if (mamba.n_groups > 0)
      not_divisible("/model/mamba/n_groups", "n_heads", mamba.n_heads, "n_groups", mamba.n_groups);
    if (!slides && model_.sliding_window > 0) {
      contradiction("/model/sliding_window", "By layer_types no layer slides, and there is a window.",
                    "Set sliding_window to 0.", {"/model/sliding_window", "0"});
    }
  }

  void check_positions() {
    const auto turned = static_cast<std::int64_t>(static_cast<double>(model_.head_dim) * model_.partial_rotary_factor);
    const bool none = turned == 0 && model_.head_dim > 0;
    if (model_.positions == Positions::rope && (turned % 2 != 0 || none || model_.global_head_dim % 2 != 0)) {
      issues_.push_back({"not_divisible", "/model/partial_rotary_factor",
                         "Rotary positions turn pairs, and " + text(turned) + " elements of a head make none up.",
                         "Give a factor whose share of head_dim is even."});
    }
    if (model_.positions != Positions::learned) return;
    if (model_.learned_positions <= 0) {
      issues_.push_back({"missing", "/model/learned_positions", "learned_positions is not given.",
                         "A learned position table has a number of rows."});
      return;
    }
    const std::int64_t longest = longest_sequence(model_);
    if (recipe_.sequence_length <= longest) return;
    issues_.push_back({"out_of_range",
                       "/recipe/sequence_length",
                       "sequence_length " + text(recipe_.sequence_length) + " is longer than the model's table of " +
                           text(longest) + " learned positions.",
                       "Give at most " + text(longest) + ", or more rows as learned_positions.",
                       {"/recipe/sequence_length", text(longest)}});
  }

  void check_experts() {
    const Experts& experts = model_.experts;
    if (experts.num_experts <= 0) {
      if (experts.num_experts_per_tok > 0 || experts.moe_intermediate_size > 0) {
        contradiction("/model/experts/num_experts", "The model has sizes of experts but no experts.",
                      "Give num_experts, or set the other sizes to 0.");
      }
      if (recipe_.expert_parallel > 1 && model_.num_hidden_layers > 0) {
        contradiction("/recipe/expert_parallel", "The model has no experts to divide.", "Set expert_parallel to 1.",
                      {"/recipe/expert_parallel", "1"});
      }
      return;
    }
    if (experts.num_experts_per_tok < 1 || experts.num_experts_per_tok > experts.num_experts) {
      issues_.push_back({"out_of_range", "/model/experts/num_experts_per_tok",
                         "A token cannot visit " + text(experts.num_experts_per_tok) + " of " +
                             text(experts.num_experts) + " experts.",
                         "Give a whole number from 1 to " + text(experts.num_experts) + "."});
    }
    if (experts.moe_intermediate_size < 1) {
      issues_.push_back({"missing", "/model/experts/moe_intermediate_size", "moe_intermediate_size is not given.",
                         "Give the inner width of one expert."});
    }
    // Each has tensors of its own, in many classes modules: so many take seconds.
    if (model_.num_hidden_layers * experts.num_experts >
        most_experts * recipe_.expert_parallel * recipe_.pipeline_parallel)
      issues_.push_back({"too_large", "/model/experts/num_experts",
                         "One GPU has more than " + text(most_experts) + " experts, over all its layers.",
                         "Give fewer, or raise expert_parallel or pipeline_parallel."});
    if (experts.shared_expert_gate && experts.n_shared_experts == 0) {
      contradiction("/model/experts/n_shared_experts", "There is a gate of shared experts, and no shared expert.",
                    "Set it to 1, or shared_expert_gate to false.", {"/model/experts/n_shared_experts", "1"});
    }
    not_divisible("/recipe/expert_parallel", "num_experts", experts.num_experts, "expert_parallel",
                  recipe_.expert_parallel);
    not_divisible("/recipe/expert_tensor_parallel", "moe_intermediate_size", experts.moe_intermediate_size,
                  "expert_tensor_parallel", recipe_.expert_tensor_parallel);
    const std::int64_t ranks = recipe_.data_parallel_size * recipe_.context_parallel * recipe_.tensor_parallel;
    if (ranks % (recipe_.expert_parallel * recipe_.expert_tensor_parallel) != 0) {
      contradiction("/recipe/expert_parallel",
                    "Experts are divided among the " + text(ranks) + " GPUs of a pipeline stage, which " +
                        text(recipe_.expert_parallel) + " x " + text(recipe_.expert_tensor_parallel) +
                        " does not divide.",
                    "Choose expert_parallel times expert_tensor_parallel as a divisor of data_parallel_size times "
                    "context_parallel times tensor_parallel.",
                    recipe_.expert_tensor_parallel == 1
                        ? Fix{"/recipe/expert_parallel", text(std::gcd(ranks, recipe_.expert_parallel))}
                        : Fix{});
    }
  }
};

/// Rules about one step.
class StepRules : Rules {
 public:
  using Rules::Rules;

  void check() {
    check_precision();
    check_adapters();
    check_recomputed_modules();
    check_frozen();
    check_objective();
  }

 private:
  void check_frozen() {
    const bool layers = model_.num_hidden_layers > 0;
    if (layers && recipe_.frozen_layers > model_.num_hidden_layers)
      issues_.push_back({"out_of_range",
                         "/recipe/frozen_layers",
                         "The model has only " + text(model_.num_hidden_layers) + " layers.",
                         "Give at most that.",
                         {"/recipe/frozen_layers", "0"}});
    const bool head = recipe_.frozen_head || (model_.tie_word_embeddings && !model_.final_norm);
    if (layers && recipe_.frozen_layers == model_.num_hidden_layers && head && recipe_.lora.rank == 0)
      contradiction("/recipe/frozen_layers", "All layers and the head are frozen: nothing would be trained.",
                    "Give fewer layers.", {"/recipe/frozen_layers", "0"});
    if (recipe_.lora.rank > 0 && (recipe_.frozen_layers > 0 || recipe_.frozen_head))
      contradiction("/recipe/frozen_layers", "Beside adapters every weight of the model is frozen.",
                    "Set it to 0 and frozen_head to false, or the rank of lora to 0.", {"/recipe/lora/rank", "0"});
  }

  void check_objective() {
    const ReferenceModel reference = recipe_.reference_model;
    const bool grpo = recipe_.objective == Objective::grpo;
    if (grpo && recipe_.completion_length >= recipe_.sequence_length)
      issues_.push_back(
          {"out_of_range",
           "/recipe/completion_length",
           "A sequence has only " + text(recipe_.sequence_length) + " tokens, of which some are the prompt.",
           "Give fewer, or a longer sequence_length.",
           {"/recipe/completion_length", text(recipe_.sequence_length / Size(2))}});
    if (grpo && reference == ReferenceModel::precomputed)
      contradiction("/recipe/reference_model", "Of completions written while training nothing can be precomputed.",
                    "Choose copy, or none.", {"/recipe/reference_model", "none"});
    const bool compares = recipe_.objective == Objective::dpo || recipe_.objective == Objective::kto;
    if (compares && reference == ReferenceModel::none)
      contradiction("/recipe/reference_model", "dpo and kto compare the policy with a reference.",
                    "Choose another, or objective simpo, which has none.", {"/recipe/reference_model", "auto"});
    if (!compares && !grpo) return;
    if (recipe_.lora.rank == 0 && recipe_.reference_model == ReferenceModel::base)
      contradiction("/recipe/reference_model", "Without adapters the model's own weights change as it is trained.",
                    "Choose copy or precomputed, or give a rank of lora.", {"/recipe/reference_model", "copy"});
  }

  void check_precision() {
    if (recipe_.precision == Precision::fsdp_bf16 && recipe_.data_parallel != DataParallel::fsdp) {
      contradiction("/recipe/precision", "fsdp_bf16 is the mixed precision of FSDP.",
                    "Set data_parallel to fsdp, or precision to bf16_autocast or bf16_mixed.",
                    {"/recipe/precision", "bf16_autocast"});
    }
    // torchtitan distributed/utils.py (0b44d4c), maybe_enable_amp: "Mixed precision training is disabled".
    const bool divided = recipe_.tensor_parallel > 1 || recipe_.pipeline_parallel > 1;
    const bool autocast =
        recipe_.precision == Precision::bf16_autocast || recipe_.precision == Precision::fp16_autocast;
    if (autocast && divided && recipe_.framework == Framework::torchtitan) {
      contradiction("/recipe/precision", "Beside tensor or pipeline parallelism torchtitan switches autocast off.",
                    "Set precision to bf16 or fp32, or data_parallel to fsdp and precision to fsdp_bf16.",
                    {"/recipe/precision", "bf16"});
    }
    const bool full_width = recipe_.precision == Precision::fp32 && !is_half(recipe_.activations_dtype);
    if (full_width && recipe_.attention == AttentionKernel::flash) {
      contradiction("/recipe/attention", "flash-attn computes in bf16 or fp16, and the precision is fp32.",
                    "Set attention to sdpa, or choose a 16-bit precision.", {"/recipe/attention", "sdpa"});
    }
    if (recipe_.optimizer_implementation == OptimizerImplementation::in_backward &&
        recipe_.gradient_accumulation_steps > 1) {
      contradiction("/recipe/optimizer_implementation", "A step inside backward leaves no gradients to accumulate.",
                    "Set gradient_accumulation_steps to 1, or choose foreach or fused.",
                    {"/recipe/gradient_accumulation_steps", "1"});
    }
    if (model_.num_hidden_layers > 0 && recipe_.recomputation_layers > model_.num_hidden_layers) {
      issues_.push_back({"out_of_range",
                         "/recipe/recomputation_layers",
                         "The model has only " + text(model_.num_hidden_layers) + " layers.",
                         "Give at most that, or 0 for all.",
                         {"/recipe/recomputation_layers", "0"}});
    }
  }

  void check_recomputed_modules() {
    if (recipe_.recomputation != Recomputation::selective_modules) return;
    must_be_words("/recipe/recomputation_modules", recipe_.recomputation_modules, modules,
                  "a module that is recomputed");
  }

  void check_adapters() {
    if (recipe_.quantization != Quantization::none && recipe_.lora.rank == 0) {
      contradiction("/recipe/quantization", "Quantised weights are frozen, and nothing else is trained.",
                    "Set quantization to none, or give a rank of lora.", {"/recipe/quantization", "none"});
    }
    must_be_words("/recipe/lora/targets", recipe_.lora.targets, projections, "a projection");
  }

  /// A problem for every item that is none of the words.
  void must_be_words(const char* path, std::string_view list, std::string_view words, const char* what) {
    for_each_item(list, [&](std::string_view item) {
      if (has_item(words, item)) return;
      issues_.push_back({"unknown_word", path, in_quotes(item) + " is not " + what + ".",
                         "Name some of " + std::string(words) + ", divided by commas."});
    });
  }

  static constexpr std::string_view projections = "q,k,v,o,gate,up,down,other";
  /// --recompute-modules of what is modelled: those of experts and latent attention are not.
  static constexpr std::string_view modules = "core_attn,layernorm,mlp";
};

}  // namespace

Issues validate(const Config& config) {
  Issues issues;
  check_ranges(config, issues);
  bool comparable = true;  // values that are missing are 0, with which no rule compares
  for (const Issue& issue : issues) comparable = comparable && issue.code == "missing";
  if (comparable) {
    ModelRules(config, issues).check();
    check_layout(config, issues);
    StepRules(config, issues).check();
    check_size(config, issues);
  }
  report_not_modelled(config, issues);
  if (issues.empty()) check_adapters_exist(config, issues);
  return issues;
}

}  // namespace trainmem
