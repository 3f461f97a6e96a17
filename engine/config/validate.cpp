#include "engine/config/validate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/config/values.h"
#include "engine/modelled/modelled.h"

namespace trainmem {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

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

class Rules {
 public:
  Rules(const Config& config, Issues& issues) : model_(config.model), recipe_(config.recipe), issues_(issues) {}

  void check() {
    check_heads();
    check_positions();
    check_experts();
    check_tensor_parallel();
    check_sequence();
    check_pipeline();
    check_data_parallel();
    check_precision();
    check_adapters();
    check_recomputed_modules();
    check_size();
  }

 private:
  void not_divisible(const char* path, const std::string& what, std::int64_t value, const std::string& divisor_name,
                     std::int64_t divisor) {
    if (divisor <= 0 || value % divisor == 0) return;
    issues_.push_back({"not_divisible", path,
                       what + " " + text(value) + " does not divide by " + divisor_name + " " + text(divisor) + ".",
                       divisors_hint(value, divisor), fix_of(path, value, divisor)});
  }

  /// The greatest divisor below, or of a length the greatest multiple.
  static Fix fix_of(std::string_view path, std::int64_t value, std::int64_t divisor) {
    if (path == "/recipe/sequence_length")
      return {std::string(path), text(std::max(value / divisor, std::int64_t{1}) * divisor)};
    if (path.substr(0, 8) != "/recipe/" || path == "/recipe/context_parallel" || value <= 0) return {};
    std::int64_t below = std::min(divisor, value);
    while (value % below != 0) --below;
    return {std::string(path), text(below)};
  }

  /// Divisors of the value that lie around the one that was given.
  static std::string divisors_hint(std::int64_t value, std::int64_t near) {
    std::int64_t below = 0;
    std::int64_t above = 0;
    for (std::int64_t candidate = near; candidate >= 1 && below == 0; --candidate) {
      if (value % candidate == 0) below = candidate;
    }
    for (std::int64_t candidate = near; candidate <= value && candidate <= 2 * near && above == 0; ++candidate) {
      if (value % candidate == 0) above = candidate;
    }
    return text(value) + " divides by " + text(below) + (above > 0 ? " and by " + text(above) : "") + ".";
  }

  void contradiction(const char* path, const std::string& message, const std::string& hint, const Fix& fix = {}) {
    issues_.push_back({"contradiction", path, message, hint, fix});
  }

  void check_heads() {
    not_divisible("/model/num_key_value_heads", "num_attention_heads", model_.num_attention_heads,
                  "num_key_value_heads", model_.num_key_value_heads);
  }

  void check_positions() {
    const auto turned = static_cast<std::int64_t>(static_cast<double>(model_.head_dim) * model_.partial_rotary_factor);
    if (model_.positions == Positions::rope && turned % 2 != 0) {
      issues_.push_back({"not_divisible", "/model/partial_rotary_factor",
                         "Rotary positions turn pairs, and " + text(turned) + " elements of a head are an odd number.",
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

  void check_tensor_parallel() {
    const std::int64_t tp = recipe_.tensor_parallel;
    if (recipe_.sequence_parallel && tp == 1) {
      contradiction(
          "/recipe/sequence_parallel", "sequence_parallel divides among tensor-parallel GPUs, of which there is one.",
          "Set sequence_parallel to false, or tensor_parallel to 2 or more.", {"/recipe/sequence_parallel", "0"});
    }
    if (tp <= 1) return;
    const char* path = "/recipe/tensor_parallel";
    not_divisible(path, "num_attention_heads", model_.num_attention_heads, "tensor_parallel", tp);
    not_divisible(path, "num_key_value_heads", model_.num_key_value_heads, "tensor_parallel", tp);
    not_divisible(path, "intermediate_size", model_.intermediate_size, "tensor_parallel", tp);
    not_divisible(path, "hidden_size", model_.hidden_size, "tensor_parallel", tp);
  }

  void check_sequence() {
    const std::int64_t shares = recipe_.sequence_parallel ? recipe_.tensor_parallel : Size(1);
    const char* path = "/recipe/sequence_length";
    if (recipe_.context_parallel > 1 && recipe_.framework == Framework::megatron) check_context_parallel();
    if (recipe_.context_parallel > 1) {
      // Causal attention is balanced by giving every GPU one early and one late piece.
      not_divisible(path, "sequence_length", recipe_.sequence_length,
                    "2 x context_parallel x sequence-parallel GPUs =", 2 * recipe_.context_parallel * shares);
    } else if (shares > 1) {
      not_divisible(path, "sequence_length", recipe_.sequence_length, "tensor_parallel", shares);
    }
  }

  void check_context_parallel() {
    if (recipe_.attention == AttentionKernel::eager) {
      contradiction("/recipe/attention", "Megatron's own attention does not share a sequence among GPUs.",
                    "Set attention to sdpa or flash, or context_parallel to 1.", {"/recipe/attention", "sdpa"});
    }
    if (recipe_.context_parallel_method == ContextParallelMethod::all_to_all) {
      not_divisible("/recipe/context_parallel", "num_key_value_heads", model_.num_key_value_heads,
                    "tensor_parallel x context_parallel =", recipe_.tensor_parallel * recipe_.context_parallel);
    }
  }

  void check_pipeline() {
    const std::int64_t pp = recipe_.pipeline_parallel;
    const std::int64_t first = recipe_.pipeline_first_stage_layers;
    const std::int64_t last = recipe_.pipeline_last_stage_layers;
    const bool interleaved = recipe_.pipeline_schedule == PipelineSchedule::interleaved;
    if (recipe_.virtual_pipeline_stages > 1 && !interleaved) {
      contradiction("/recipe/virtual_pipeline_stages", "Only an interleaved schedule has virtual stages.",
                    "Set it to 1, or pipeline_schedule to interleaved.", {"/recipe/virtual_pipeline_stages", "1"});
    }
    if (pp <= 1) {
      if (first > 0 || last > 0) {
        const char* uneven = first > 0 ? "/recipe/pipeline_first_stage_layers" : "/recipe/pipeline_last_stage_layers";
        contradiction(uneven, "There is one pipeline stage, which holds all layers.",
                      "Set it to 0, or pipeline_parallel to 2 or more.", {uneven, "0"});
      }
      return;
    }
    if (interleaved && recipe_.virtual_pipeline_stages == 1) {
      contradiction("/recipe/virtual_pipeline_stages",
                    "An interleaved schedule has several virtual stages on each GPU.",
                    "Set it to 2 or more, or pipeline_schedule to 1f1b.", {"/recipe/pipeline_schedule", "1f1b"});
    }
    if (recipe_.pipeline_schedule == PipelineSchedule::gpipe && recipe_.gradient_accumulation_steps > most_gpipe) {
      issues_.push_back(
          {"out_of_range",
           "/recipe/gradient_accumulation_steps",
           "GPipe keeps the activations of all " + text(recipe_.gradient_accumulation_steps) + " micro-batches.",
           "Give at most " + text(most_gpipe) + ", or set pipeline_schedule to 1f1b.",
           {"/recipe/gradient_accumulation_steps", text(most_gpipe)}});
    }
    const char* path = "/recipe/pipeline_parallel";
    const std::int64_t layers = model_.num_hidden_layers;
    if (layers == 0) return;
    if (pp > layers) {
      issues_.push_back({"out_of_range",
                         path,
                         text(layers) + " layers cannot fill " + text(pp) + " stages.",
                         "Give at most " + text(layers) + ".",
                         {path, text(layers)}});
      return;
    }
    const std::int64_t chunks = interleaved ? std::max<std::int64_t>(1, recipe_.virtual_pipeline_stages) : 1;
    const std::int64_t even_stages = pp - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    const std::int64_t even_layers = layers - first - last;
    if (first + last == 0 && recipe_.framework == Framework::torchtitan) {
      // Embedding and head count as a layer each, and every stage has a layer of its own.
      if ((layers + 2) / (pp * chunks) < 2) {
        issues_.push_back(
            {"out_of_range",
             path,
             text(layers) + " layers, embedding and head are too few for " + text(pp * chunks) + " stages.",
             "Give at most " + text((layers + 2) / 2 / chunks) + ".",
             {path, text(std::max(std::int64_t{1}, (layers + 2) / 2 / chunks))}});
      }
    } else if (first + last > 0) {
      if (even_layers < even_stages || (even_stages == 0 && even_layers != 0) ||
          (even_stages > 0 && even_layers % even_stages != 0)) {
        issues_.push_back(
            {"not_divisible",
             path,
             text(even_layers) + " layers between first and last stage do not divide by " + text(even_stages) +
                 " stages.",
             "Change the layers of the first or last stage: 0 divides all evenly.",
             {first > 0 ? "/recipe/pipeline_first_stage_layers" : "/recipe/pipeline_last_stage_layers", "0"}});
      } else if (chunks > 1) {
        const std::int64_t each = even_stages > 0 ? even_layers / even_stages : 0;
        for (const std::int64_t held : {first, last, each})
          not_divisible("/recipe/virtual_pipeline_stages", "the layers of a stage,", held, "virtual_pipeline_stages",
                        chunks);
      }
    } else if (chunks == 1) {
      not_divisible(path, "num_hidden_layers", layers, "pipeline_parallel", pp);
    }
  }

  void check_data_parallel() {
    const bool sharded_weights =
        recipe_.data_parallel == DataParallel::fsdp || recipe_.data_parallel == DataParallel::zero3;
    if (recipe_.hybrid_shard_size > 0) {
      if (!sharded_weights) {
        contradiction("/recipe/hybrid_shard_size", "Only FSDP and ZeRO-3 have shard groups.",
                      "Set it to 0, or data_parallel to fsdp.", {"/recipe/hybrid_shard_size", "0"});
      }
      not_divisible("/recipe/hybrid_shard_size", "data_parallel_size", recipe_.data_parallel_size, "hybrid_shard_size",
                    recipe_.hybrid_shard_size);
    }
    if (recipe_.distributed_optimizer && recipe_.data_parallel != DataParallel::ddp) {
      contradiction("/recipe/distributed_optimizer", "Megatron's distributed optimizer stands on ddp.",
                    "Set it to false, or data_parallel to ddp.", {"/recipe/distributed_optimizer", "0"});
    }
    if (recipe_.offload_optimizer && recipe_.framework == Framework::megatron && !recipe_.distributed_optimizer) {
      contradiction("/recipe/offload_optimizer", "Megatron offloads the states of its distributed optimizer alone.",
                    "Set distributed_optimizer to true, or offload_optimizer to false.",
                    {"/recipe/distributed_optimizer", "1"});
    }
    if (recipe_.offload_parameters && !sharded_weights) {
      contradiction("/recipe/offload_parameters", "Only FSDP and ZeRO-3 hold parameters outside the GPU.",
                    "Set it to false, or data_parallel to fsdp.", {"/recipe/offload_parameters", "0"});
    }
    if (recipe_.framework == Framework::deepspeed && recipe_.pipeline_parallel > 1 &&
        (recipe_.data_parallel == DataParallel::zero2 || recipe_.data_parallel == DataParallel::zero3)) {
      contradiction("/recipe/data_parallel", "DeepSpeed has no pipeline with ZeRO-2 or ZeRO-3.",
                    "Set data_parallel to zero1, or pipeline_parallel to 1.", {"/recipe/data_parallel", "zero1"});
    }
    const double gpus = static_cast<double>(recipe_.data_parallel_size) * static_cast<double>(recipe_.tensor_parallel) *
                        static_cast<double>(recipe_.pipeline_parallel) * static_cast<double>(recipe_.context_parallel);
    if (gpus > most_gpus) {
      issues_.push_back({"out_of_range", "/recipe/data_parallel_size", "That is " + number_text(gpus) + " GPUs.",
                         "Give at most " + number_text(most_gpus) + " in all."});
    }
  }

  void check_precision() {
    if (recipe_.precision == Precision::fsdp_bf16 && recipe_.data_parallel != DataParallel::fsdp) {
      contradiction("/recipe/precision", "fsdp_bf16 is the mixed precision of FSDP.",
                    "Set data_parallel to fsdp, or precision to bf16_autocast or bf16_mixed.",
                    {"/recipe/data_parallel", "fsdp"});
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

  /// --recompute-modules of what is modelled: those of experts and latent attention are not.
  void check_recomputed_modules() {
    if (recipe_.recomputation != Recomputation::selective_modules) return;
    std::string_view rest = recipe_.recomputation_modules;
    while (true) {
      const std::string_view word = rest.substr(0, rest.find(','));
      constexpr std::string_view known[] = {"core_attn", "layernorm", "mlp"};
      if (std::find(std::begin(known), std::end(known), word) == std::end(known)) {
        issues_.push_back({"unknown_word", "/recipe/recomputation_modules",
                           "\"" + std::string(word) + "\" is not a module that is recomputed.",
                           "Name some of core_attn, layernorm, mlp, divided by commas."});
        return;
      }
      if (word.size() == rest.size()) return;
      rest.remove_prefix(word.size() + 1);
    }
  }

  void check_adapters() {
    if (recipe_.quantization != Quantization::none && recipe_.lora.rank == 0) {
      contradiction("/recipe/quantization", "Quantised weights are frozen, and nothing else is trained.",
                    "Set quantization to none, or give a rank of lora.", {"/recipe/quantization", "none"});
    }
    std::string_view rest = recipe_.lora.targets;
    bool any = false;
    while (true) {
      const std::string_view word = rest.substr(0, rest.find(','));
      constexpr std::string_view known[] = {"q", "k", "v", "o", "up", "down", "gate"};
      if (std::find(std::begin(known), std::end(known), word) == std::end(known)) {
        issues_.push_back({"unknown_word", "/recipe/lora/targets", "\"" + std::string(word) + "\" is not a projection.",
                           "Name some of q, k, v, o, gate, up, down, divided by commas."});
        return;
      }
      any = any || word != "gate" || model_.gated_mlp;
      if (word.size() == rest.size()) break;
      rest.remove_prefix(word.size() + 1);
    }
    if (recipe_.lora.rank > 0 && !any) {
      contradiction("/recipe/lora/targets", "The model's MLP has no gate, so nothing would be trained.",
                    "Name some of q, k, v, o, up, down.");
    }
  }

  /// Sizes so large that byte counts could overflow: a bound from above, far beyond any machine.
  void check_size() {
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };
    const double tokens = real(recipe_.micro_batch_size) * real(recipe_.sequence_length);
    const double heads = real(model_.num_attention_heads);
    const double heads_width = heads * real(model_.head_dim);
    const double width = std::max({real(model_.hidden_size), real(model_.intermediate_size), heads_width});
    const double vocabulary = real(model_.vocab_size);
    const double layers = real(model_.num_hidden_layers);
    const bool keeps_scores =
        recipe_.attention == AttentionKernel::eager || recipe_.attention == AttentionKernel::sdpa_math;
    const double scores = keeps_scores ? heads * real(recipe_.sequence_length) : 0;
    const double activations = 64 * tokens * ((width + scores) * layers + vocabulary);
    const double experts = real(std::max<std::int64_t>(1, model_.experts.num_experts));
    const double weights = 64 * (4 * width * width * experts * layers + 2 * vocabulary * real(model_.hidden_size));
    if (activations + weights < most_bytes) return;
    issues_.push_back({"too_large", "", "The sizes lead to totals beyond 2^60 bytes.",
                       "Give smaller sizes: micro_batch_size, sequence_length, layers or widths."});
  }

  static constexpr std::int64_t most_gpipe = 256;
  static constexpr double most_gpus = 16777216;
  static constexpr double most_bytes = 1152921504606846976.0;  // 2^60

  const Model& model_;
  const Recipe& recipe_;
  Issues& issues_;
};

}  // namespace

Issues validate(const Config& config) {
  Issues issues;
  check_ranges(config, issues);
  bool comparable = true;  // values that are missing are 0, with which no rule compares
  for (const Issue& issue : issues) comparable = comparable && issue.code == "missing";
  if (comparable) Rules(config, issues).check();
  report_not_modelled(config, issues);
  return issues;
}

}  // namespace trainmem
