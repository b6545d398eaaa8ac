//===- StepBuilder.h - appends Sync and Step ops to a body ------------------===//
// Every value gets its type and layout when it is made: these ops come after the passes that infer them.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_MEMORY_STEPBUILDER_H
#define STG_LIB_MEMORY_STEPBUILDER_H

#include "stg/IR/Program.h"
#include "llvm/ADT/StringSet.h"
#include <map>

namespace stg {

/// Gives a body its ops in another order, or others; values know who makes them.
void setOps(Body &body, std::vector<Op> ops);

class StepBuilder {
public:
  StepBuilder(Program &program, Body &body);

  const std::vector<MeshAtom> &atoms() const { return atoms_; }
  Body &body() { return body_; }
  const TensorType &typeOf(ValueId value) const { return *body_.value(value).type; }
  const Layout &layoutOf(ValueId value) const { return *body_.value(value).layout; }

  /// Ops made from now on have this part, kernel and scope.
  void begin(Part part, NameId scope, SourceRange where);
  /// Ops made from now on stand for what is written there.
  void at(SourceRange where) { where_ = where; }
  /// A kernel of its own for what follows.
  void nextKernel() { ++kernel_; }

  /// An op with one result of this type and layout. `name` is made unique.
  ValueId add(OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields, TensorType type, Layout layout,
              llvm::StringRef name);
  /// An op without results.
  void addEffect(OpKind kind, ValueId operand, SlotFields fields);
  /// Appends `op` as it is, with this builder's part, kernel and scope. Its results must be there.
  void append(Op op);
  ValueId newValue(TensorType type, Layout layout, llvm::StringRef name);

  ValueId constant(double number);
  ValueId map(MapFn fn, llvm::ArrayRef<ValueId> operands, ElementType element, llvm::StringRef name);
  ValueId cast(ValueId value, ElementType element, llvm::StringRef name);
  /// The cast whose result this is.
  void castTo(ValueId value, ValueId result);
  /// Also of a value that no op makes yet.
  std::string nameOf(ValueId value) const;
  /// Sum of the squares of all elements: f32, partial over the atoms that split the operand.
  ValueId sumOfSquares(ValueId value, llvm::StringRef name);
  /// Whole to partial over these atoms.
  ValueId demote(ValueId value, const AtomList &atoms, llvm::StringRef name);
  /// One collective that completes the sums of all values over these atoms, on which each is partial.
  llvm::SmallVector<ValueId, 4> allReduce(llvm::ArrayRef<ValueId> values, const AtomList &atoms);
  /// One collective that makes `results` of `operands`, each split on a dim of its own.
  void storageCollective(OpKind kind, llvm::ArrayRef<ValueId> operands, const AtomList &atoms,
                         llvm::ArrayRef<ValueId> results);
  /// The value, partial over these atoms, with its sum split over them as `home` says.
  ValueId reduceScatter(ValueId value, const AtomList &atoms, const Layout &home, llvm::StringRef name);
  /// The value in another layout; neither is partial. Gathers what is split otherwise, then slices.
  ValueId convert(ValueId value, const Layout &to, llvm::StringRef name);

  /// The value that `again` has for it; views of such values are made again, and are in `again` then.
  ValueId repeated(ValueId value, std::map<uint32_t, ValueId> &again);

  /// `layout` for a tensor that has some of the dims only.
  static Layout restrictTo(const Layout &layout, llvm::ArrayRef<Dim> dims);

private:
  NameId unique(llvm::StringRef name);
  /// Atom -> factor, where a result is split.
  void placeFactors(Op &op);

  Program &program_;
  Body &body_;
  std::vector<MeshAtom> atoms_;
  llvm::StringSet<> names_;
  Part part_ = Part::Sync;
  uint32_t kernel_ = 0;
  NameId scope_;
  SourceRange where_;
};

} // namespace stg

#endif
