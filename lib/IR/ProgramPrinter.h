//===- ProgramPrinter.h - the state of writing .stgir text ------------------===//
// Private to lib/IR. Nothing here may fail: the verifier prints what it refuses. Ids out of range print as `?`.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_PROGRAMPRINTER_H
#define STG_LIB_IR_PROGRAMPRINTER_H

#include "TextNames.h"
#include "stg/IR/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace stg::detail {

/// The shortest text that reads as the same number.
std::string doubleText(double value);

class ProgramPrinter {
public:
  ProgramPrinter(const Program &program, llvm::raw_ostream &os)
      : program_(program), context_(*program.context), atoms_(program.mesh.atoms()), os_(os) {}

  void printProgram();
  /// `op` of `body`, without its line break.
  void printOpLine(const Body &body, const Op &op);

private:
  // Names, types, sizes (Printer.cpp).
  llvm::StringRef text(NameId id) const;
  std::string name(NameId id) const;
  static std::string path(llvm::StringRef plain) { return isBarePath(plain) ? plain.str() : quoted(plain); }
  static std::string bare(const std::string &plain) { return isBareName(plain) ? plain : quoted(plain); }
  std::string size(DimExpr expr) const { return "[" + expr.str() + "]"; }
  std::string dim(const Dim &dim) const;
  std::string type(const TensorType &type) const { return spelling(type.element).str() + dims(type.dims); }
  std::string dims(llvm::ArrayRef<Dim> list) const;
  std::string names(llvm::ArrayRef<NameId> list) const;
  template <class List, class Fn> static std::string join(const List &list, Fn print) {
    std::string out;
    bool first = true;
    for (const auto &each : list) {
      out += (first ? "" : ", ") + print(each);
      first = false;
    }
    return out;
  }
  std::string mask(const MaskValue &mask) const;
  std::string staticArg(const StaticArg &arg) const;

  // Header and plan (Printer.cpp).
  void printHeader();
  std::string axisNames(llvm::ArrayRef<std::string> list) const;
  std::string axes(llvm::ArrayRef<MeshAxis> list) const;
  std::string scopes(const Scopes &list) const;
  void printPlan();
  void printRouting();

  // Pipelines (PrintPipeline.cpp).
  void printPipelineRule(const PipelineRule &rule);
  std::string placement(const Placement &placement) const;
  void printLists(llvm::ArrayRef<ActionList> lists, const Placement &placement);
  void printPipeline(const Pipeline &pipeline);

  // Bodies and units (PrintBodies.cpp).
  std::string layout(llvm::StringRef word, const std::optional<Layout> &layout, const TensorType &type) const;
  static std::string elementUnlessF32(llvm::StringRef word, ElementType element);
  static std::string element(llvm::StringRef word, std::optional<ElementType> element);
  void printBody(const Body &body);
  void enterBody(const Body &body);
  /// Values without a name are numbered in order of definition.
  std::string value(ValueId id) const;
  void printOp(const Op &op);
  std::string unitName(UnitId id) const;
  const Body *unitBody(UnitId id) const;
  std::string unitValue(UnitValue from) const;
  template <class Slots> std::string unitSlot(UnitSlot from, const Slots Body::*slots) const;
  void printUnit(const Unit &unit);
  template <class GlobalId, class Bindings, class Slot, class Globals>
  void printBindings(llvm::StringRef keyword, const Bindings &bindings, const Body &body,
                     std::vector<Slot> Body::*slots, const Globals &globals, llvm::StringRef global);

  // What each kind of op has of its own (PrintOps.cpp).
  template <class Slot> std::string slotName(const std::vector<Slot> &slots, uint32_t index) const;
  std::string scalarName(uint32_t index) const;
  std::string operands(const Op &op) const;
  /// Operands of a leaf: there are none unless the program is broken.
  std::string leftovers(const Op &op) const { return op.operands.empty() ? "" : operands(op); }
  /// The element type of the fields, unless the printed result says it.
  std::string element(const Op &op, ElementType element) const;
  void printKind(const Op &op);
  /// The old dims of a view; words that would end the view stand in quotes.
  std::string group(llvm::ArrayRef<NameId> list) const;
  void printView(const ViewFields &fields);
  /// The factors of a composite share its name: those are told apart by their number.
  std::string factorRef(const CallFields &fields, uint32_t index) const;
  std::string factorRefs(const CallFields &fields, llvm::ArrayRef<uint32_t> list) const;
  void printCall(const Op &op, const CallFields &fields);
  std::string bodyName(BodyId id) const;
  std::string cause(const ConversionCause &cause) const;
  void printCollective(const Op &op, const CollectiveFields &fields);

  const Program &program_;
  const IRContext &context_;
  std::vector<MeshAtom> atoms_;
  llvm::raw_ostream &os_;
  const Body *body_ = nullptr;
  std::vector<size_t> numbers_;
};

} // namespace stg::detail

#endif
