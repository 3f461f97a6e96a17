// Schedule-Free AdamW and SGD (facebookresearch/schedule_free): the parameters hold the point where gradients are
// taken, a copy the point that is stepped. AdamW divides the gradients themselves by the denominator.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* adamw_source = "facebookresearch/schedule_free schedulefree/adamw_schedulefree.py: step";
constexpr const char* sgd_source = "facebookresearch/schedule_free schedulefree/sgd_schedulefree.py: step";
constexpr const char* stepped_point = "the point that is stepped; a clone of the parameter in the first step";

constexpr StateLine adamw_states[] = {
    {"stepped point", Extent::full, Format::parameter, Only::all, {"z", stepped_point, adamw_source}},
    {"second moment",
     Extent::full,
     Format::state,
     Only::all,
     {"exp_avg_sq", "running mean of the squared gradient", adamw_source}},
};
constexpr StateLine sgd_states[] = {
    {"stepped point", Extent::full, Format::parameter, Only::all, {"z", stepped_point, sgd_source}},
};

constexpr const char* denominators = "square roots of the second moments without their bias";
constexpr StepLine adamw_foreach[] = {
    make(0, Extent::full, Format::state, Only::all, {"_foreach_div", denominators, adamw_source}),
};
constexpr StepLine adamw_loop[] = {
    make(0, Extent::full, Format::state, Only::all, {"div", denominators, adamw_source}),
};

}  // namespace

OptimizerTables schedule_free_tables(Optimizer optimizer, OptimizerImplementation how) {
  if (optimizer == Optimizer::sgd_schedule_free) return {sgd_states, {}};
  using Lines = std::span<const StepLine>;
  return {adamw_states, how == OptimizerImplementation::foreach ? Lines(adamw_foreach) : Lines(adamw_loop)};
}

}  // namespace trainmem
