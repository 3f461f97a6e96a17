// ZeRO stage 3 as DeepSpeed runs it: weights are gathered module by module, and soon let go of.
//
// The first backward records in which order modules use their weights. From then on a module's weights are gathered
// when it begins, those of the next modules ahead of time (prefetch_bucket_size), and a module's weights go when it
// ends, unless they come again within max_reuse_distance. Small weights stay. A module is an operation with weights.
// DeepSpeed records its third pass; one that has not been recorded gathers nothing ahead.
// offload_optimizer: master weights, states and gradient parts are in host memory; offload_parameters: weight parts.
// Source: DeepSpeed deepspeed/runtime/zero/partitioned_param_coordinator.py, stage3.py, partition_parameters.py.
#pragma once

#include <memory>
#include <vector>

#include "engine/parallel/zero.h"
#include "engine/tensor/run.h"

namespace trainmem {

class Zero3 : public Zero, public OperationHooks {
 public:
  /// Hooks the run's new_parameters.maker and operation_hooks while it lives.
  explicit Zero3(const Recipe& recipe);
  ~Zero3() override;

  void wrap() override;
  void set_last_micro_batch(bool last) override { last_backward_ = last; }
  void end_backward() override;
  void step() override;
  /// In place of wrap(), of a model that is not trained: its parts stay as they are.
  void wrap_untrained();
  /// Its forward has ended, which no backward follows.
  void end_forward();
  void before_operation(std::initializer_list<const Tensor*> arguments, Node* node) override;
  void after_operation() override;
  bool linear_keeps_input() const override { return true; }

 private:
  using Module = std::vector<std::size_t>;  ///< its weights
  /// An all-gather under way. Several weights are gathered into one buffer and then copied out of it.
  struct Gather {
    Module weights;
    Tensor buffer;
  };
  struct Weight {
    Tensor tensor;
    std::int32_t layer = -1;
    std::int64_t elements = 0;
    std::int64_t part = 0;  ///< elements of one GPU's part
    bool persistent = false;
    bool frozen = false;  ///< has no gradient and no master copy
    bool available = false;
    std::shared_ptr<Gather> gather;
    std::int64_t fetched_for = -1;  ///< last use that it has been gathered for
  };
  struct Use {
    std::size_t weight;
    std::int64_t at;
  };

  Tensor make(const Shape& shape, DType dtype, const char* name);
  void use(const Module& module);
  void gather(const Module& module);
  void wait(std::size_t index);
  void prefetch(const Module& module);
  void release(const Module& module);
  void end_backward_of_module();
  bool comes_again(std::size_t index) const;
  void receive(std::size_t index);
  void reduce_bucket();
  void send_to_host(std::int64_t elements) const;
  void give(std::size_t index);
  static void take(Weight& weight);
  void step_groups();
  void give_persistent();
  void start_over();
  int begun_without_weights();

  const Recipe& recipe_;
  DType dtype_ = DType::bfloat16;
  std::vector<Weight> weights_;
  std::vector<Tensor> parts_;  ///< before those that are trained are laid end to end
  Tensor flat_;
  std::vector<std::pair<std::int64_t, std::unique_ptr<MasterWeights>>> groups_;  ///< with their elements
  Tensor bucket_;
  Tensor gradients_;
  std::int64_t bucket_elements_ = 0;
  Module in_bucket_;
  bool recorded_ = false;
  bool last_backward_ = true;
  std::vector<Module> trace_;
  std::vector<Use> order_;        ///< of the trace's weights
  std::size_t next_ = 0;          ///< first of them that has not been gathered
  std::int64_t at_ = 0;           ///< modules begun
  std::int64_t live_ = 0;         ///< elements gathered
  std::int32_t last_layer_ = -1;  ///< where the last module with weights began
  std::uint32_t last_place_ = 0;
  int products_ = 0;    ///< of the same place, one after another
  Module running_;      ///< weights of the operation that runs
  Module in_backward_;  ///< weights of the module whose backward runs
  /// Frozen weights of an embedding whose output wants a gradient all the same (transformers:
  /// enable_input_require_grads, where blocks with adapters are recomputed): backward ends with this module.
  Module embedding_;
};

}  // namespace trainmem
