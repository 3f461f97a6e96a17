// Rules of single operations: what they allocate and what autograd keeps, reasoned from PyTorch's source.
#include <vector>

#include "engine/blocks/transformers/parts.h"
#include "engine/tensor/ops.h"
#include "engine/tensor/run.h"
#include "tests/catch.h"

using namespace trainmem;

namespace {

constexpr Rule test_rule{"test", "a tensor of the test", "test"};

/// A run with the bytes that are alive on its tape.
struct Bench {
  Recording recording;
  Run run{recording};
  ActivateRun active{run};

  Bytes alive() const {
    Bytes sum = 0;
    for (const Event event : recording.events) sum += recording.change_by(event);
    return sum;
  }
  /// Sum of all storages of that role, whether alive or not.
  Bytes bytes_of(const std::string& role) const {
    Bytes sum = 0;
    for (const StorageRecord& storage : recording.storages)
      if (storage.role != nullptr && role == storage.role) sum += storage.bytes;
    return sum;
  }
};

Tensor leaf(const Shape& shape, DType dtype) {
  Tensor tensor = allocate(shape, dtype, {&test_rule});
  tensor->requires_grad = true;
  return tensor;
}

}  // namespace

TEST_CASE("tensor: a boolean mask becomes an additive one of the query's format, kept by efficient attention") {
  Bench bench;
  // b = 2, a = 4, s = 32, d = 16
  const Tensor q = leaf({2, 4, 32, 16}, DType::bfloat16);
  const Tensor k = leaf({2, 4, 32, 16}, DType::bfloat16);
  const Tensor v = leaf({2, 4, 32, 16}, DType::bfloat16);
  const Tensor mask = expand(allocate({1, 1, 32, 32}, DType::boolean, {&test_rule}), {2, 1, 32, 32});
  ScaledDotProduct call;
  call.mask = mask;
  call.causal = false;
  const Bytes before = bench.alive();
  const Tensor out = scaled_dot_product_attention(q, k, v, call);
  // Output 2*4*32*16*2, log-sum-exp 2*4*32*4, mask 2*32*32*2, seed and offset 8 each.
  CHECK(bench.alive() - before == 8192 + 1024 + 4096 + 16);
  CHECK(bench.bytes_of("additive mask") == 4096);
}

TEST_CASE("tensor: rows of a mask that do not start at multiples of 16 elements are padded") {
  Bench bench;
  const Tensor q = leaf({1, 2, 20, 16}, DType::bfloat16);
  const Tensor mask = allocate({1, 1, 20, 20}, DType::boolean, {&test_rule});
  ScaledDotProduct call;
  call.mask = mask;
  call.causal = false;
  const Bytes before = bench.alive();
  const Tensor out = scaled_dot_product_attention(q, q, q, call);
  CHECK(bench.bytes_of("additive mask") == 20 * 20 * 2);
  CHECK(bench.bytes_of("padded mask") == 20 * 32 * 2);
  // The mask before padding is gone; log-sum-exp is padded to 32 rows.
  CHECK(bench.alive() - before == 2 * 20 * 16 * 2 + 2 * 32 * 4 + 20 * 32 * 2 + 16);
}

TEST_CASE("tensor: cat takes the widest format without copies of its parts, under autocast too") {
  Bench bench;
  const Tensor wide = leaf({8, 4}, DType::float32);
  const Tensor narrow = leaf({8, 12}, DType::bfloat16);
  const std::size_t storages = bench.recording.storages.size();
  const AutocastScope autocast({true, DType::bfloat16});
  CHECK(concatenate({wide, narrow}, -1).dtype() == DType::float32);
  REQUIRE(bench.recording.storages.size() == storages + 1);
  CHECK(bench.recording.storages[storages].bytes == 8 * 16 * 4);
}

TEST_CASE("tensor: what a norm written out keeps") {
  using Form = NormLayer::Form;
  constexpr Bytes T = 6;
  constexpr Bytes h = 10;
  struct Expected {
    Form form;
    Bytes kept;
  };
  // T * h of four bytes: the fp32 copy, its product with 1/rms, …; T * 4: 1/rms; the result itself, T * h * 2, comes
  // on top.
  const Expected expected[] = {
      {Form::llama, T * h * 4 + T * 4 + T * h * 2},   // fp32 copy, 1/rms, cast product
      {Form::olmo2, T * h * 4 * 2 + T * 4},           // fp32 copy, 1/rms, fp32 product
      {Form::gemma, T * h * 4 * 2 + T * 4 + h * 4},   // and 1 + weight
      {Form::cohere, T * h * 4 * 3 + T * 4 + h * 4},  // x - mean twice, product, fp32 weight
      {Form::olmo, T * h * 4 + T * 4 * 2},            // fp32 copy, mean, 1/std: no weight
      {Form::nemotron, T * 4 * 2 + h * 2},            // mean, 1/std, weight + 1
  };
  for (const Expected& one : expected) {
    Bench bench;
    const bool weight = one.form != Form::olmo;
    const bool bias = one.form == Form::nemotron;
    const NormLayer norm(one.form, {h}, weight, bias, DType::bfloat16);
    const Tensor x = leaf({1, T, h}, DType::bfloat16);
    const Bytes before = bench.alive();
    const Tensor result = norm(x);
    CAPTURE(static_cast<int>(one.form));
    CHECK(result.dtype() == DType::bfloat16);
    CHECK(bench.alive() - before == one.kept + T * h * 2);
  }
}

TEST_CASE("tensor: rotary embedding keeps its tables only, whatever format it turns in") {
  using transformers::apply_rotary;
  using transformers::apply_rotary_fp32;
  using transformers::apply_rotary_interleaved;
  const auto kept = [](auto turn, DType table) {
    Bench bench;
    Tensor q = leaf({1, 4, 8, 16}, DType::bfloat16);
    Tensor k = leaf({1, 2, 8, 16}, DType::bfloat16);
    const Tensor cos = allocate({1, 8, 16}, table, {&test_rule});
    const Tensor sin = allocate({1, 8, 16}, table, {&test_rule});
    const Tensor given_q = q;
    const Tensor given_k = k;
    const Bytes before = bench.alive();
    turn(q, k, cos, sin);
    CHECK(q.dtype() == DType::bfloat16);
    return bench.alive() - before;
  };
  const Bytes turned = (4 + 2) * 8 * 16 * 2;
  CHECK(kept(apply_rotary, DType::bfloat16) == turned);
  CHECK(kept(apply_rotary_fp32, DType::float32) == turned);
  CHECK(kept(apply_rotary_interleaved, DType::bfloat16) == turned);
}

TEST_CASE("tensor: flash attention writes its output as its query lies, which a transpose then copies or not") {
  Bench bench;
  const auto copies = [&](const Tensor& q) {
    const Tensor out = scaled_dot_product_attention(q, q, q, {});
    const std::size_t storages = bench.recording.storages.size();
    const Tensor rows = contiguous(transpose(out, 1, 2));
    return bench.recording.storages.size() - storages;
  };
  const Tensor by_token = transpose(allocate({2, 32, 4, 16}, DType::bfloat16, {&test_rule}), 1, 2);
  const Tensor by_head = allocate({2, 4, 32, 16}, DType::bfloat16, {&test_rule});
  CHECK(copies(by_token) == 0);
  CHECK(copies(by_head) == 1);
}

TEST_CASE("tensor: heads are grouped only when asked; otherwise the math kernel broadcasts them") {
  Bench bench;
  const Tensor q = allocate({1, 8, 32, 16}, DType::bfloat16, {&test_rule});
  const Tensor k = allocate({1, 1, 32, 16}, DType::bfloat16, {&test_rule});
  ScaledDotProduct call;
  CHECK(select_attention(q, k, k, call) == AttentionAlgorithm::math);
  CHECK(scaled_dot_product_attention(q, k, k, call).shape() == q.shape());
  call.grouped = true;
  CHECK(select_attention(q, k, k, call) == AttentionAlgorithm::flash);
}

TEST_CASE("tensor: parts taken by slices and numbers are views, by a list a copy; adding in place allocates nothing") {
  Bench bench;
  const Tensor x = leaf({2, 3, 8}, DType::float32);
  const Bytes before = bench.alive();
  const Tensor odd = every_second(x, 1);
  const Tensor one = select(x, 1, 2);
  CHECK(odd.shape() == Shape{2, 3, 4});
  CHECK(one.shape() == Shape{2, 8});
  const Tensor sum = add_in_place(multiply_number(one), one);
  CHECK(bench.alive() - before == 2 * 8 * 4);  // the product that is added to
  const Bytes then = bench.alive();
  const Tensor listed = index_one(x, 1);
  CHECK(listed.shape() == Shape{2, 1, 8});
  CHECK(bench.alive() - then == 2 * 8 * 4 + 8);  // and the index
}

TEST_CASE("tensor: masked_fill keeps its mask, a layer norm under autocast its fp32 weight and bias") {
  Bench bench;
  const Tensor x = leaf({4, 8}, DType::bfloat16);
  Bytes before = bench.alive();
  {
    Tensor mask = allocate({4, 8}, DType::boolean, {&test_rule});
    const Tensor filled = masked_fill(x, mask);
    mask.reset();
    CHECK(bench.alive() - before == 4 * 8 * 2 + 4 * 8);
  }
  const Tensor weight = leaf({8}, DType::bfloat16);
  const Tensor bias = leaf({8}, DType::bfloat16);
  before = bench.alive();
  const AutocastScope autocast({true, DType::bfloat16});
  const Tensor normed = layer_norm(x, weight, bias);
  // Result and input in fp32, mean and 1/std, fp32 weight and bias.
  CHECK(bench.alive() - before == 2 * 4 * 8 * 4 + 2 * 4 * 4 + 2 * 8 * 4);
}

TEST_CASE("tensor: tanh GELUs written out keep every factor") {
  constexpr Bytes n = 64;
  const auto kept = [](Activation activation) {
    Bench bench;
    const Tensor x = leaf({n}, DType::float32);
    const Bytes before = bench.alive();
    const Tensor result = transformers::activate(x, activation);
    return (bench.alive() - before) / (n * 4);
  };
  CHECK(kept(Activation::gelu) == 1);      // the result; its input is there anyway
  CHECK(kept(Activation::gelu_new) == 4);  // 0.5 x, tanh, 1 + tanh
  // 0.5 x, 0.8 x, 0.04 x, 1 + 0.04 x x, tanh, 1 + tanh
  CHECK(kept(Activation::gelu_fast) == 7);
}

TEST_CASE(
    "tensor: the math kernel computes in fp32, under autocast too, and casts its weights back beside its result") {
  for (const bool autocast : {false, true}) {
    Bench bench;
    const DType given = autocast ? DType::float32 : DType::bfloat16;
    const Tensor q = allocate({1, 2, 16, 8}, given, {&test_rule});
    ScaledDotProduct call;
    call.forced_math = true;
    const AutocastScope scope({autocast, DType::bfloat16});
    CHECK(scaled_dot_product_attention(q, q, q, call).dtype() == DType::bfloat16);
    // Of the size of the scores: scores, softmax, where a row is masked as a whole, weights.
    std::vector<DType> squares;
    for (const StorageRecord& storage : bench.recording.storages)
      if (storage.rank > 2 && storage.shape[static_cast<std::size_t>(storage.rank) - 1] == 16 &&
          storage.shape[static_cast<std::size_t>(storage.rank) - 2] == 16)
        squares.push_back(storage.dtype);
    CHECK(squares == std::vector<DType>{DType::float32, DType::float32, DType::boolean, DType::bfloat16});
  }
}
