#include "engine/advice/plan.h"

#include <algorithm>
#include <tuple>

#include "engine/advice/edits.h"
#include "engine/peak/peak.h"
#include "engine/runtime.h"
#include "engine/validation/validate.h"
#include "engine/verdict.h"

namespace trainmem {

namespace {

constexpr std::int64_t largest_micro_batch = 16;
constexpr std::int64_t tokens_per_context_rank = 4096;  // shorter pieces are not worth a ring

/// Share of a step's arithmetic that is done twice. A forward is a third of a step, as backward has two products for
/// each one of forward (Korthikanti et al. 2022, appendix A); the attention core is 2.7 % of GPT-3's step (section 5).
double repeated_arithmetic(Recomputation kind) {
  switch (kind) {
    case Recomputation::none: return 0;
    case Recomputation::selective_attention: return 0.027;
    case Recomputation::selective_modules:     // of which the MLP is the largest
    case Recomputation::selective_operations:  // every second matrix product
    case Recomputation::every_k: return 1.0 / 6;
    case Recomputation::full: return 1.0 / 3;
  }
  return 0;
}

double waiting(const Recipe& r) {
  return static_cast<double>(r.pipeline_parallel - 1) / static_cast<double>(r.gradient_accumulation_steps);
}

double extra_time(const Recipe& r) { return (1 + repeated_arithmetic(r.recomputation)) * (1 + waiting(r)); }

/// Smaller is better.
auto rank_by(double time, const Recipe& r) {
  return std::make_tuple(time, r.tensor_parallel * r.context_parallel, static_cast<int>(r.data_parallel),
                         r.expert_parallel, -r.micro_batch_size);
}

auto rank(const Layout& layout) { return rank_by(extra_time(layout.config.recipe), layout.config.recipe); }

/// What is tight stands where it would if the room that it lacks were made by recomputing everything.
auto rank_with_verdict(const Layout& layout) {
  const bool fits = layout.after.verdict.fit == Fit::fits;
  const double more = fits ? 0 : repeated_arithmetic(Recomputation::full);
  return rank_by(extra_time(layout.config.recipe) * (1 + more), layout.config.recipe);
}

/// A configuration of one sequence a step says nothing of its batch: then there is one for every GPU.
std::int64_t global_batch(const Recipe& r, std::int64_t num_gpus) {
  const std::int64_t own = r.micro_batch_size * r.gradient_accumulation_steps * r.data_parallel_size;
  return own > 1 ? own : num_gpus;
}

/// GPUs in each dimension; their product is all of them, but for experts, which are divided among the data-parallel
/// ones.
struct Division {
  std::int64_t tensor = 1;
  std::int64_t stages = 1;
  std::int64_t context = 1;
  std::int64_t data = 1;
  std::int64_t experts = 1;
};

class Planner {
 public:
  Planner(const Config& config, std::int64_t num_gpus)
      : base_(config), num_gpus_(num_gpus), global_batch_(global_batch(config.recipe, num_gpus)) {}

  Plan search() {
    for_divisors(num_gpus_, gpus_of_a_node, [&](std::int64_t tensor) {
      for_divisors(num_gpus_ / tensor, base_.model.num_hidden_layers, [&](std::int64_t stages) {
        const std::int64_t left = num_gpus_ / tensor / stages;
        const std::int64_t pieces = std::max<std::int64_t>(1, base_.recipe.sequence_length / tokens_per_context_rank);
        for_divisors(left, pieces, [&](std::int64_t context) {
          const std::int64_t data = left / context;
          for_divisors(data, std::max<std::int64_t>(1, base_.model.experts.num_experts), [&](std::int64_t experts) {
            const Config layout = laid_out({tensor, stages, context, data, experts});
            for (const DataParallel kind : kinds(data)) try_layout(layout, kind);
          });
        });
      });
    });
    return finish();
  }

 private:
  template <class Work>
  static void for_divisors(std::int64_t number, std::int64_t most, Work work) {
    for (std::int64_t divisor = 1; divisor <= std::min(number, most); ++divisor) {
      if (number % divisor == 0) work(divisor);
    }
  }

  std::vector<DataParallel> kinds(std::int64_t data) const {
    if (base_.recipe.framework == Framework::megatron) return {base_.recipe.data_parallel};
    if (base_.recipe.framework == Framework::deepspeed)
      return {DataParallel::zero1, DataParallel::zero2, DataParallel::zero3};
    if (data == 1) return {DataParallel::ddp};
    return {DataParallel::ddp, DataParallel::fsdp};
  }

  std::vector<Recomputation> recomputations() const {
    if (base_.recipe.framework == Framework::megatron)
      return {Recomputation::none, Recomputation::selective_attention, Recomputation::full};
    return {Recomputation::none, Recomputation::selective_operations, Recomputation::full};
  }

  Config laid_out(const Division& gpus) const {
    Config config = base_;
    Recipe& r = config.recipe;
    r.tensor_parallel = gpus.tensor;
    // Neither Megatron-DeepSpeed's layers nor transformers' plans divide the sequence.
    const bool divides_sequence = r.framework != Framework::deepspeed && r.framework != Framework::transformers;
    r.sequence_parallel = gpus.tensor > 1 && divides_sequence;
    r.pipeline_parallel = gpus.stages;
    r.context_parallel = gpus.context;
    r.data_parallel_size = gpus.data;
    r.expert_parallel = gpus.experts;
    r.hybrid_shard_size = 0;
    if (gpus.stages == 1) {
      r.pipeline_schedule = PipelineSchedule::one_forward_one_backward;
      r.virtual_pipeline_stages = 1;
    }
    divide_layers(config);
    if (r.framework == Framework::megatron && r.data_parallel == DataParallel::ddp)
      r.distributed_optimizer = gpus.data > 1;
    return config;
  }

  /// Layers that the stages do not divide: first and last stage, which also hold embedding and head, get fewer.
  static void divide_layers(Config& config) {
    Recipe& r = config.recipe;
    const std::int64_t layers = config.model.num_hidden_layers;
    r.pipeline_first_stage_layers = 0;
    r.pipeline_last_stage_layers = 0;
    if (layers % r.pipeline_parallel == 0 || r.pipeline_parallel < 3) return;
    const std::int64_t each = (layers + r.pipeline_parallel - 1) / r.pipeline_parallel;
    const std::int64_t outer = layers - each * (r.pipeline_parallel - 2);
    if (outer < 2) return;
    r.pipeline_first_stage_layers = outer / 2;
    r.pipeline_last_stage_layers = outer - outer / 2;
  }

  /// Micro-batches for the global batch, and at least as many as keep every stage busy once.
  void set_micro_batch(Recipe& r, std::int64_t size) const {
    r.micro_batch_size = size;
    r.gradient_accumulation_steps =
        std::max<std::int64_t>(r.pipeline_parallel, global_batch_ / (size * r.data_parallel_size));
  }

  bool fits(const Config& config) {
    plan_.tried += 1;
    Bytes needed = estimate_peak(config).allocated;
    for (const RuntimeRow& row : runtime_rows(config)) needed += row.bytes.expected;
    return needed <= usable_capacity(config.gpu);
  }

  /// The layout's best way: from the least repeated arithmetic on, the micro-batch that ranks first.
  void try_layout(Config config, DataParallel kind) {
    Recipe& r = config.recipe;
    r.data_parallel = kind;
    if (kind == DataParallel::ddp && r.precision == Precision::fsdp_bf16) r.precision = Precision::bf16_autocast;
    if (kind == DataParallel::fsdp) fit_for_fsdp(r);
    r.recomputation = recomputations().back();
    r.recomputation_layers = 0;
    set_micro_batch(r, 1);
    if (!validate(config).empty() || !fits(config)) return;  // nothing needs less
    bool found = false;
    Layout best;
    for (const Recomputation recomputation : recomputations()) {
      r.recomputation = recomputation;
      for (std::int64_t size = 1; size <= largest_micro_batch; size *= 2) {
        set_micro_batch(r, size);
        const std::int64_t batch = size * r.gradient_accumulation_steps * r.data_parallel_size;
        if (size > 1 && batch > std::max(global_batch_, num_gpus_)) break;
        const Layout candidate{config, repeated_arithmetic(recomputation), waiting(r), {}};
        if (found && !(rank(candidate) < rank(best))) continue;
        if (!validate(config).empty()) continue;
        if (!fits(config)) break;
        best = candidate;
        found = true;
      }
    }
    if (!found) return;
    plan_.fitting += 1;
    plan_.layouts.push_back(std::move(best));
  }

  /// What fits only as long as nothing is cached gives way to what recomputes more and fits, if that does.
  void settle(Layout& layout) const {
    layout.after = outcome(layout.config);
    const std::vector<Recomputation> kinds = recomputations();
    auto more = std::find(kinds.begin(), kinds.end(), layout.config.recipe.recomputation);
    while (layout.after.verdict.margin < 0 && more != kinds.end() && ++more != kinds.end()) {
      Layout other = layout;
      other.config.recipe.recomputation = *more;
      if (!validate(other.config).empty()) continue;
      other.repeated_arithmetic = repeated_arithmetic(*more);
      other.after = outcome(other.config);
      if (other.after.verdict.fit == Fit::fits) layout = std::move(other);
    }
  }

  /// Reserved memory and verdict of the best ones: what does not fit by them goes, what is tight steps back.
  Plan finish() {
    const auto better = [](const Layout& a, const Layout& b) { return rank(a) < rank(b); };
    std::stable_sort(plan_.layouts.begin(), plan_.layouts.end(), better);
    std::vector<Layout> kept;
    for (Layout& layout : plan_.layouts) {
      if (kept.size() == most_layouts) break;
      settle(layout);
      if (layout.after.verdict.fit == Fit::does_not_fit) {
        plan_.fitting -= 1;
      } else {
        kept.push_back(std::move(layout));
      }
    }
    std::stable_sort(kept.begin(), kept.end(),
                     [](const Layout& a, const Layout& b) { return rank_with_verdict(a) < rank_with_verdict(b); });
    plan_.layouts = std::move(kept);
    return std::move(plan_);
  }

  const Config& base_;
  std::int64_t num_gpus_;
  std::int64_t global_batch_;
  Plan plan_;
};

}  // namespace

Plan plan(const Config& config, std::int64_t num_gpus) { return Planner(config, num_gpus).search(); }

}  // namespace trainmem
