// Sophia-G (Liu et al. 2023, arXiv:2305.14342; Liuhong99/Sophia sophia.py): a first moment and an estimate of the
// Hessian's diagonal, renewed in place every k-th step by the gradient of another backward.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* source = "Liuhong99/Sophia sophia.py: _single_tensor_sophiag";

constexpr StateLine states[] = {
    {"first moment", Extent::full, Format::state, Only::all, {"exp_avg", "running mean of the gradient", source}},
    {"Hessian", Extent::full, Format::state, Only::all, {"hessian", "running mean of the Hessian's diagonal", source}},
};

// Slots: 0 ratio, 1 to 4 of the expressions.
constexpr StepLine lines[] = {
    make(1, Extent::full, Format::state, Only::all, {"abs", "absolute first moment", source}),
    make(2, Extent::full, Format::state, Only::all, {"mul", "scaled Hessian", source}),
    make(3, Extent::full, Format::state, Only::all, {"add", "scaled Hessian plus epsilon", source}),
    drop(2),
    make(4, Extent::full, Format::state, Only::all, {"div", "first moment over the Hessian", source}),
    drop(1),
    drop(3),
    make(0, Extent::full, Format::state, Only::all, {"clamp", "the same, at most 1; lives until the next one", source}),
    drop(4),
    make(1, Extent::full, Format::state, Only::all, {"sign", "sign of the first moment", source}),
    drop(1),
};

}  // namespace

OptimizerTables sophia_tables() { return {states, lines}; }

}  // namespace trainmem
