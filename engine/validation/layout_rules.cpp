// How a model may be divided among GPUs.
#include <algorithm>

#include "engine/text/numbers.h"
#include "engine/validation/rules.h"

namespace trainmem {
namespace {

class LayoutRules : Rules {
 public:
  using Rules::Rules;

  void check() {
    check_tensor_parallel();
    check_sequence();
    check_pipeline();
    check_data_parallel();
  }

 private:
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
    const bool parts = recipe_.framework == Framework::torchtitan && recipe_.loss == Loss::chunked;
    if (parts && recipe_.torchtitan_release == TorchtitanRelease::current) {
      // components/loss.py: ChunkedLossWrapper, torch._check.
      not_divisible(path, "micro_batch_size x sequence_length", recipe_.micro_batch_size * recipe_.sequence_length,
                    "chunks of the loss =", 8);
    }
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
    const bool interleaved = recipe_.pipeline_schedule == PipelineSchedule::interleaved;
    if (recipe_.virtual_pipeline_stages > 1 && !interleaved) {
      contradiction("/recipe/virtual_pipeline_stages", "Only an interleaved schedule has virtual stages.",
                    "Set it to 1, or pipeline_schedule to interleaved.", {"/recipe/virtual_pipeline_stages", "1"});
    }
    if (recipe_.pipeline_parallel <= 1) return check_one_stage();
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
    if (model_.num_hidden_layers > 0) check_layers_of_stages(interleaved ? recipe_.virtual_pipeline_stages : 1);
  }

  void check_one_stage() {
    const bool first = recipe_.pipeline_first_stage_layers > 0;
    if (!first && recipe_.pipeline_last_stage_layers == 0) return;
    const char* uneven = first ? "/recipe/pipeline_first_stage_layers" : "/recipe/pipeline_last_stage_layers";
    contradiction(uneven, "There is one pipeline stage, which holds all layers.",
                  "Set it to 0, or pipeline_parallel to 2 or more.", {uneven, "0"});
  }

  /// Layers among several stages, of `chunks` virtual stages each.
  void check_layers_of_stages(std::int64_t chunks) {
    const char* path = "/recipe/pipeline_parallel";
    const std::int64_t stages = recipe_.pipeline_parallel;
    const std::int64_t layers = model_.num_hidden_layers;
    if (stages > layers) {
      issues_.push_back({"out_of_range",
                         path,
                         text(layers) + " layers cannot fill " + text(stages) + " stages.",
                         "Give at most " + text(layers) + ".",
                         {path, text(layers)}});
    } else if (recipe_.pipeline_first_stage_layers + recipe_.pipeline_last_stage_layers > 0) {
      check_uneven_stages(chunks);
    } else if (recipe_.framework == Framework::torchtitan) {
      // Embedding and head count as a layer each, and every stage has a layer of its own.
      if ((layers + 2) / (stages * chunks) >= 2) return;
      const std::int64_t most = (layers + 2) / 2 / chunks;
      issues_.push_back(
          {"out_of_range",
           path,
           text(layers) + " layers, embedding and head are too few for " + text(stages * chunks) + " stages.",
           "Give at most " + text(most) + ".",
           {path, text(std::max(std::int64_t{1}, most))}});
    } else if (chunks == 1 && layers % stages != 0) {
      check_even_stages();
    }
  }

  /// Layers that the stages do not divide: Megatron's last stage may have a number of its own.
  void check_even_stages() {
    const std::int64_t stages = recipe_.pipeline_parallel;
    const std::int64_t layers = model_.num_hidden_layers;
    not_divisible("/recipe/pipeline_parallel", "num_hidden_layers", layers, "pipeline_parallel", stages);
    if (recipe_.framework != Framework::megatron) return;
    const std::int64_t rounded_up = (layers + stages - 1) / stages;
    const std::int64_t each = rounded_up * (stages - 1) < layers ? rounded_up : layers / stages;
    const std::int64_t last = layers - each * (stages - 1);
    Issue& issue = issues_.back();
    issue.hint = "Set pipeline_last_stage_layers to " + text(last) + ": the others have " + text(each) +
                 " each. Or change pipeline_parallel: " + issue.hint;
    issue.fix = {"/recipe/pipeline_last_stage_layers", text(last)};
  }

  /// The first and the last stage have numbers of layers of their own, and the others divide what is left.
  void check_uneven_stages(std::int64_t chunks) {
    const std::int64_t first = recipe_.pipeline_first_stage_layers;
    const std::int64_t last = recipe_.pipeline_last_stage_layers;
    const std::int64_t even_stages = recipe_.pipeline_parallel - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
    const std::int64_t even_layers = model_.num_hidden_layers - first - last;
    if (even_layers < even_stages || (even_stages == 0 && even_layers != 0) ||
        (even_stages > 0 && even_layers % even_stages != 0)) {
      issues_.push_back(
          {"not_divisible",
           "/recipe/pipeline_parallel",
           text(even_layers) + " layers between first and last stage are not divisible by " + text(even_stages) +
               " stages.",
           "Change the layers of the first or last stage: 0 divides all evenly.",
           {first > 0 ? "/recipe/pipeline_first_stage_layers" : "/recipe/pipeline_last_stage_layers", "0"}});
    } else if (chunks > 1) {
      const std::int64_t each = even_stages > 0 ? even_layers / even_stages : 0;
      for (const std::int64_t held : {first, last, each})
        not_divisible("/recipe/virtual_pipeline_stages", "the layers of a stage,", held, "virtual_pipeline_stages",
                      chunks);
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

  static constexpr std::int64_t most_gpipe = 256;
  static constexpr double most_gpus = 16777216;
};

}  // namespace

void check_layout(const Config& config, Issues& issues) { LayoutRules(config, issues).check(); }

}  // namespace trainmem
