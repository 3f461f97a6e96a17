// CAME (Luo et al. 2023, arXiv:2307.02047; yangluo7/CAME came_pytorch/CAME.py): a full first moment, and two second
// moments, of the gradient and of the update's instability, each kept by rows and columns. It computes in fp32.
#include "engine/optimizer/tables.h"

namespace trainmem {
namespace {

constexpr const char* source = "yangluo7/CAME came_pytorch/CAME.py: CAME.step";

constexpr StateLine states[] = {
    {"first moment", Extent::full, Format::float32, Only::all, {"exp_avg", "running mean of the update", source}},
    {"row factor", Extent::rows, Format::float32, Only::matrices, {"exp_avg_sq_row", "second moment by rows", source}},
    {"column factor",
     Extent::columns,
     Format::float32,
     Only::matrices,
     {"exp_avg_sq_col", "second moment by columns", source}},
    {"row factor of the instability",
     Extent::rows,
     Format::float32,
     Only::matrices,
     {"exp_avg_res_row", "squared distance of update and its mean, by rows", source}},
    {"column factor of the instability",
     Extent::columns,
     Format::float32,
     Only::matrices,
     {"exp_avg_res_col", "squared distance of update and its mean, by columns", source}},
    {"second moment",
     Extent::full,
     Format::float32,
     Only::vectors,
     {"exp_avg_sq", "second moment of a vector, not factored", source}},
    {"parameter size",
     Extent::scalar,
     Format::parameter,
     Only::all,
     {"RMS", "root mean square of the parameter", source}},
};

// Slots: 0 grad, 1 update, 2 res, 3 res_approx, 4 to 7 of the expressions.
constexpr Rule rows{"mean", "means by rows", source};
constexpr Rule columns{"mean", "means by columns", source};
constexpr Rule mean_of_rows{"mean", "mean of the row factor", source};
constexpr Rule row_factor{"div", "row factor over its mean", source};
constexpr Rule column_factor{"rsqrt", "column factor", source};
constexpr Rule root_mean_square{"norm", "root mean square", source};
constexpr StepLine lines[] = {
    drop(0),
    make(0, Extent::full, Format::float32, Only::half_gradients, {"_to_copy", "fp32 copy of the gradient", source}),
    make(4, Extent::scalar, Format::parameter, Only::all, root_mean_square),
    make(5, Extent::scalar, Format::parameter, Only::all, root_mean_square),
    drop(4),
    drop(5),
    make(4, Extent::full, Format::float32, Only::all, {"pow", "squared gradient", source}),
    make(1, Extent::full, Format::float32, Only::all, {"add", "squared gradient plus epsilon", source}),
    drop(4),
    make(4, Extent::rows, Format::float32, Only::matrices, rows),
    drop(4),
    make(4, Extent::columns, Format::float32, Only::matrices, columns),
    drop(4),
    make(5, Extent::scalar, Format::float32, Only::matrices, mean_of_rows),
    make(6, Extent::rows, Format::float32, Only::matrices, row_factor),
    drop(5),
    make(7, Extent::columns, Format::float32, Only::matrices, column_factor),
    make(1, Extent::full, Format::float32, Only::matrices, {"mul", "the update", source}),
    drop(6),
    drop(7),
    make(1, Extent::full, Format::float32, Only::vectors, {"rsqrt", "the update", source}),
    make(4, Extent::scalar, Format::float32, Only::all, root_mean_square),
    make(5, Extent::scalar, Format::float32, Only::all, root_mean_square),
    drop(4),
    make(4, Extent::scalar, Format::float32, Only::all, root_mean_square),
    drop(5),
    drop(4),
    make(4, Extent::full, Format::float32, Only::all, {"sub", "distance of the update and its mean", source}),
    make(5, Extent::full, Format::float32, Only::all, {"pow", "its square", source}),
    drop(4),
    make(2, Extent::full, Format::float32, Only::all, {"add", "instability", source}),
    drop(5),
    make(4, Extent::rows, Format::float32, Only::matrices, rows),
    drop(4),
    make(4, Extent::columns, Format::float32, Only::matrices, columns),
    drop(4),
    make(5, Extent::scalar, Format::float32, Only::matrices, mean_of_rows),
    make(6, Extent::rows, Format::float32, Only::matrices, row_factor),
    drop(5),
    make(7, Extent::columns, Format::float32, Only::matrices, column_factor),
    make(3, Extent::full, Format::float32, Only::matrices,
         {"mul", "inverse root of the instability; the update in place", source}),
    drop(6),
    drop(7),
    drop(1, Only::matrices),
    make(1, Extent::full, Format::float32, Only::vectors, {"clone", "copy of the first moment", source}),
    make(4, Extent::full, Format::float32, Only::all, {"neg", "the update with its sign turned", source}),
    drop(4),
};

}  // namespace

OptimizerTables came_tables() { return {states, lines}; }

}  // namespace trainmem
